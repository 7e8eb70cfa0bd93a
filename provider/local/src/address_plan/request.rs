//! Converts attributes to a request for the solver.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tf_provider_rs::{Attr, Diagnostics, Number, Path};
use warren_cidr::{Cloud, Family, Growth, NetworkRequest, Request, SubnetRequest, Want, parse_cidr};

use super::model::{Map, Network, State};

/// The parsed attributes.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Errors in the attributes.
    pub(super) diagnostics: Diagnostics,
    /// The request; `None` if an attribute is invalid or unknown.
    pub(super) request: Option<Request>,
    /// Whether an attribute is unknown.
    pub(super) unknown: bool,
    /// Known excluded ranges.
    pub(super) excluded: Vec<(IpNet, Path)>,
    /// Known networks with a fixed range.
    pub(super) pinned: Vec<(IpNet, Path)>,
    /// Paths whose ranges may move.
    pub(super) acknowledged: Vec<String>,
}

/// Parses the attributes, ignoring unknown values.
pub(super) fn parse(state: &State) -> Parsed {
    let mut reader = Parsed::default();
    let pools = reader.ranges(&state.pools, &Path::of("pools"), false);
    let reserved = reader.ranges(&state.reserved, &Path::of("reserved"), true);
    let networks = reader.networks(&state.networks);
    reader.acknowledged = reader.texts(&state.acknowledge_renumbering, &Path::of("acknowledge_renumbering"));
    if !reader.unknown && !reader.diagnostics.has_error() {
        reader.request = Some(Request { pools, reserved, networks, previous: BTreeMap::new() });
    }
    reader
}

