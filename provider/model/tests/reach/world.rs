//! A packet walk that shares nothing with the crate but its types: no classes of addresses, no sorted tables, and
//! packets that carry their source.

use std::net::{IpAddr, Ipv4Addr};
use warren_model::reach::nat_address;
use warren_model::topology::*;

pub(crate) fn head(key: &str, home: Home) -> Head {
    Head { key: key.into(), name: key.into(), home, change: Change::Keep, external: false }
}

pub(crate) fn net(base: u32, prefix: u8) -> ipnet::IpNet {
    ipnet::IpNet::V4(
        ipnet::Ipv4Net::new(Ipv4Addr::from(base), prefix).expect("a prefix of at most 32").trunc(),
    )
}

/// 10.0.0.0, where the networks are.
pub(crate) const INSIDE: u32 = 0x0a00_0000;
/// 198.51.100.0, whose first sixteen addresses are told apart.
pub(crate) const OUTSIDE: u32 = 0xc633_6400;

/// Addresses of the internet: those that routes and rules tell apart, and one that none of them names.
pub(crate) fn internet() -> impl Iterator<Item = u32> {
    (OUTSIDE..OUTSIDE + 16).chain([0x0808_0808])
}

pub(crate) fn holds(range: ipnet::IpNet, address: u32) -> bool {
    let ipnet::IpNet::V4(range) = range else { return false };
    let shift = 32 - u32::from(range.prefix_len());
    shift == 32 || u32::from(range.network()) >> shift == address >> shift
}

pub(crate) fn addresses(subnet: &Subnet) -> Vec<u32> {
    let ranges = subnet.ranges.iter().map(|range| match range {
        ipnet::IpNet::V4(range) => u32::from(range.network())..=u32::from(range.broadcast()),
        ipnet::IpNet::V6(_) => panic!("IPv4 only"),
    });
    ranges.flatten().collect()
}

/// A packet's fate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fate {
    In(String),
    Out,
    /// In a gateway endpoint.
    Served,
    Lost,
}

/// NAT on the way: its subnet, the address it answers for, and whom it stands for.
pub(crate) type Nats = Vec<(String, u32, u32)>;

/// The topology, and whether packets go to the public addresses of the service, which prefix lists contain.
pub(crate) struct World<'a>(pub(crate) &'a Topology, pub(crate) bool);

