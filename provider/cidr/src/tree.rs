//! The request as a tree: every node has a size or a fixed range.

use crate::{
    Cloud, Family, Growth, IpNet, NetworkRequest, PrefixRange, Problem, SEPARATOR, Severity, SubnetRequest,
    Want,
};
use std::collections::BTreeMap;

/// A network or subnet.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) path: String,
    pub(crate) family: Family,
    pub(crate) cloud: Option<Cloud>,
    /// Its prefix length.
    pub(crate) prefix: u8,
    /// Whether an earlier, larger block may stay: the size came from a number of hosts.
    pub(crate) at_least: bool,
    /// Its range, if the request pins it or one of its subnets.
    pub(crate) pinned: Option<IpNet>,
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Binary logarithm of its size.
    pub(crate) fn order(&self) -> u8 {
        self.family.bits() - self.prefix
    }
}

/// Reads a network. Returns `None` and adds to `problems` if it has any.
pub(crate) fn network(
    key: &str,
    request: &NetworkRequest,
    family: Family,
    problems: &mut Vec<Problem>,
) -> Option<Node> {
    let spec = Spec {
        want: request.want,
        growth: request.growth,
        cloud: request.cloud,
        subnets: &request.subnets,
        network: true,
    };
    node(key.to_owned(), &spec, family, problems)
}

struct Spec<'a> {
    want: Want,
    growth: Growth,
    cloud: Option<Cloud>,
    subnets: &'a BTreeMap<String, SubnetRequest>,
    network: bool,
}

fn node(path: String, spec: &Spec<'_>, family: Family, problems: &mut Vec<Problem>) -> Option<Node> {
    let before = problems.len();
    let mut children = Vec::new();
    for (key, subnet) in spec.subnets {
        if !good_key(key, problems) {
            continue;
        }
        let spec = Spec {
            want: subnet.want,
            growth: subnet.growth,
            cloud: spec.cloud,
            subnets: &subnet.subnets,
            network: false,
        };
        children.extend(node(format!("{path}{SEPARATOR}{key}"), &spec, family, problems));
    }
    let sizes = sizes(spec, family);
    let bad = |why: String| Problem::BadSize { path: path.clone(), want: spec.want, why };
    let (prefix, pinned) = match spec.want {
        Want::Pinned(net) => {
            if net != net.trunc() {
                problems.push(Problem::HostBits { path: path.clone(), meant: net.trunc() });
            }
            if let Some(cloud) = spec.cloud {
                let found = if spec.network { cloud.check_network(&net) } else { cloud.check_subnet(&net) };
                problems.extend(
                    found
                        .into_iter()
                        .filter(|finding| finding.severity == Severity::Error)
                        .map(|finding| Problem::Rule { path: path.clone(), finding }),
                );
            }
            (net.prefix_len(), Some(net.trunc()))
        }
        Want::Prefix(prefix) if !sizes.holds(prefix) => {
            problems.push(bad(limit(spec, sizes, family)));
            (prefix, None)
        }
        Want::Prefix(prefix) => match surround(&children, prefix, prefix, family) {
            Ok(pinned) => (prefix, pinned),
            Err(net) => {
                problems.push(Problem::PinnedOutside {
                    path: child_at(&children, &net),
                    net,
                    container: format!(
                        "network {path} (any /{prefix} that contains its other pinned subnets)"
                    ),
                    blocks: Vec::new(),
                    hint: None,
                });
                (prefix, None)
            }
        },
        Want::Hosts(hosts) => {
            let kept = spec.cloud.map_or(0, |cloud| cloud.kept_addresses(family));
            let demand = spec.growth.apply(hosts).saturating_add(kept).max(1);
            let subnets = children.iter().fold(0u128, |sum, child| {
                sum.saturating_add(1u128.checked_shl(child.order().into()).unwrap_or(u128::MAX))
            });
            let order = ceil_log2(demand.max(subnets));
            let mut prefix = family.bits().checked_sub(order).map(|prefix| prefix.min(sizes.longest));
            while prefix.is_some_and(|prefix| !sizes.holds(prefix)) {
                prefix = prefix
                    .and_then(|prefix| prefix.checked_sub(1))
                    .filter(|&prefix| prefix >= sizes.shortest);
            }
            let shortest = (0..=prefix.unwrap_or(0)).find(|&prefix| sizes.holds(prefix)).unwrap_or(0);
            match prefix.map(|prefix| surround(&children, prefix, shortest, family)) {
                Some(Ok(Some(net))) if sizes.holds(net.prefix_len()) => (net.prefix_len(), Some(net)),
                Some(Ok(None)) => (prefix.unwrap_or(0), None),
                _ => {
                    let exact = family.bits().saturating_sub(order);
                    problems.push(bad(format!(
                        "This requires a /{exact}, including its subnets, but {}",
                        limit(spec, sizes, family)
                    )));
                    (exact, None)
                }
            }
        }
    };
    (problems.len() == before).then_some(Node {
        path,
        family,
        cloud: spec.cloud,
        prefix,
        at_least: matches!(spec.want, Want::Hosts(_)),
        pinned,
        children,
    })
}

