//! Which kind of object the sweeper deletes for each resource type.

/// How objects of a type go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// As objects of this kind.
    Kind(&'static str),
    /// With the object that they are part of.
    With(&'static str),
    /// It exists only in the state.
    Nothing,
    /// Not at all, for this reason.
    Never(&'static str),
}

/// The types of the provider that create objects in an account.
const TYPES: &[(&str, Swept)] = &[
    ("warren_address_plan", Swept::Nothing),
    ("warren_aws_ecr_repository", Swept::Kind("ECR repository")),
    ("warren_aws_elastic_ip", Swept::Kind("elastic IP")),
    ("warren_aws_flow_log", Swept::Kind("flow log")),
    ("warren_aws_gateway", Swept::Kind("instance")),
    ("warren_aws_gateway_config", Swept::Kind("parameter")),
    ("warren_aws_gateway_group", Swept::Never("no example of a run creates one")),
    ("warren_aws_gateway_role", Swept::Kind("role")),
    ("warren_aws_internet_gateway", Swept::Kind("internet gateway")),
    ("warren_aws_nat_gateway", Swept::Kind("NAT gateway")),
    ("warren_aws_resolver_endpoint", Swept::Kind("resolver endpoint")),
    ("warren_aws_resolver_rule", Swept::Kind("resolver rule")),
    ("warren_aws_route53_record", Swept::With("hosted zone")),
    ("warren_aws_route53_zone", Swept::Kind("hosted zone")),
    ("warren_aws_route53_zone_association", Swept::With("hosted zone")),
    ("warren_aws_route_table", Swept::Kind("route table")),
    ("warren_aws_security_group", Swept::Kind("security group")),
    ("warren_aws_signing_key", Swept::Kind("parameter")),
    ("warren_aws_subnet", Swept::Kind("subnet")),
    ("warren_aws_tls_key", Swept::Kind("parameter")),
    ("warren_aws_transit_gateway", Swept::Kind("transit gateway")),
    ("warren_aws_transit_gateway_attachment", Swept::Kind("transit gateway attachment")),
    ("warren_aws_transit_gateway_route", Swept::With("transit gateway route table")),
    ("warren_aws_transit_gateway_route_table", Swept::Kind("transit gateway route table")),
    ("warren_aws_transit_gateway_route_table_association", Swept::With("transit gateway attachment")),
    ("warren_aws_transit_gateway_route_table_propagation", Swept::With("transit gateway attachment")),
    ("warren_aws_vpc", Swept::Kind("VPC")),
    ("warren_aws_vpc_endpoint", Swept::Kind("VPC endpoint")),
    ("warren_aws_vpc_peering", Swept::Kind("VPC peering")),
    ("warren_aws_wireguard_key", Swept::Kind("parameter")),
    ("warren_gcp_address", Swept::Kind("address")),
    ("warren_gcp_artifact_registry_repository", Swept::Kind("repository")),
    ("warren_gcp_dns_record_set", Swept::With("managed zone")),
    ("warren_gcp_dns_zone", Swept::Kind("managed zone")),
    ("warren_gcp_firewall", Swept::Kind("firewall")),
    ("warren_gcp_gateway", Swept::Kind("instance")),
    ("warren_gcp_gateway_config", Swept::Kind("secret")),
    ("warren_gcp_gateway_group", Swept::Kind("instance group")),
    ("warren_gcp_gateway_service_account", Swept::Kind("service account")),
    ("warren_gcp_network", Swept::Kind("network")),
    ("warren_gcp_network_peering", Swept::With("network")),
    ("warren_gcp_private_service_connect", Swept::Kind("forwarding rule")),
    ("warren_gcp_route", Swept::Kind("route")),
    ("warren_gcp_router_nat", Swept::Kind("router")),
    (
        "warren_gcp_service_perimeter",
        Swept::Never("belongs to the organisation, and no example of a run creates one"),
    ),
    ("warren_gcp_signing_key", Swept::Kind("secret")),
    ("warren_gcp_subnetwork", Swept::Kind("subnetwork")),
    ("warren_gcp_tls_key", Swept::Kind("secret")),
    ("warren_gcp_wireguard_key", Swept::Kind("secret")),
    ("warren_runpod_cluster", Swept::Kind("cluster")),
    ("warren_runpod_ecr_delegation", Swept::Kind("ECR delegation")),
    ("warren_runpod_network_volume", Swept::Kind("network volume")),
    ("warren_runpod_pod", Swept::Kind("pod")),
    ("warren_runpod_registry_auth", Swept::Kind("registry credential")),
    ("warren_runpod_secret", Swept::Kind("secret")),
];

/// How objects of a resource type are swept; `None` for a type that the sweeper does not know.
pub fn swept(resource: &str) -> Option<Swept> {
    TYPES.iter().find(|(name, _)| *name == resource).map(|(_, swept)| *swept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{aws, google, runpod};
    use warren_acceptance::registry::{PageKind, pages};

    #[test]
    fn every_resource_type_is_swept_or_has_a_reason_not_to_be() {
        let kinds: Vec<&str> = [aws::KINDS, google::KINDS, runpod::KINDS].concat();
        let mut wrong = Vec::new();
        for page in pages().unwrap().into_iter().filter(|page| page.kind == PageKind::Resource) {
            match swept(&page.name) {
                None => wrong.push(format!("{} is not in the table", page.name)),
                Some(Swept::Kind(kind) | Swept::With(kind)) if !kinds.contains(&kind) => {
                    wrong.push(format!("{}: the sweeper deletes no {kind}", page.name));
                }
                Some(_) => {}
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
