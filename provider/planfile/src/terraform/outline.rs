//! The parts of plans and states that are read. The rest is most of a large file, and is not kept in memory.

use super::role::role;
use crate::node::{Entry, Kind, Outline, Want};

/// A plan, a state, or any other JSON.
pub(crate) const FILE: Outline = Outline {
    of: |key, _| match key {
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
const VARIABLES: Outline = Outline { of: |_, _| Want::Keep(&VARIABLE), done: |_| {} };
const VARIABLE: Outline =
    Outline { of: |key, _| if key == "value" { Want::Keep(&TEXT) } else { Want::Skip }, done: |_| {} };
const TEXT: Outline = Outline { of: |_, _| Want::Skip, done: |_| {} };

/// The state before a plan: `{values: ...}`.
const STATE: Outline = Outline {
    of: |key, _| if key == "values" { Want::Keep(&VALUES) } else { Want::Keep(&Outline::ALL) },
    done: |_| {},
};

/// `{root_module: ...}`.
const VALUES: Outline = Outline {
    of: |key, _| match key {
        "root_module" => Want::Keep(&MODULE),
        "outputs" => Want::Skip,
        _ => Want::Keep(&Outline::ALL),
    },
    done: |_| {},
};

const MODULE: Outline = Outline {
    of: |key, _| match key {
        "resources" => Want::Keep(&CHANGES),
        "child_modules" => Want::Keep(&MODULE),
        _ => Want::Keep(&Outline::ALL),
    },
    done: |_| {},
};

/// A resource, in a list. Terraform writes its type before its attributes, which most resources do not need.
const CHANGES: Outline = Outline {
    of: |key, before| match key {
        "address" | "mode" | "name" | "type" => Want::Keep(&Outline::ALL),
        _ if !is_forgotten(before) => Want::Keep(&Outline::ALL),
        "change" => Want::Keep(&CHANGE),
        "instances" => Want::Keep(&INSTANCE),
        _ if SKELETON.contains(&key) => Want::Keep(&Outline::ALL),
        _ => Want::Skip,
    },
    done: forget,
};

/// The change of a resource without a role.
const CHANGE: Outline = Outline {
    of: |key, _| if key == "actions" { Want::Keep(&Outline::ALL) } else { Want::Skip },
    done: |_| {},
};

/// An instance of a resource without a role.
const INSTANCE: Outline = Outline {
    of: |key, _| match key {
        "deposed" | "index_key" => Want::Keep(&Outline::ALL),
        _ => Want::Skip,
    },
    done: |_| {},
};

/// Whether a resource, of which these entries are known, is neither drawn nor checked.
fn is_forgotten(entries: &[Entry]) -> bool {
    let kind = entries.iter().find(|entry| entry.key == "type").and_then(|entry| entry.value.text());
    kind.is_some_and(|kind| role(kind).is_none())
}

/// Removes the attributes of a resource that is neither drawn nor checked. Its address stays, because it shows which instances
/// of a module exist.
fn forget(entries: &mut Vec<Entry>) {
    if !is_forgotten(entries) {
        return;
    }
    keep(entries, SKELETON);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Node, parse_outline};

    /// Reads everything before it forgets.
    const WIDE: Outline = Outline {
        of: |_, _| Want::Keep(&Outline { of: |_, _| Want::Keep(&Outline::ALL), done: forget }),
        done: |_| {},
    };
    const NARROW: Outline = Outline { of: |_, _| Want::Keep(&CHANGES), done: |_| {} };

    fn resources(text: &str, outline: &'static Outline) -> Vec<Entry> {
        let tree: Node = parse_outline("plan.json", text, outline).unwrap();
        let lists = ["resource_changes", "resources"];
        tree.entries().iter().filter(|entry| lists.contains(&entry.key.as_str())).cloned().collect()
    }

    #[test]
    fn what_is_passed_over_is_what_would_be_forgotten() {
        let state = r#"{"version": 4, "resources": [
            {"module": "module.a", "mode": "managed", "type": "null_resource", "name": "n", "provider": "p", "instances": [
                {"index_key": 0, "schema_version": 0, "attributes": {"id": "1", "triggers": {"a": "}"}}, "private": "x"},
                {"index_key": 1, "deposed": "d", "attributes": {"id": "2"}, "dependencies": ["a"]}]},
            {"mode": "managed", "type": "aws_vpc", "name": "v", "instances": [{"attributes": {"cidr_block": "10.0.0.0/8"}}]},
            {"instances": [{"index_key": "k", "attributes": {"id": "3"}}], "mode": "managed", "type": "null_resource", "name": "m"}]}"#;
        let plan = include_str!("../../../../tests/plans/corpus/vpc-module.json");
        for text in [state, plan] {
            let found = resources(text, &NARROW);
            assert!(!found.is_empty());
            assert_eq!(found, resources(text, &WIDE));
        }
        // A type without a role is among them.
        assert!(plan.contains(r#""type":"aws_eip""#) && role("aws_eip").is_none());
    }
}
