//! VPC endpoints.

use super::{Context, Verdict, living};
use crate::front::reply::Rejection;

/// The service must exist, and private DNS must be possible and unambiguous in the VPC.
pub(super) async fn create(context: &Context<'_>) -> Verdict {
    let service = context.get("ServiceName");
    let services = context.list("DescribeVpcEndpointServices", "serviceNameSet", &[]).await;
    if !services.iter().any(|known| known.text == service) {
        let message = format!("The Vpc Endpoint Service '{service}' does not exist");
        return Err(Rejection::new("InvalidServiceName", message));
    }
    inbound_only(context, context.get("VpcId"), service).await?;
    if context.get("VpcEndpointType") == "Interface" && context.get("PrivateDnsEnabled") != "false" {
        // The endpoint API's own default for private DNS is on.
        return private_dns(context, context.get("VpcId"), service, "").await;
    }
    Ok(())
}

/// Turning private DNS on later needs the same.
pub(super) async fn modify(context: &Context<'_>) -> Verdict {
    if context.get("PrivateDnsEnabled") != "true" {
        return Ok(());
    }
    let id = context.get("VpcEndpointId");
    let found = context.list("DescribeVpcEndpoints", "vpcEndpointSet", &[("VpcEndpointId.1", id)]).await;
    match found.first() {
        Some(endpoint) => {
            private_dns(context, endpoint.text_at("vpcId"), endpoint.text_at("serviceName"), id).await
        }
        None => Ok(()),
    }
}

/// Private DNS is a zone attached to the VPC: it needs the VPC's resolver and names, and one VPC cannot have the
/// same zone twice.
async fn private_dns(context: &Context<'_>, vpc: &str, service: &str, own: &str) -> Verdict {
    for (attribute, element) in
        [("enableDnsSupport", "enableDnsSupport"), ("enableDnsHostnames", "enableDnsHostnames")]
    {
        let params = [("VpcId", vpc), ("Attribute", attribute)];
        let Ok(answer) = context.shared.emulator.ec2(context.region, "DescribeVpcAttribute", &params).await
        else {
            return Ok(());
        };
        if answer.text_at(&format!("{element}/value")) != "true" {
            let message = format!(
                "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true \
                 for {vpc}"
            );
            return Err(Rejection::new("InvalidParameter", message));
        }
    }
    let clash = living(context, "DescribeVpcEndpoints").await.into_iter().any(|endpoint| {
        endpoint.text_at("vpcId") == vpc
            && endpoint.text_at("serviceName") == service
            && endpoint.text_at("vpcEndpointType") == "Interface"
            && endpoint.text_at("privateDnsEnabled") == "true"
            && endpoint.text_at("vpcEndpointId") != own
    });
    let domain = domain(service, context.region);
    let clash = clash || has_zone(context, vpc, &domain).await;
    if clash {
        let message = format!(
            "private-dns-enabled cannot be set because there is already a conflicting DNS domain for {domain} in the VPC {vpc}"
        );
        return Err(Rejection::new("InvalidParameter", message));
    }
    Ok(())
}

/// Whether a private zone of a domain is associated with the VPC.
async fn has_zone(context: &Context<'_>, vpc: &str, domain: &str) -> bool {
    let path = format!("hostedzonesbyvpc?vpcid={vpc}&vpcregion={}", context.region);
    let answer = context.shared.emulator.route53(&path).await;
    let name = format!("{domain}.");
    answer.is_ok_and(|answer| answer.items("HostedZoneSummaries").any(|zone| zone.text_at("Name") == name))
}

/// Private DNS for inbound resolver endpoints only: other traffic of the VPC needs a gateway endpoint.
async fn inbound_only(context: &Context<'_>, vpc: &str, service: &str) -> Verdict {
    if context.get("DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint") != "true" {
        return Ok(());
    }
    let gateway = living(context, "DescribeVpcEndpoints").await.into_iter().any(|endpoint| {
        endpoint.text_at("vpcId") == vpc
            && endpoint.text_at("serviceName") == service
            && endpoint.text_at("vpcEndpointType") == "Gateway"
    });
    if gateway && context.get("PrivateDnsEnabled") == "true" {
        return Ok(());
    }
    let message = format!(
        "To set PrivateDnsOnlyForInboundResolverEndpoint to true, the VPC {vpc} must have a Gateway endpoint for the \
         service, and private DNS must be enabled."
    );
    Err(Rejection::new("InvalidParameter", message))
}

/// `com.amazonaws.us-east-1.ecr.api` is reached as `api.ecr.us-east-1.amazonaws.com`.
fn domain(service: &str, region: &str) -> String {
    let name = service.rsplit_once(&format!("{region}.")).map_or(service, |(_, name)| name);
    let labels: Vec<&str> = name.split('.').rev().collect();
    format!("{}.{region}.amazonaws.com", labels.join("."))
}
