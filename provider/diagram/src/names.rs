//! Names that differ: two networks called "child" are told apart by their modules.

use std::collections::BTreeMap;
use warren_model::topology::{GatewayKind, Head, Topology};

/// Adds the module, or else the address, to the names of networks and transit gateways that others of their cloud have too.
pub(crate) fn distinct(mut all: Topology) -> Topology {
    apart(all.networks.values_mut().map(|network| &mut network.head));
    let transit = all.gateways.values_mut().filter(|gateway| gateway.kind == GatewayKind::Transit);
    apart(transit.map(|gateway| &mut gateway.head));
    all
}

fn apart<'a>(heads: impl Iterator<Item = &'a mut Head>) {
    let mut named: BTreeMap<_, Vec<&mut Head>> = BTreeMap::new();
    for head in heads {
        named.entry((head.home, head.name.clone())).or_default().push(head);
    }
    for mut same in named.into_values().filter(|same| same.len() > 1) {
        let mut modules: Vec<String> = same.iter().map(|head| module(&head.key).to_owned()).collect();
        modules.sort();
        modules.dedup();
        let differ = modules.len() == same.len();
        for head in &mut same {
            let module = module(&head.key);
            let place = if differ && !module.is_empty() { module } else { &head.key };
            head.name = format!("{} ({place})", head.name);
        }
    }
}

/// The module of a resource address: `module.prod.module.vpc["a.b"]`. Empty in the root module.
fn module(address: &str) -> &str {
    let mut end = 0;
    while address[end..].trim_start_matches('.').starts_with("module.") {
        let start = address.len() - address[end..].trim_start_matches('.').len() + "module.".len();
        let mut quoted = false;
        let dot = address[start..].char_indices().find(|(_, c)| {
            quoted ^= *c == '"';
            *c == '.' && !quoted
        });
        let Some((at, _)) = dot else { break };
        end = start + at;
    }
    &address[..end]
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn modules_of_addresses() {
        for (address, expected) in [
            ("aws_vpc.main", ""),
            ("module.prod.aws_vpc.this[0]", "module.prod"),
            ("module.a.module.vpc[\"x.y\"].aws_vpc.this", "module.a.module.vpc[\"x.y\"]"),
            ("module.half", ""),
            ("vpc-123", ""),
        ] {
            assert_eq!(module(address), expected, "{address}");
        }
    }
}
