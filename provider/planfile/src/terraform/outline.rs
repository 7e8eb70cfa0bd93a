//! The parts of plans and states that are read. The rest is most of a large file, and is not kept in memory.

use super::role::role;
use crate::node::{Entry, Kind, Outline, Want};

/// A plan, a state, or any other JSON.
pub(crate) const FILE: Outline = Outline {
    of: |key| match key {
        "resource_changes" => Want::Keep(&CHANGES),
        // The same values as in the changes, and before them.
        "planned_values" => Want::Later { unless: "resource_changes", outline: &VALUES },
        "prior_state" => Want::Keep(&STATE),
        "values" => Want::Keep(&VALUES),
        "resources" => Want::Keep(&CHANGES),
        // A provider block may take its settings from variables.
        "variables" => Want::Keep(&VARIABLES),
        "output_changes"
        | "resource_drift"
        | "relevant_attributes"
        | "checks"
        | "check_results"
        | "deferred_changes"
        | "outputs" => Want::Skip,
        _ => Want::Keep(&Outline::ALL),
    },
    done: |_| {},
};

/// `{NAME: {value: ...}}`, of which texts are read.
const VARIABLES: Outline = Outline { of: |_| Want::Keep(&VARIABLE), done: |_| {} };
const VARIABLE: Outline =
    Outline { of: |key| if key == "value" { Want::Keep(&TEXT) } else { Want::Skip }, done: |_| {} };
const TEXT: Outline = Outline { of: |_| Want::Skip, done: |_| {} };

/// The state before a plan: `{values: ...}`.
const STATE: Outline = Outline {
    of: |key| if key == "values" { Want::Keep(&VALUES) } else { Want::Keep(&Outline::ALL) },
    done: |_| {},
};

/// `{root_module: ...}`.
const VALUES: Outline = Outline {
    of: |key| match key {
        "root_module" => Want::Keep(&MODULE),
        "outputs" => Want::Skip,
        _ => Want::Keep(&Outline::ALL),
    },
    done: |_| {},
};

const MODULE: Outline = Outline {
    of: |key| match key {
        "resources" => Want::Keep(&CHANGES),
        "child_modules" => Want::Keep(&MODULE),
        _ => Want::Keep(&Outline::ALL),
    },
    done: |_| {},
};

/// A resource, in a list.
const CHANGES: Outline = Outline { of: |_| Want::Keep(&Outline::ALL), done: forget };

/// Removes the attributes of a resource that is neither drawn nor checked. Its address stays, because it shows which instances
/// of a module exist.
fn forget(entries: &mut Vec<Entry>) {
    let kind = entries.iter().find(|entry| entry.key == "type").and_then(|entry| entry.value.text());
    if kind.is_none_or(|kind| role(kind).is_some()) {
        return;
    }
    entries.retain(|entry| SKELETON.contains(&entry.key.as_str()));
    for entry in entries {
        match (entry.key.as_str(), &mut entry.value.kind) {
            ("change", Kind::Map(parts)) => keep(parts, &["actions"]),
            // A state file has the attributes in `instances`.
            ("instances", Kind::List(instances)) => {
                for instance in instances {
                    if let Kind::Map(parts) = &mut instance.kind {
                        parts.iter_mut().filter(|part| part.key == "attributes").for_each(|part| {
                            part.value.kind = Kind::Null;
                        });
                        keep(parts, &["attributes", "deposed", "index_key"]);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What stays of a resource without a role.
const SKELETON: &[&str] =
    &["address", "change", "deposed", "deposed_key", "instances", "mode", "module", "name", "type"];

fn keep(parts: &mut Vec<Entry>, keys: &[&str]) {
    parts.retain(|part| keys.contains(&part.key.as_str()));
    parts.shrink_to_fit();
}
