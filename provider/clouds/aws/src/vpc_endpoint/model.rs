//! `warren_aws_vpc_endpoint`: schema and state.

use std::collections::BTreeSet;

use ipnet::IpNet;
use tf_provider_rs::{Attr, Choice, Diagnostics, Object, Path, Resource, Value};
use warren_managed::HasShared;
use warren_managed::sets::{Set, Texts};

use crate::common::AwsObject;
use crate::ids::{
    AccountId, NetworkInterfaceId, PrefixListId, RouteTableId, SecurityGroupId, SubnetId, VpcId,
};
use crate::policy;

/// Manages a VPC endpoint, through which a VPC reaches an AWS service without the internet. Pulling an image from ECR
/// requires three endpoints: `ecr.api`, `ecr.dkr` and `s3`. The plan of an `ecr.*` endpoint fails while something that
/// it needs is missing.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_vpc_endpoint", noun = "endpoint")]
pub(crate) struct Endpoint {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the VPC. Changing this replaces the endpoint.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// Name of the service: the short form, such as `s3`, `ecr.api`, `ecr.dkr`, `sts` or `logs`, or the full form, such
    /// as `com.amazonaws.us-east-1.s3`. Changing this to another service replaces the endpoint.
    #[attr(required, replaces, validate = check_service)]
    pub(crate) service: Attr<String>,
    /// Full name of the service.
    #[attr(computed, keeps)]
    pub(crate) service_name: Attr<String>,
    /// Type of the endpoint: `Gateway` (routes to a prefix list, for S3 and DynamoDB) or `Interface` (a network
    /// interface in each subnet). Changing this replaces the endpoint. Defaults to `Gateway` for `s3` and `dynamodb`,
    /// and to `Interface` for other services.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) r#type: Attr<Kind>,
    /// IDs of the route tables that get a route to a `Gateway` endpoint. Updated in place.
    #[attr(optional)]
    pub(crate) route_table_ids: Set<RouteTableId>,
    /// IDs of the subnets in which an `Interface` endpoint has a network interface, at most one in each Availability
    /// Zone. Updated in place.
    #[attr(optional)]
    pub(crate) subnet_ids: Set<SubnetId>,
    /// IDs of the security groups of an `Interface` endpoint. At least one must allow inbound TCP port 443 from the VPC.
    /// Updated in place. Defaults to the default security group of the VPC.
    #[attr(optional, computed, keeps)]
    pub(crate) security_group_ids: Set<SecurityGroupId>,
    /// Whether the public DNS name of the service resolves to an `Interface` endpoint inside the VPC. Requires DNS
    /// support and DNS hostnames in the VPC. Updated in place. Defaults to `true` for `Interface` endpoints of AWS
    /// services. An ECR endpoint without private DNS needs a `warren_aws_route53_zone` for the name of the service.
    #[attr(optional, computed, keeps)]
    pub(crate) private_dns_enabled: Attr<bool>,
    /// IP address type of the endpoint: `ipv4`, `dualstack` or `ipv6`. The service and the subnets must support it.
    /// Updated in place. Defaults to `ipv4`.
    #[attr(optional, computed, keeps)]
    pub(crate) ip_address_type: Attr<IpAddressType>,
    /// DNS settings of the endpoint. Updated in place. AWS chooses settings that are not set.
    #[attr(optional)]
    pub(crate) dns_options: Attr<DnsOptions>,
    /// Endpoint policy as JSON. Differences in formatting are ignored. Conflicts with `bucket_policy`. Updated in place.
    /// By default the endpoint allows everything.
    #[attr(optional, validate = policy::json_object)]
    pub(crate) policy: Attr<String>,
    /// Buckets that an `s3` endpoint allows; all other buckets are unreachable through it. Conflicts with `policy`.
    /// Updated in place.
    #[attr(optional)]
    pub(crate) bucket_policy: Attr<BucketPolicy>,
    /// Whether to skip the check that an `ecr.*` endpoint has everything that it needs. Anything missing must then be
    /// reachable another way, such as image layers through a NAT gateway. Defaults to `false`.
    #[attr(optional)]
    pub(crate) allow_incomplete: Attr<bool>,
    /// DNS names of an `Interface` endpoint, the regional name first.
    #[attr(computed, keeps)]
    pub(crate) dns_entries: Attr<Vec<DnsEntry>>,
    /// ID of the prefix list of a `Gateway` endpoint, for use in security group rules.
    #[attr(computed, keeps)]
    pub(crate) prefix_list_id: Attr<PrefixListId>,
    /// IP ranges at which clients reach the endpoint: those of the prefix list of a `Gateway` endpoint, or the addresses
    /// of the network interfaces of an `Interface` endpoint, each as a range of one address.
    #[attr(computed, keeps)]
    pub(crate) cidr_blocks: Set<IpNet>,
    /// IDs of the network interfaces of an `Interface` endpoint, one in each subnet.
    #[attr(computed, keeps)]
    pub(crate) network_interface_ids: Set<NetworkInterfaceId>,
    /// State of the endpoint, such as `available` or `pendingacceptance`.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<String>,
    /// ID of the AWS account that owns the endpoint.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<AccountId>,
}

