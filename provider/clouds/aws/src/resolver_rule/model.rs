//! `warren_aws_resolver_rule`: schema and state.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tf_provider_rs::validators::{between, size_at_least};
use tf_provider_rs::{Attr, Choice, Diagnostics, Object, Path, Resource, Value};
use warren_managed::HasShared;
use warren_managed::sets::Set;

use crate::common::AwsObject;
use crate::ids::{AccountId, ResolverEndpointId, VpcId};
use crate::route53::check_domain;

/// Manages a rule of the Route 53 Resolver. In the VPCs that are associated with the rule, the resolver forwards queries
/// for a domain and everything below it to DNS servers of another network.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_resolver_rule", noun = "resolver rule")]
pub(crate) struct Rule {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// Domain of the rule, such as `corp.example.com`, or `.` for all names. Of several rules, the one with the longest
    /// domain applies. Case and a final dot make no difference. Changing this to another domain replaces the resolver
    /// rule.
    #[attr(required, replaces, validate = check_rule_domain)]
    pub(crate) domain_name: Attr<String>,
    /// Type of the rule: `FORWARD`, or `SYSTEM` to exempt a domain from a `FORWARD` rule for a domain above it. Changing
    /// this replaces the resolver rule. Defaults to `FORWARD`.
    #[attr(default = RuleType::Forward, replaces)]
    pub(crate) rule_type: Attr<RuleType>,
    /// ID of the `OUTBOUND` endpoint that forwards the queries. Required for `FORWARD` rules. Updated in place.
    #[attr(optional)]
    pub(crate) resolver_endpoint_id: Attr<ResolverEndpointId>,
    /// DNS servers that get the queries, at least one. Required for `FORWARD` rules. Updated in place.
    #[attr(optional, validate = size_at_least(1))]
    pub(crate) target_ips: Attr<BTreeSet<Target>>,
    /// IDs of the VPCs to associate. Other associations of the rule are left alone. Updated in place.
    #[attr(optional)]
    pub(crate) vpc_ids: Set<VpcId>,
    /// ID of the AWS account that owns the rule.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<AccountId>,
    /// Amazon Resource Name (ARN) of the rule.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
    /// VPCs that an update disassociates.
    #[attr(skip)]
    pub(super) leaving: BTreeSet<VpcId>,
}

/// A DNS server.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Target {
    /// IP address of the server.
    #[attr(required)]
    pub(crate) ip: Attr<IpAddr>,
    /// Port of the server, 1 to 65535. Defaults to `53`.
    #[attr(default = 53, validate = between(1, 65535))]
    pub(crate) port: Attr<i32>,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum RuleType {
    #[choice("FORWARD")]
    Forward,
    #[choice("SYSTEM")]
    System,
}

impl HasShared for Rule {
    type Shared = AwsObject;
}

fn check_rule_domain(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str() != Some(".") {
        check_domain(value, path, diagnostics);
    }
}