/// Whether a key can be part of a path.
pub(crate) fn good_key(key: &str, problems: &mut Vec<Problem>) -> bool {
    let good = !key.is_empty() && !key.contains(SEPARATOR);
    if !good {
        problems.push(Problem::BadKey { key: key.to_owned() });
    }
    good
}

/// The block of `prefix` (or of a shorter one, down to `shortest`) that contains every pinned child and has enough
/// free space for the others. `None` if no child is pinned. The error is the child that does not fit into any such block.
fn surround(children: &[Node], prefix: u8, shortest: u8, family: Family) -> Result<Option<IpNet>, IpNet> {
    let pins: Vec<IpNet> = children.iter().filter_map(|child| child.pinned).collect();
    let Some(first) = pins.first() else { return Ok(None) };
    let mut outside = *first;
    for prefix in (shortest..=prefix).rev() {
        let Ok(block) = IpNet::new(first.addr(), prefix).map(|net| net.trunc()) else { continue };
        match pins.iter().find(|pin| !block.contains(*pin)) {
            Some(pin) => outside = *pin,
            None if prefix > shortest && !holds(&block, children, family) => {}
            None => return Ok(Some(block)),
        }
    }
    Err(outside)
}

/// Whether the block has room for the children that are not pinned.
fn holds(block: &IpNet, children: &[Node], family: Family) -> bool {
    let pins: Vec<IpNet> = children.iter().filter_map(|child| child.pinned).collect();
    let mut orders: Vec<u8> =
        children.iter().filter(|child| child.pinned.is_none()).map(Node::order).collect();
    orders.sort_unstable_by(|a, b| b.cmp(a));
    let free: Vec<(u128, u128)> = crate::subtract(&[*block], &pins).iter().map(crate::bits::span).collect();
    debug_assert!(Family::of(block) == family, "children have the family of their network");
    crate::buddy::buddy(&free, &orders).is_ok()
}

fn child_at(children: &[Node], net: &IpNet) -> String {
    children
        .iter()
        .find(|child| child.pinned.as_ref() == Some(net))
        .map_or_else(String::new, |child| child.path.clone())
}

fn sizes(spec: &Spec<'_>, family: Family) -> PrefixRange {
    match spec.cloud {
        Some(cloud) if spec.network => cloud.network_prefixes(family),
        Some(cloud) => cloud.subnet_prefixes(family),
        None => PrefixRange { shortest: 0, longest: family.bits(), step: 1 },
    }
}

fn limit(spec: &Spec<'_>, sizes: PrefixRange, family: Family) -> String {
    match spec.cloud {
        Some(Cloud::Aws) => {
            format!("AWS allows {sizes} for {}", if spec.network { "a VPC" } else { "a subnet" })
        }
        Some(Cloud::Gcp) => {
            format!("Google Cloud allows {sizes} for {}", if spec.network { "a network" } else { "a subnet" })
        }
        Some(Cloud::Overlay) | None => {
            format!("{} allows {sizes}", if family == Family::V4 { "IPv4" } else { "IPv6" })
        }
    }
}

/// The smallest `k` with `2^k >= count`.
fn ceil_log2(count: u128) -> u8 {
    if count <= 1 { 0 } else { (128 - (count - 1).leading_zeros()) as u8 }
}