/// What an endpoint consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Kind {
    /// Routes to a prefix list.
    #[choice("Gateway")]
    Gateway,
    /// A network interface in each subnet.
    #[choice("Interface")]
    Interface,
}

/// The addresses of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum IpAddressType {
    #[choice("ipv4")]
    Ipv4,
    #[choice("dualstack")]
    Dualstack,
    #[choice("ipv6")]
    Ipv6,
}

/// DNS settings of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct DnsOptions {
    /// Records that the endpoint's names have: `ipv4`, `dualstack`, `ipv6` or `service-defined`.
    #[attr(optional)]
    pub(crate) dns_record_ip_type: Attr<DnsRecordIpType>,
    /// Whether private DNS serves only queries through an inbound endpoint of the Route 53 Resolver, such as those from
    /// on premises. Other traffic of the VPC then uses its `Gateway` endpoint, which must exist. Only valid for `s3`
    /// with private DNS.
    #[attr(optional)]
    pub(crate) private_dns_only_for_inbound_resolver_endpoint: Attr<bool>,
}

/// The records of an endpoint's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum DnsRecordIpType {
    #[choice("ipv4")]
    Ipv4,
    #[choice("dualstack")]
    Dualstack,
    #[choice("ipv6")]
    Ipv6,
    #[choice("service-defined")]
    ServiceDefined,
}

/// A policy as a list of buckets.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct BucketPolicy {
    /// Names of the buckets, at least one. The endpoint allows listing them, and `object_actions` on their objects.
    #[attr(required, validate = check_buckets)]
    pub(crate) buckets: Texts,
    /// Actions that the endpoint allows on the objects of the buckets. Defaults to
    /// `["s3:GetObject", "s3:PutObject"]`.
    #[attr(default = BTreeSet::from(["s3:GetObject".into(), "s3:PutObject".into()]))]
    pub(crate) object_actions: Texts,
    /// Whether the endpoint allows reading the image layers of ECR, which AWS stores in a bucket of its own
    /// (`prod-REGION-starport-layer-bucket`). Defaults to `true`.
    #[attr(default = true)]
    pub(crate) ecr_layers: Attr<bool>,
}

/// A DNS name.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct DnsEntry {
    /// DNS name.
    #[attr(computed)]
    pub(crate) dns_name: Attr<String>,
    /// ID of the hosted zone of the name.
    #[attr(computed)]
    pub(crate) hosted_zone_id: Attr<String>,
}

impl HasShared for Endpoint {
    type Shared = AwsObject;
}

impl Endpoint {
    pub(super) fn is_gateway(&self) -> bool {
        self.r#type == Attr::Known(Kind::Gateway)
    }

    /// Whether AWS reports this state, in lower case.
    pub(super) fn is(&self, state: &str) -> bool {
        self.state.as_deref() == Some(state)
    }
}

/// Rejects names that no service has.
fn check_service(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let fine = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.ends_with('.')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    if !fine {
        diagnostics.error_at(
            path.clone(),
            "Invalid service name",
            format!(
                "{text:?} is not the name of a service. Use the short form, such as `s3`, `ecr.api`, \
                 `ecr.dkr`, `sts` or `logs`, or the full form, such as `com.amazonaws.us-east-1.s3`."
            ),
        );
    }
}

fn check_buckets(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let items = value.as_slice().unwrap_or_default();
    if items.is_empty() {
        diagnostics.error_at(
            path.clone(),
            "Empty list of buckets",
            "`bucket_policy` needs at least one bucket. Add a bucket name to `buckets`.",
        );
    }
    for name in items.iter().filter_map(Value::as_str) {
        let fine = (3..=63).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-'));
        if !fine {
            diagnostics.error_at(
                path.clone(),
                "Invalid bucket name",
                format!(
                    "{name:?} is not the name of a bucket. Use 3 to 63 lower-case letters, digits, dots \
                     and hyphens, without `s3://` or `arn:`."
                ),
            );
        }
    }
}
