//! Subnets whose network the plan does not show. A diagram without them would show less than the plan contains.

use std::collections::BTreeMap;
use warren_model::topology::{Change, Head, Home, Network, Topology};

const KEY: &str = "unattached:";

/// Whether a network is the box of the subnets without a known network.
pub(crate) fn is_box(network: &Network) -> bool {
    network.head.key.starts_with(KEY)
}

/// The number of subnets without a known network.
pub(crate) fn count(all: &Topology) -> usize {
    all.subnets
        .values()
        .filter(|subnet| subnet.network.as_deref().is_none_or(|key| key.starts_with(KEY)))
        .count()
}

/// One sentence fragment about the subnets without a known network, if any: "6 of 7 subnets attached".
pub(crate) fn words(all: &Topology) -> Option<String> {
    let (loose, total) = (count(all), all.subnets.len());
    (loose > 0).then(|| format!("{} of {total} subnets attached", total - loose))
}

/// Puts the subnets without a known network into one box for each cloud.
pub(crate) fn gather(mut all: Topology) -> Topology {
    let mut boxes: BTreeMap<Home, Network> = BTreeMap::new();
    for subnet in all.subnets.values_mut().filter(|subnet| subnet.network.is_none()) {
        let home = subnet.head.home;
        let network = boxes.entry(home).or_insert_with(|| Network {
            head: Head {
                key: format!("{KEY}{home}"),
                name: "Subnets without a known network".to_owned(),
                home,
                change: Change::Keep,
                external: true,
            },
            ranges: Vec::new(),
            was: Vec::new(),
            complete: false,
            region: None,
            resolver: false,
            private_names: false,
        });
        subnet.network = Some(network.head.key.clone());
    }
    all.networks.extend(boxes.into_values().map(|network| (network.head.key.clone(), network)));
    all
}