impl World<'_> {
    /// Follows a packet; NAT rewrites its source and notes the old one. Gives the source at the end, too.
    pub(crate) fn send(&self, at: &str, source: u32, public: bool, to: u32, nats: &mut Nats) -> (Fate, u32) {
        let (mut at, mut source, mut public) = (at.to_owned(), source, public);
        for _ in 0..16 {
            let network = self.0.subnets[&at].network.clone().expect("it is set");
            let mut best: Option<(u8, &Target)> = None;
            let tables = self.0.tables.values().filter(|table| {
                table.subnets.contains(&at) || (table.main && table.network.as_ref() == Some(&network))
            });
            for table in tables {
                for route in &table.routes {
                    // The prefixes of a list are longer than those of other routes.
                    if let (Destination::List(_), Target::Endpoint(key), true) =
                        (&route.destination, &route.target, self.1)
                    {
                        let own = self.0.endpoints[key].network.as_ref() == Some(&network);
                        return (if own { Fate::Served } else { Fate::Lost }, source);
                    }
                    let Destination::Range(range) = route.destination else { continue };
                    if holds(range, to) && best.is_none_or(|(prefix, _)| range.prefix_len() > prefix) {
                        best = Some((range.prefix_len(), &route.target));
                    }
                }
            }
            if let Some(local) = self.local(&network, to)
                && best.is_none_or(|(prefix, _)| prefix <= local)
            {
                return (self.inside(&network, to), source);
            }
            let Some((_, target)) = best else { return (Fate::Lost, source) };
            match target {
                Target::Peering(key) => {
                    let peering = &self.0.peerings[key];
                    let sides =
                        [&peering.left, &peering.right].map(|side| side.as_deref().expect("it is set"));
                    let far = match sides.iter().position(|side| *side == network) {
                        Some(near) => sides[1 - near],
                        None => return (Fate::Lost, source),
                    };
                    return (self.inside(far, to), source);
                }
                Target::Gateway(key) if self.0.gateways[key].kind == GatewayKind::Transit => {
                    let on = |name: &String| {
                        self.0.attachments.values().any(|it| it.network.as_ref() == Some(name))
                    };
                    // Networks lie apart: at most one holds the address.
                    let far = self.0.networks.values().find(|it| on(&it.head.key) && holds(it.ranges[0], to));
                    return match far.filter(|_| on(&network)) {
                        Some(far) => (self.inside(&far.head.key, to), source),
                        None => (Fate::Lost, source),
                    };
                }
                Target::Gateway(key) => {
                    let gateway = &self.0.gateways[key];
                    if gateway.network.as_ref() != Some(&network) {
                        return (Fate::Lost, source);
                    }
                    if gateway.kind == GatewayKind::Internet {
                        let translated = || {
                            self.0.gateways.values().any(|nat| {
                                nat.head.home == Home::Google
                                    && nat.kind == GatewayKind::Nat
                                    && nat.network.as_ref() == Some(&network)
                                    && nat.serves.as_ref().is_none_or(|serves| serves.contains(&at))
                            })
                        };
                        let leaves = to >> 24 != 10 && (public || translated());
                        if leaves && !public {
                            nats.push((at.clone(), 0, source));
                        }
                        return (if leaves { Fate::Out } else { Fate::Lost }, source);
                    }
                    let home = gateway.subnet.clone().expect("it is set");
                    if nats.iter().any(|(nat, ..)| *nat == home) {
                        return (Fate::Lost, source);
                    }
                    let Some(IpAddr::V4(own)) = nat_address(&self.0.subnets[&home]) else {
                        panic!("IPv4 only")
                    };
                    nats.push((home.clone(), u32::from(own), source));
                    (source, at, public) = (u32::from(own), home, gateway.kind == GatewayKind::Nat);
                }
                _ => return (Fate::Lost, source),
            }
        }
        (Fate::Lost, source)
    }

    /// Prefix length of the network's own range that holds an address.
    fn local(&self, network: &str, to: u32) -> Option<u8> {
        let own = self.0.networks[network].ranges.iter();
        let google = self.0.networks[network].head.home == Home::Google;
        let subnets = self.0.subnets.values();
        let inner = subnets.filter(|it| google && it.network.as_deref() == Some(network));
        own.chain(inner.flat_map(|it| &it.ranges))
            .filter(|range| holds(**range, to))
            .map(ipnet::IpNet::prefix_len)
            .max()
    }

    fn inside(&self, network: &str, to: u32) -> Fate {
        let mut subnets = self.0.subnets.values();
        let found = subnets.find(|it| {
            it.network.as_deref() == Some(network) && it.ranges.iter().any(|range| holds(*range, to))
        });
        found.map_or(Fate::Lost, |subnet| Fate::In(subnet.head.key.clone()))
    }

    /// A packet there and its answer back; gives the source that the receiver saw.
    pub(crate) fn round_trip(&self, a: &str, from: u32, public: bool, b: &str, to: u32) -> Option<u32> {
        let mut nats = Vec::new();
        let (fate, seen) = self.send(a, from, public, to, &mut nats);
        let arrived = fate == Fate::In(b.to_owned());
        (arrived && self.answer(b, to, seen, &nats, a)).then_some(seen)
    }

    /// Whether an answer from `source` in `at` gets to the last NAT, from there to the one before, at last to the
    /// sender.
    fn answer(&self, at: &str, source: u32, goal: u32, nats: &Nats, sender: &str) -> bool {
        let (mut at, mut source, mut goal) = (at.to_owned(), source, goal);
        for (home, own, old) in nats.iter().rev() {
            if goal != *own || !self.arrives(&at, source, goal, home) {
                return false;
            }
            (at, source, goal) = (home.clone(), *own, *old);
        }
        self.arrives(&at, source, goal, sender)
    }

    fn arrives(&self, at: &str, source: u32, to: u32, wanted: &str) -> bool {
        // Answers go to hosts, whose addresses no prefix list contains.
        let inside = World(self.0, false);
        let mut nats = Vec::new();
        let fate = inside.send(at, source, false, to, &mut nats).0;
        // A NAT drops answers to connections that were not opened through it.
        fate == Fate::In(wanted.to_owned()) && nats.is_empty()
    }

    /// A packet to the internet, and its answer from the last NAT back to the sender.
    pub(crate) fn goes_out(&self, a: &str, from: u32, public: bool, to: u32) -> bool {
        self.ends(a, from, public, to) == Some(Fate::Out)
    }

    /// Where a packet to the internet ends, if its answer gets back.
    pub(crate) fn ends(&self, a: &str, from: u32, public: bool, to: u32) -> Option<Fate> {
        let mut nats = Vec::new();
        let fate = self.send(a, from, public, to, &mut nats).0;
        if !matches!(fate, Fate::Out | Fate::Served) {
            return None;
        }
        let answered = match nats.pop() {
            // Google's NAT stands outside of the network and gives answers to the sender itself.
            Some((_, 0, _)) | None => true,
            Some((home, own, old)) => self.answer(&home, own, old, &nats, a),
        };
        answered.then_some(fate)
    }

    /// A packet from the internet to a public address, and its answer out, by no NAT.
    pub(crate) fn comes_in(&self, b: &str, to: u32, from: u32) -> bool {
        let mut nats = Vec::new();
        self.send(b, to, true, from, &mut nats).0 == Fate::Out && nats.is_empty()
    }
}
