//! The schema and state of `warren_gcp_firewall`.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Type, model};
use warren_managed::Timeouts;
use warren_managed::sets::Texts;

use crate::common::{self, common};

model! {
    /// A firewall rule.
    pub struct Firewall {
        /// Unique in the project.
        pub name: Attr<String>,
        /// `projects/P/global/firewalls/N`.
        pub id: Attr<String>,
        /// The network.
        pub network: Attr<String>,
        /// `INGRESS` or `EGRESS`.
        pub direction: Attr<String>,
        /// The lowest value wins.
        pub priority: Attr<i64>,
        /// Allowed traffic.
        pub allow: Attr<BTreeSet<Traffic>>,
        /// Denied traffic.
        pub deny: Attr<BTreeSet<Traffic>>,
        /// Source ranges.
        pub source_ranges: Texts,
        /// Tags of the source VMs.
        pub source_tags: Texts,
        /// Service accounts of the source VMs.
        pub source_service_accounts: Texts,
        /// Destination ranges.
        pub destination_ranges: Texts,
        /// Tags of the target VMs.
        pub target_tags: Texts,
        /// Service accounts of the target VMs.
        pub target_service_accounts: Texts,
        /// Metadata that is logged; null means no logging.
        pub log_metadata: Attr<String>,
        /// Whether the rule is disabled.
        pub disabled: Attr<bool>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }

    /// Packets of one protocol.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Traffic {
        /// Such as `tcp`; `all` means every protocol.
        pub protocol: Attr<String>,
        /// Such as `443` or `8000-8100`; null means all.
        pub ports: Texts,
    }
}

common!(Firewall, "warren_gcp_firewall", global "firewalls");

pub(super) fn schema() -> Schema {
    let set = |name: &str, text: &str| Attribute::of(name, Type::set(Type::String)).optional().describe(text);
    let traffic = |name: &str, text: &str| {
        Attribute::nested(
            name,
            Nesting::Set,
            [
                Attribute::string("protocol").required().describe(
                    "Protocol: `tcp`, `udp`, `icmp`, `esp`, `ah`, `sctp`, `ipip`, a protocol number, or \
                         `all`.",
                ),
                Attribute::of("ports", Type::set(Type::String))
                    .optional()
                    .describe("Ports or port ranges, such as `443` or `8000-8100`. Defaults to all ports."),
            ],
        )
        .optional()
        .describe(text)
    };
    Schema::new(
        "A firewall rule of a VPC network. Without any rules, Google Cloud denies all ingress and allows all egress. \
         A rule with priority 65534 that denies all traffic can serve as the baseline for more specific rules.",
    )
    .attributes(common::head("rule", "projects/PROJECT/global/firewalls/NAME"))
    .attribute(common::network("rule"))
    .attributes([
        Attribute::string("direction")
            .default("INGRESS")
            .replaces()
            .validate(common::one_of(&["INGRESS", "EGRESS"]))
            .describe("Direction of the traffic, `INGRESS` or `EGRESS`. Changing this replaces the rule. Defaults to \
                 `INGRESS`."),
        Attribute::number("priority")
            .default(1000)
            .validate(common::between(0, 65535))
            .describe("Priority, 0 to 65535. Among rules that match a packet, the lowest value wins. Updated in \
                 place. Defaults to `1000`."),
        traffic("allow", "Protocols and ports to allow. Set either `allow` or `deny`. Updated in place."),
        traffic("deny", "Protocols and ports to deny. Set either `allow` or `deny`. Updated in place."),
        set("source_ranges", "Source ranges in CIDR notation, for ingress rules only. Updated in place."),
        set("source_tags", "Network tags of the source VMs, for ingress rules only. Updated in place."),
        set("source_service_accounts", "Service accounts of the source VMs, for ingress rules only. Updated in place."),
        set("destination_ranges", "Destination ranges in CIDR notation. An egress rule without them applies to all destinations. Updated in place."),
        set("target_tags", "Network tags of the VMs that the rule applies to. Updated in place. Defaults to all VMs of the network."),
        set("target_service_accounts", "Service accounts of the VMs that the rule applies to. Updated in place. Defaults to all VMs of the network."),
        Attribute::string("log_metadata")
            .optional()
            .validate(common::one_of(&["EXCLUDE_ALL_METADATA", "INCLUDE_ALL_METADATA"]))
            .describe("Logs the connections that match the rule, with or without metadata. Updated in place. \
                 Defaults to no logging."),
        Attribute::bool("disabled").default(false).describe("Whether the rule is disabled. Updated in place. Defaults to `false`."),
    ])
    .attribute(common::description())
    .attribute(common::self_link())
    .attributes(common::tail())
}
