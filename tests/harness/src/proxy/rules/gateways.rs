//! Internet and NAT gateways.

use super::{Context, Verdict, dependency, living, reaches_internet};
use crate::front::reply::Rejection;
use crate::xml::Element;

/// A VPC has at most one internet gateway: the route to the internet must be unambiguous.
pub(super) async fn attach(context: &Context<'_>) -> Verdict {
    let vpc = context.get("VpcId");
    let gateways = context.list("DescribeInternetGateways", "internetGatewaySet", &[]).await;
    let attached =
        |gateway: &Element| gateway.items("attachmentSet").any(|item| item.text_at("vpcId") == vpc);
    match gateways.iter().find(|gateway| attached(gateway)) {
        Some(gateway) if gateway.text_at("internetGatewayId") == context.get("InternetGatewayId") => {
            let message = format!(
                "resource {} is already attached to network {vpc}",
                gateway.text_at("internetGatewayId")
            );
            Err(Rejection::new("Resource.AlreadyAssociated", message))
        }
        Some(_) => Err(Rejection::new(
            "InvalidParameterValue",
            format!("Network {vpc} already has an internet gateway attached"),
        )),
        None => Ok(()),
    }
}

/// Public addresses in the VPC would lose their way out.
pub(super) async fn detach(context: &Context<'_>) -> Verdict {
    let vpc = context.get("VpcId");
    let interfaces =
        context.filtered("DescribeNetworkInterfaces", "networkInterfaceSet", "vpc-id", vpc).await;
    let nats = living(context, "DescribeNatGateways").await;
    let mapped = interfaces.iter().any(|item| !item.text_at("association/publicIp").is_empty())
        || nats.iter().any(|nat| nat.text_at("vpcId") == vpc && nat.text_at("connectivityType") != "private");
    if mapped || context.held_by(vpc).is_some_and(|holder| holder.starts_with("nat-")) {
        return Err(dependency(format!(
            "Network {vpc} has some mapped public address(es). Please unmap those public address(es) before detaching \
             the gateway."
        )));
    }
    Ok(())
}

/// An attached gateway is in use by its VPC.
pub(super) async fn delete(context: &Context<'_>) -> Verdict {
    let id = context.get("InternetGatewayId");
    let gateways =
        context.list("DescribeInternetGateways", "internetGatewaySet", &[("InternetGatewayId.1", id)]).await;
    if gateways.iter().any(|gateway| gateway.items("attachmentSet").next().is_some()) {
        return Err(dependency(format!(
            "The internetGateway '{id}' has dependencies and cannot be deleted."
        )));
    }
    Ok(())
}

/// An address serves one gateway at a time.
pub(super) async fn nat(context: &Context<'_>) -> Verdict {
    let id = context.get("AllocationId");
    if id.is_empty() {
        return Ok(());
    }
    let addresses = context.list("DescribeAddresses", "addressesSet", &[("AllocationId.1", id)]).await;
    let used = addresses.iter().any(|address| !address.text_at("associationId").is_empty());
    if used || context.held_by(id).is_some() {
        return Err(Rejection::new(
            "Resource.AlreadyAssociated",
            format!("Elastic IP address [{id}] is already associated"),
        ));
    }
    Ok(())
}

/// A public gateway of a VPC without an internet gateway is accepted and fails, as `FailureCode` in botocore's model of
/// `NatGateway` describes.
pub(super) async fn unattached(context: &Context<'_>, answer: &Element) {
    let made = answer.child("natGateway").cloned().unwrap_or_default();
    let vpc = made.text_at("vpcId");
    if made.text_at("connectivityType") != "private" && !reaches_internet(context, vpc).await {
        context.shared.state().lifecycle.break_nat(made.text_at("natGatewayId"), vpc);
    }
}

/// A deleted NAT gateway releases its address and its interface; the emulator keeps both.
pub(super) async fn settle(context: &Context<'_>, nat: &Element) {
    for address in nat.items("natGatewayAddressSet") {
        let association = address.text_at("associationId");
        // Either may be gone already, which is what is wanted.
        let _ = context
            .shared
            .emulator
            .ec2(context.region, "DisassociateAddress", &[("AssociationId", association)])
            .await;
        let interface = address.text_at("networkInterfaceId");
        let _ = context
            .shared
            .emulator
            .ec2(context.region, "DeleteNetworkInterface", &[("NetworkInterfaceId", interface)])
            .await;
    }
}
