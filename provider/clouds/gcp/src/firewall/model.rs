//! The schema and state of `warren_gcp_firewall`.

use std::collections::BTreeSet;

use tf_provider_rs::{Attr, Choice, Object, Resource};
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::account::Gcp;
use crate::common::{self, Description, GcpObject, Located};
use crate::link::NetworkRef;

/// Manages a firewall rule of a VPC network. Without any rules, Google Cloud denies all ingress and allows all egress.
/// A rule with priority 65534 that denies all traffic can serve as the baseline for more specific rules.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_firewall",
    noun = "rule",
    scope = "project",
    id = "`projects/PROJECT/global/firewalls/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Firewall {
    #[attr(flatten)]
    pub(crate) object: GcpObject<Description>,
    /// ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the rule.
    #[attr(required, replaces)]
    pub(crate) network: Attr<NetworkRef>,
    /// Direction of the traffic, `INGRESS` or `EGRESS`. Changing this replaces the rule. Defaults to `INGRESS`.
    #[attr(default = Direction::Ingress, replaces)]
    pub(crate) direction: Attr<Direction>,
    /// Priority, 0 to 65535. Among rules that match a packet, the lowest value wins. Updated in place. Defaults to
    /// `1000`.
    #[attr(default = 1000)]
    pub(crate) priority: Attr<u16>,
    /// Protocols and ports to allow. Set either `allow` or `deny`. Updated in place.
    #[attr(optional)]
    pub(crate) allow: Attr<BTreeSet<Traffic>>,
    /// Protocols and ports to deny. Set either `allow` or `deny`. Updated in place.
    #[attr(optional)]
    pub(crate) deny: Attr<BTreeSet<Traffic>>,
    /// Source ranges in CIDR notation, for ingress rules only. Updated in place.
    #[attr(optional)]
    pub(crate) source_ranges: Texts,
    /// Network tags of the source VMs, for ingress rules only. Updated in place.
    #[attr(optional)]
    pub(crate) source_tags: Texts,
    /// Service accounts of the source VMs, for ingress rules only. Updated in place.
    #[attr(optional)]
    pub(crate) source_service_accounts: Texts,
    /// Destination ranges in CIDR notation. An egress rule without them applies to all destinations. Updated in place.
    #[attr(optional)]
    pub(crate) destination_ranges: Texts,
    /// Network tags of the VMs that the rule applies to. Updated in place. Defaults to all VMs of the network.
    #[attr(optional)]
    pub(crate) target_tags: Texts,
    /// Service accounts of the VMs that the rule applies to. Updated in place. Defaults to all VMs of the network.
    #[attr(optional)]
    pub(crate) target_service_accounts: Texts,
    /// Logs the connections that match the rule, with or without metadata. Updated in place. Defaults to no logging.
    #[attr(optional)]
    pub(crate) log_metadata: Attr<LogMetadata>,
    /// Whether the rule is disabled. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) disabled: Attr<bool>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// Packets of one protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Traffic {
    /// Protocol: `tcp`, `udp`, `icmp`, `esp`, `ah`, `sctp`, `ipip`, a protocol number, or `all`.
    #[attr(required)]
    pub(crate) protocol: Attr<String>,
    /// Ports or port ranges, such as `443` or `8000-8100`. Defaults to all ports.
    #[attr(optional)]
    pub(crate) ports: Texts,
}

/// Direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Direction {
    #[choice("INGRESS")]
    Ingress,
    #[choice("EGRESS")]
    Egress,
}

/// Metadata of logged connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum LogMetadata {
    #[choice("EXCLUDE_ALL_METADATA")]
    Exclude,
    #[choice("INCLUDE_ALL_METADATA")]
    Include,
}

impl HasShared for Firewall {
    type Shared = GcpObject<Description>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Firewall {
    const COLLECTION: &'static str = "firewalls";
}
