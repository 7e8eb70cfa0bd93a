//! Ranges in address order.

use std::collections::BTreeMap;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Values by range. CIDR blocks nest or are disjoint, so the ranges that overlap a block are its supernets (one entry
/// per prefix length) and the ranges inside it (neighbours in address order). A lookup costs O(log n + found).
#[derive(Clone, Debug)]
pub(crate) struct Index<T> {
    ranges: BTreeMap<Place, (IpNet, Vec<T>)>,
    /// Number of entries for each family and prefix length, so that absent lengths are not looked up.
    lengths: BTreeMap<(bool, u8), usize>,
}

/// Whether it is IPv6, first address and prefix length. Supernets sort before the ranges inside them.
type Place = (bool, u128, u8);

impl<T> Default for Index<T> {
    fn default() -> Self {
        Index { ranges: BTreeMap::new(), lengths: BTreeMap::new() }
    }
}

impl<T: PartialEq> Index<T> {
    pub(crate) fn insert(&mut self, net: IpNet, value: T) {
        let place = place(&net);
        let (_, values) = self.ranges.entry(place).or_insert_with(|| {
            *self.lengths.entry((place.0, place.2)).or_default() += 1;
            (net.trunc(), Vec::new())
        });
        values.push(value);
    }

    pub(crate) fn remove(&mut self, net: &IpNet, value: &T) {
        let place = place(net);
        let Some((_, values)) = self.ranges.get_mut(&place) else { return };
        values.retain(|kept| kept != value);
        if values.is_empty() {
            self.ranges.remove(&place);
            if let Some(count) = self.lengths.get_mut(&(place.0, place.2)) {
                *count -= 1;
                if *count == 0 {
                    self.lengths.remove(&(place.0, place.2));
                }
            }
        }
    }

    /// Values whose range contains or equals `net`, largest range first.
    pub(crate) fn containing(&self, net: &IpNet) -> impl Iterator<Item = (IpNet, &T)> {
        let (v6, start, prefix) = place(net);
        self.lengths
            .range((v6, 0)..=(v6, prefix))
            .filter_map(move |((_, length), _)| {
                let mask = if *length == 0 { 0 } else { u128::MAX << (bits(v6) - u32::from(*length)) };
                self.ranges.get(&(v6, start & mask, *length))
            })
            .flat_map(|(net, values)| values.iter().map(|value| (*net, value)))
    }

    /// Values whose range overlaps `net`: first ranges that contain or equal it, then ranges inside it, in address
    /// order.
    pub(crate) fn overlapping(&self, net: &IpNet) -> impl Iterator<Item = (IpNet, &T)> {
        let (v6, start, prefix) = place(net);
        let hosts = bits(v6) - u32::from(prefix);
        let last = if hosts >= 128 { u128::MAX } else { start | ((1 << hosts) - 1) };
        let inside = self
            .ranges
            .range((v6, start, prefix + 1)..=(v6, last, u8::MAX))
            .flat_map(|(_, (net, values))| values.iter().map(|value| (*net, value)));
        self.containing(net).chain(inside)
    }

    /// Every value with its range, in address order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (IpNet, &T)> {
        self.ranges.values().flat_map(|(net, values)| values.iter().map(|value| (*net, value)))
    }
}

fn bits(v6: bool) -> u32 {
    if v6 { 128 } else { 32 }
}

fn place(net: &IpNet) -> Place {
    match net {
        IpNet::V4(net) => v4(net),
        IpNet::V6(net) => v6(net),
    }
}

fn v4(net: &Ipv4Net) -> Place {
    (false, u128::from(net.network().to_bits()), net.prefix_len())
}

fn v6(net: &Ipv6Net) -> Place {
    (true, net.network().to_bits(), net.prefix_len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn found(index: &Index<u32>, text: &str) -> Vec<u32> {
        index.overlapping(&net(text)).map(|(_, value)| *value).collect()
    }

    #[test]
    fn agrees_with_comparing_every_pair() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut index = Index::default();
        let mut all: Vec<(IpNet, u32)> = Vec::new();
        for value in 0..400 {
            let prefix = 16 + random(17);
            let text = format!("10.0.{}.{}/{prefix}", random(8), random(256));
            let net = net(&text).trunc();
            index.insert(net, value);
            all.push((net, value));
            if value % 3 == 0 {
                let (net, gone) = all.swap_remove(usize::try_from(random(all.len() as u64)).unwrap());
                index.remove(&net, &gone);
            }
            let probe = self::net(&format!("10.0.{}.{}/{}", random(8), random(256), 16 + random(17))).trunc();
            let mut expected: Vec<u32> = all
                .iter()
                .filter(|(net, _)| net.contains(&probe) || probe.contains(net))
                .map(|(_, value)| *value)
                .collect();
            let mut got: Vec<u32> = index.overlapping(&probe).map(|(_, value)| *value).collect();
            expected.sort_unstable();
            got.sort_unstable();
            assert_eq!(got, expected, "{probe}");
        }
        assert_eq!(index.iter().count(), all.len());
    }

    #[test]
    fn whole_spaces_and_single_addresses_and_families() {
        let mut index = Index::default();
        for (value, text) in ["0.0.0.0/0", "10.1.2.3/32", "::/0", "fd00::1/128"].iter().enumerate() {
            index.insert(net(text), u32::try_from(value).unwrap());
        }
        assert_eq!(found(&index, "0.0.0.0/0"), [0, 1]);
        assert_eq!(found(&index, "10.1.2.3/32"), [0, 1]);
        assert_eq!(found(&index, "10.1.2.4/32"), [0]);
        assert_eq!(found(&index, "::/0"), [2, 3]);
        assert_eq!(found(&index, "fd00::/8"), [2, 3]);
        index.remove(&net("::/0"), &2);
        assert_eq!(found(&index, "fd00::1/128"), [3]);
    }
}
