//! The roles of resource types in networks, routes and reachability. Each cloud contributes its types as data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a resource type is, such as `aws.vpc`. Types with one role have the same attributes.
pub(super) type Role = &'static str;

/// The types of each cloud, by the prefix of their roles.
const CLOUDS: &[(&str, &str)] = &[
    ("aws", include_str!("../../../clouds/aws/topology.toml")),
    ("gcp", include_str!("../../../clouds/gcp/topology.toml")),
    ("azure", include_str!("azure.toml")),
    ("runpod", include_str!("../../../clouds/runpod/topology.toml")),
    ("local", include_str!("../../../local/topology.toml")),
];

/// Roles by resource type. The files are part of the program, and a test reads them.
static ROLES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut roles = BTreeMap::new();
    for (cloud, text) in CLOUDS {
        let types: BTreeMap<String, Vec<String>> = toml::from_str(text).unwrap_or_default();
        for (role, kinds) in types {
            roles.extend(kinds.into_iter().map(|kind| (kind, format!("{cloud}.{role}"))));
        }
    }
    roles
});

/// The role of a resource type; `None` if it has none.
pub(super) fn role(kind: &str) -> Option<Role> {
    ROLES.get(kind).map(String::as_str)
}

/// Whether a resource type has one of the `roles`.
pub(super) fn is(kind: &str, roles: &[Role]) -> bool {
    role(kind).is_some_and(|role| roles.contains(&role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Roles that only other resources refer to, or that change nothing in the network.
    const REFERENCED: [Role; 2] = ["aws.network_interface", "aws.zone_authorization"];

    #[test]
    fn every_role_of_a_cloud_has_a_reader_and_every_type_one_role() {
        let read: BTreeSet<Role> = super::super::roles_read().into_iter().chain(REFERENCED).collect();
        let mut seen = BTreeSet::new();
        let mut listed = BTreeSet::new();
        for (cloud, text) in CLOUDS {
            let types: BTreeMap<String, Vec<String>> = toml::from_str(text).unwrap();
            for (role, kinds) in types {
                for kind in kinds {
                    assert!(seen.insert(kind.clone()), "{kind} has two roles");
                }
                listed.insert(format!("{cloud}.{role}"));
            }
        }
        assert_eq!(listed, read.iter().map(|role| (*role).to_owned()).collect());
    }
}
