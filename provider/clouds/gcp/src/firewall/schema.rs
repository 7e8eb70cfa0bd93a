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
        /// The lowest wins.
        pub priority: Attr<i64>,
        /// What is let through.
        pub allow: Attr<BTreeSet<Traffic>>,
        /// What is not.
        pub deny: Attr<BTreeSet<Traffic>>,
        /// Where packets come from.
        pub source_ranges: Texts,
        /// Tags of the machines that packets come from.
        pub source_tags: Texts,
        /// Service accounts of the machines that packets come from.
        pub source_service_accounts: Texts,
        /// Where packets go.
        pub destination_ranges: Texts,
        /// Tags of the machines that the rule is for.
        pub target_tags: Texts,
        /// Service accounts of the machines that the rule is for.
        pub target_service_accounts: Texts,
        /// Which metadata is logged; null is no log.
        pub log_metadata: Attr<String>,
        /// Whether the rule rests.
        pub disabled: Attr<bool>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }

    /// Packets of one protocol.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Traffic {
        /// Such as `tcp`; `all` is every protocol.
        pub protocol: Attr<String>,
        /// Such as `443` or `8000-8100`; none is all.
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
                Attribute::string("protocol")
                    .required()
                    .describe("`tcp`, `udp`, `icmp`, `esp`, `ah`, `sctp`, `ipip`, a number, or `all`."),
                Attribute::of("ports", Type::set(Type::String))
                    .optional()
                    .describe("Ports or ranges of them, such as `443` or `8000-8100`. Default: all."),
            ],
        )
        .optional()
        .describe(text)
    };
    Schema::new(
        "A firewall rule of a network. Without any rule Google lets nothing in and everything out; a rule of priority \
         65534 that denies all is a baseline to which others add.",
    )
    .attributes(common::head("rule", "projects/P/global/firewalls/N"))
    .attribute(common::network("rule"))
    .attributes([
        Attribute::string("direction")
            .default("INGRESS")
            .replaces()
            .validate(common::one_of(&["INGRESS", "EGRESS"]))
            .describe("`INGRESS` or `EGRESS`. A change replaces the rule. Default: `INGRESS`."),
        Attribute::number("priority")
            .default(1000)
            .validate(common::between(0, 65535))
            .describe("Of rules that meet a packet the lowest wins, 0 to 65535. Default: 1000."),
        traffic("allow", "What is let through. Set either `allow` or `deny`."),
        traffic("deny", "What is not let through."),
        set("source_ranges", "Of ingress: ranges that packets come from, in CIDR notation."),
        set("source_tags", "Of ingress: network tags of the machines that packets come from."),
        set("source_service_accounts", "Of ingress: service accounts of the machines that packets come from."),
        set("destination_ranges", "Of egress: ranges that packets go to, in CIDR notation."),
        set("target_tags", "Network tags of the machines that the rule is for. Default: all machines."),
        set("target_service_accounts", "Service accounts of the machines that the rule is for. Default: all machines."),
        Attribute::string("log_metadata")
            .optional()
            .validate(common::one_of(&["EXCLUDE_ALL_METADATA", "INCLUDE_ALL_METADATA"]))
            .describe("Logs connections that the rule meets, with or without metadata. Default: no log."),
        Attribute::bool("disabled").default(false).describe("Whether the rule rests. Default: `false`."),
    ])
    .attribute(common::description())
    .attribute(common::self_link())
    .attributes(common::tail())
}

/// What Google refuses.
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
            "Neither or both of allow and deny",
            "A rule either allows or denies: set one of `allow` and `deny`, with at least one protocol."
                .to_owned(),
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
            wrong(name, "Source of an egress rule", format!("`{name}` is for rules of direction `INGRESS`."));
        }
        for range in sets::known(set).iter().filter(|_| name.ends_with("ranges")) {
            if let Err(error) = parse_cidr(range) {
                wrong(name, "Not a CIDR range", format!("{error}."));
            }
        }
    }
    let some = |set: &Texts| !sets::known(set).is_empty();
    let sources = some(&rule.source_ranges) || some(&rule.source_tags) || some(&rule.source_service_accounts);
    let open = [&rule.source_ranges, &rule.source_tags, &rule.source_service_accounts];
    if ingress && !rule.direction.is_unknown() && !sources && open.iter().all(|set| sets::is_empty(set)) {
        wrong(
            "source_ranges",
            "Ingress from nowhere said",
            "Google takes a rule without a source as one for the whole internet. Say it: \
             `source_ranges = [\"0.0.0.0/0\"]`, or name the sources."
                .to_owned(),
        );
    }
    let accounts = some(&rule.source_service_accounts) || some(&rule.target_service_accounts);
    if accounts && (some(&rule.source_tags) || some(&rule.target_tags)) {
        wrong(
            "target_tags",
            "Tags beside service accounts",
            "Google takes tags or service accounts in one rule, not both.".to_owned(),
        );
    }
}

/// The state that what was found makes of `before`.
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
    // A rule of egress without a destination is told as one for everywhere.
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