impl Parsed {
    fn entries<'a, T>(&mut self, map: &'a Map<T>, path: &Path) -> Vec<(&'a String, &'a T, Path)> {
        self.unknown |= map.is_unknown();
        let mut found = Vec::new();
        for (key, value) in map.known().into_iter().flatten() {
            let path = path.key(key);
            match value {
                Attr::Known(value) => found.push((key, value, path)),
                Attr::Unknown => self.unknown = true,
                Attr::Null => {
                    self.diagnostics.error_at(path, "Entry is null", "Set a value or remove the key.");
                }
            }
        }
        found
    }

    fn texts(&mut self, list: &Attr<Vec<Attr<String>>>, path: &Path) -> Vec<String> {
        self.unknown |= list.is_unknown();
        let mut found = Vec::new();
        for (index, text) in list.known().into_iter().flatten().enumerate() {
            match text {
                Attr::Known(text) => found.push(text.clone()),
                Attr::Unknown => self.unknown = true,
                Attr::Null => {
                    self.diagnostics.error_at(path.index(index), "Entry is null", "Remove the entry.");
                }
            }
        }
        found
    }

    fn ranges(
        &mut self,
        map: &Map<Vec<Attr<String>>>,
        path: &Path,
        excluded: bool,
    ) -> BTreeMap<String, Vec<IpNet>> {
        let mut found = BTreeMap::new();
        for (key, list, path) in self.entries(map, path) {
            let mut nets = Vec::new();
            for (index, text) in list.iter().enumerate() {
                let path = path.index(index);
                if text.is_null() {
                    self.diagnostics.error_at(path, "Entry is null", "Remove the entry.");
                } else if let Some(net) = self.cidr(text, &path) {
                    nets.push(net);
                    if excluded {
                        self.excluded.push((net, path));
                    }
                }
            }
            found.insert(key.clone(), nets);
        }
        found
    }

    fn networks(&mut self, map: &Map<Network>) -> BTreeMap<String, NetworkRequest> {
        let mut found = BTreeMap::new();
        for (key, network, path) in self.entries(map, &Path::of("networks")) {
            let want = self.want([&network.prefix, &network.hosts], &network.cidr, &path, &network.growth);
            let pools = self.pools(network, &path);
            let cloud = self.cloud(&network.cloud, &path.attribute("cloud"));
            let mut subnets = BTreeMap::new();
            for (key, subnet, path) in self.entries(&network.subnets, &path.attribute("subnets")) {
                let want = self.want([&subnet.prefix, &subnet.hosts], &subnet.cidr, &path, &subnet.growth);
                if let Some((want, growth)) = want {
                    subnets.insert(key.clone(), SubnetRequest { growth, ..SubnetRequest::new(want) });
                }
            }
            let Some((want, growth)) = want else { continue };
            if let Want::Pinned(net) = want {
                self.pinned.push((net, path.attribute("cidr")));
            }
            let request = NetworkRequest { pools, cloud, growth, subnets, ..NetworkRequest::new(&[], want) };
            found.insert(key.clone(), request);
        }
        found
    }

    fn pools(&mut self, network: &Network, path: &Path) -> Vec<String> {
        if !network.pool.is_null() && !network.pools.is_null() {
            self.diagnostics.error_at(
                path.attribute("pools"),
                "Both `pool` and `pools` are set",
                "Remove one of them. To use several pools, set `pools`.",
            );
        }
        self.unknown |= network.pool.is_unknown();
        let mut pools = self.texts(&network.pools, &path.attribute("pools"));
        pools.extend(network.pool.known().cloned());
        pools
    }

    fn want(
        &mut self,
        [prefix, hosts]: [&Attr<Number>; 2],
        cidr: &Attr<String>,
        path: &Path,
        growth: &Attr<Number>,
    ) -> Option<(Want, Growth)> {
        let unknown = cidr.is_unknown() || prefix.is_unknown() || hosts.is_unknown();
        self.unknown |= unknown;
        let set: Vec<&str> =
            [("cidr", cidr.is_known()), ("prefix", prefix.is_known()), ("hosts", hosts.is_known())]
                .into_iter()
                .filter_map(|(name, known)| known.then_some(name))
                .collect();
        match set.as_slice() {
            [] if !unknown => self.diagnostics.error_at(
                path.clone(),
                "No range and no size",
                "Set `cidr` for a fixed range, `prefix` for a block of a given length, or `hosts` for a block with \
                 room for that many hosts.",
            ),
            [_] | [] => {}
            several => self.diagnostics.error_at(
                path.attribute(several[1]),
                format!("Both `{}` and `{}` are set", several[0], several[1]),
                "Keep exactly one of `cidr`, `prefix` and `hosts`, and remove the others.",
            ),
        }
        let growth = self.growth(growth, &path.attribute("growth"));
        let pinned = self.cidr(cidr, &path.attribute("cidr")).map(Want::Pinned);
        let prefix = self
            .whole(prefix, &path.attribute("prefix"), 0, u64::from(Family::V6.bits()))
            .and_then(|prefix| u8::try_from(prefix).ok())
            .map(Want::Prefix);
        let hosts = self.whole(hosts, &path.attribute("hosts"), 1, u64::MAX).map(Want::Hosts);
        let want = pinned.or(prefix).or(hosts)?;
        (set.len() == 1 && !unknown).then_some((want, growth?))
    }

    fn cidr(&mut self, text: &Attr<String>, path: &Path) -> Option<IpNet> {
        self.unknown |= text.is_unknown();
        parse_cidr(text.known()?)
            .map_err(|error| {
                self.diagnostics.error_at(path.clone(), "Invalid range", sentence(&error.to_string()));
            })
            .ok()
    }

    fn whole(&mut self, number: &Attr<Number>, path: &Path, least: u64, most: u64) -> Option<u64> {
        let number = number.known()?;
        let found = number.to_u64().filter(|number| (least..=most).contains(number));
        if found.is_none() {
            let allowed = if most == u64::MAX {
                format!("of {least} or more")
            } else {
                format!("from {least} to {most}")
            };
            self.diagnostics.error_at(
                path.clone(),
                "Number out of range",
                format!("The value is {number}. Use a whole number {allowed}."),
            );
        }
        found
    }

    fn growth(&mut self, factor: &Attr<Number>, path: &Path) -> Option<Growth> {
        let factor = match factor {
            Attr::Null => return Some(Growth::NONE),
            Attr::Unknown => {
                self.unknown = true;
                return None;
            }
            Attr::Known(factor) => factor.to_f64().unwrap_or(f64::NAN),
        };
        Growth::new(factor)
            .map_err(|error| {
                self.diagnostics.error_at(
                    path.clone(),
                    "Growth factor out of range",
                    sentence(&error.to_string()),
                );
            })
            .ok()
    }

    fn cloud(&mut self, text: &Attr<String>, path: &Path) -> Option<Cloud> {
        self.unknown |= text.is_unknown();
        text.known()?
            .parse()
            .map_err(|error: warren_cidr::UnknownCloud| {
                self.diagnostics.error_at(path.clone(), "Unknown cloud", sentence(&error.to_string()));
            })
            .ok()
    }
}

/// With a full stop, unless it is a question.
fn sentence(text: &str) -> String {
    if text.ends_with('?') { text.to_owned() } else { format!("{text}.") }
}
