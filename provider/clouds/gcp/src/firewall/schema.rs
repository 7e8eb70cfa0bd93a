//! Attributes and state of `warren_gcp_firewall`.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, model};
use warren_cidr::parse_cidr;
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use super::api::Found;
use crate::common::{self, common};
use crate::{link, marker};

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

/// Reports rules that Google rejects or that open the network by accident.
pub(super) fn check(rule: &Firewall, diagnostics: &mut Diagnostics) {
    let mut wrong = |attribute: &str, summary: &str, detail: String| {
        diagnostics.error_at(Path::of(attribute), summary, detail);
    };
    let empty = |traffic: &Attr<BTreeSet<Traffic>>| match traffic {
        Attr::Null => true,
        Attr::Unknown => false,
        Attr::Known(items) => items.is_empty(),
    };
    if empty(&rule.allow) == empty(&rule.deny) && !rule.allow.is_unknown() && !rule.deny.is_unknown() {
        wrong(
            "allow",
            "Exactly one of allow and deny required",
            "Set either `allow` or `deny`, with at least one protocol.".to_owned(),
        );
    }
    let ingress = rule.direction.text() != "EGRESS";
    for (name, set, of_ingress) in [
        ("source_ranges", &rule.source_ranges, true),
        ("source_tags", &rule.source_tags, true),
        ("source_service_accounts", &rule.source_service_accounts, true),
        ("destination_ranges", &rule.destination_ranges, false),
    ] {
        if !rule.direction.is_unknown() && ingress != of_ingress && !sets::known(set).is_empty() && of_ingress
        {
            wrong(
                name,
                "Source in an egress rule",
                format!("`{name}` applies to rules with direction `INGRESS` only. Remove it."),
            );
        }
        for range in sets::known(set).iter().filter(|_| name.ends_with("ranges")) {
            if let Err(error) = parse_cidr(range) {
                wrong(name, "Invalid CIDR range", common::sentence(&error.to_string()));
            }
        }
    }
    let some = |set: &Texts| !sets::known(set).is_empty();
    let sources = some(&rule.source_ranges) || some(&rule.source_tags) || some(&rule.source_service_accounts);
    let open = [&rule.source_ranges, &rule.source_tags, &rule.source_service_accounts];
    if ingress && !rule.direction.is_unknown() && !sources && open.iter().all(|set| sets::is_empty(set)) {
        wrong(
            "source_ranges",
            "Ingress rule without a source",
            "Google Cloud applies an ingress rule without a source to the whole internet. Name the sources, or allow \
             the internet explicitly: `source_ranges = [\"0.0.0.0/0\"]`."
                .to_owned(),
        );
    }
    let accounts = some(&rule.source_service_accounts) || some(&rule.target_service_accounts);
    if accounts && (some(&rule.source_tags) || some(&rule.target_tags)) {
        wrong(
            "target_tags",
            "Tags combined with service accounts",
            "Google Cloud does not allow tags and service accounts in the same rule. Use one of them."
                .to_owned(),
        );
    }
}

/// Updates the state `before` with what the API returned.
pub(super) fn state(found: Found, before: &Firewall) -> Firewall {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.network = link::kept(&before.network, &found.network);
    state.direction = found.direction.into();
    state.priority = found.priority.into();
    state.allow = traffic(found.allow, &before.allow);
    state.deny = traffic(found.deny, &before.deny);
    state.source_ranges = sets::found(found.source_ranges, &before.source_ranges);
    state.source_tags = sets::found(found.source_tags, &before.source_tags);
    state.source_service_accounts =
        sets::found(found.source_service_accounts, &before.source_service_accounts);
    // The API returns an egress rule without a destination as one for all destinations.
    state.destination_ranges = if before.destination_ranges.is_null()
        && found.destination_ranges == ["0.0.0.0/0"]
        && before.id.is_known()
    {
        Attr::Null
    } else {
        sets::found(found.destination_ranges, &before.destination_ranges)
    };
    state.target_tags = sets::found(found.target_tags, &before.target_tags);
    state.target_service_accounts =
        sets::found(found.target_service_accounts, &before.target_service_accounts);
    state.log_metadata = found.log_metadata.into();
    state.disabled = found.disabled.into();
    state.description = marker::user(&found.description);
    state.self_link = found.self_link.into();
    state
}

fn traffic(
    found: BTreeSet<(String, BTreeSet<String>)>,
    before: &Attr<BTreeSet<Traffic>>,
) -> Attr<BTreeSet<Traffic>> {
    if found.is_empty() && !before.is_known() {
        return Attr::Null;
    }
    let wrote = |protocol: &str| {
        let mut items = before.known().into_iter().flatten();
        items.find(|item| item.protocol.text() == protocol).map(|item| item.ports.clone()).unwrap_or_default()
    };
    let items = found.into_iter().map(|(protocol, ports)| Traffic {
        ports: sets::found(ports, &wrote(&protocol)),
        protocol: protocol.into(),
    });
    Attr::Known(items.collect())
}
