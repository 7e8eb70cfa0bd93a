//! Checks of a rule at plan time, across its attributes.

use std::collections::BTreeSet;

use tf_provider_rs::{Attr, Diagnostics, Path};
use warren_cidr::parse_cidr;
use warren_managed::sets::{self, Texts};

use super::model::{Direction, Firewall, Traffic};
use crate::common;

/// Reports rules that Google rejects or that open the network by accident.
pub(super) fn rule(rule: &Firewall, diagnostics: &mut Diagnostics) {
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
    let ingress = rule.direction != Direction::Egress.into();
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
