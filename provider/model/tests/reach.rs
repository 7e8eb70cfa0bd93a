//! The answers equal those of a brute-force packet walk: every address of the one subnet to every address of the other.
//!
//! The walk below shares nothing with the crate but its types: no classes of addresses, no sorted tables, and packets
//! that carry their source.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use warren_model::reach::{Lists, Place, nat_address};
use warren_model::topology::*;

fn head(key: &str) -> Head {
    Head { key: key.into(), name: key.into(), home: Home::Aws, change: Change::Keep, external: false }
}

fn net(base: u32, prefix: u8) -> ipnet::IpNet {
    ipnet::IpNet::V4(
        ipnet::Ipv4Net::new(Ipv4Addr::from(0x0a00_0000 + base), prefix).expect("it is set").trunc(),
    )
}

/// A packet's fate.
#[derive(Debug, Clone, PartialEq)]
enum Fate {
    In(String),
    Lost,
}

struct World<'a>(&'a Topology);

impl World<'_> {
    /// Follows a packet; NAT rewrites its source and notes the old one.
    fn send(&self, at: &str, source: u32, to: u32, nats: &mut Vec<(String, u32, u32)>) -> (Fate, u32) {
        let (mut at, mut source) = (at.to_owned(), source);
        for _ in 0..16 {
            let network = self.0.subnets[&at].network.clone().expect("it is set");
            let mut best: Option<(u8, &Target)> = None;
            for table in self.0.tables.values().filter(|table| table.subnets.contains(&at)) {
                for route in &table.routes {
                    let Destination::Range(range) = route.destination else { continue };
                    if holds(range, to) && best.is_none_or(|(prefix, _)| range.prefix_len() > prefix) {
                        best = Some((range.prefix_len(), &route.target));
                    }
                }
            }
            let local = self.0.networks[&network].ranges.iter().find(|range| holds(**range, to));
            if let Some(local) = local
                && best.is_none_or(|(prefix, _)| prefix <= local.prefix_len())
            {
                return (self.inside(&network, to), source);
            }
            match best {
                Some((_, Target::Peering(key))) => {
                    let peering = &self.0.peerings[key];
                    let (left, right) = (
                        peering.left.as_ref().expect("it is set"),
                        peering.right.as_ref().expect("it is set"),
                    );
                    let far = match () {
                        () if *left == network => right,
                        () if *right == network => left,
                        () => return (Fate::Lost, source),
                    };
                    return (self.inside(far, to), source);
                }
                Some((_, Target::Gateway(key))) if key == "tgw" => {
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
                Some((_, Target::Gateway(key))) => {
                    let gateway = &self.0.gateways[key];
                    let home = gateway.subnet.clone().expect("it is set");
                    if gateway.network.as_ref() != Some(&network) || nats.iter().any(|(nat, ..)| *nat == home)
                    {
                        return (Fate::Lost, source);
                    }
                    let Some(IpAddr::V4(own)) = nat_address(&self.0.subnets[&home]) else {
                        panic!("IPv4 only")
                    };
                    nats.push((home.clone(), u32::from(own), source));
                    (source, at) = (u32::from(own), home);
                }
                _ => return (Fate::Lost, source),
            }
        }
        (Fate::Lost, source)
    }

    fn inside(&self, network: &str, to: u32) -> Fate {
        let mut subnets = self.0.subnets.values();
        let found = subnets.find(|it| {
            it.network.as_deref() == Some(network) && it.ranges.iter().any(|range| holds(*range, to))
        });
        found.map_or(Fate::Lost, |subnet| Fate::In(subnet.head.key.clone()))
    }

    /// Whether any address of `a` gets a packet to any address of `b`, and the answer back.
    fn reaches(&self, a: &str, b: &str) -> bool {
        addresses(&self.0.subnets[a])
            .into_iter()
            .any(|from| addresses(&self.0.subnets[b]).into_iter().any(|to| self.round_trip(a, from, b, to)))
    }

    fn round_trip(&self, a: &str, from: u32, b: &str, to: u32) -> bool {
        let mut nats = Vec::new();
        let (fate, seen) = self.send(a, from, to, &mut nats);
        if fate != Fate::In(b.to_owned()) {
            return false;
        }
        // The answer goes to the last NAT, from there to the one before, at last to the sender.
        let (mut at, mut source, mut goal) = (b.to_owned(), to, seen);
        for (home, own, old) in nats.iter().rev() {
            if goal != *own || self.send(&at, source, goal, &mut Vec::new()).0 != Fate::In(home.clone()) {
                return false;
            }
            (at, source, goal) = (home.clone(), *own, *old);
        }
        self.send(&at, source, goal, &mut Vec::new()).0 == Fate::In(a.to_owned())
    }
}

fn holds(range: ipnet::IpNet, address: u32) -> bool {
    let ipnet::IpNet::V4(range) = range else { return false };
    let shift = 32 - u32::from(range.prefix_len());
    shift == 32 || u32::from(range.network()) >> shift == address >> shift
}

fn addresses(subnet: &Subnet) -> Vec<u32> {
    let ranges = subnet.ranges.iter().map(|range| match range {
        ipnet::IpNet::V4(range) => u32::from(range.network())..=u32::from(range.broadcast()),
        ipnet::IpNet::V6(_) => panic!("IPv4 only"),
    });
    ranges.flatten().collect()
}

fn gateway(key: &str, kind: GatewayKind, network: Option<&str>, subnet: Option<&str>) -> Gateway {
    let (network, subnet) = (network.map(str::to_owned), subnet.map(str::to_owned));
    Gateway { head: head(key), kind, network, subnet, serves: None, associates: true, propagates: true }
}

type Routes = Vec<(u32, u8, usize)>;

/// Up to four networks of 32 addresses with up to three subnets of 8 each, every subnet with a table of its own.
fn build(
    count: usize,
    tables: &[Routes],
    peerings: &[(usize, usize)],
    attached: &[bool],
    present: &[bool],
) -> Topology {
    let mut all = Topology::default();
    all.gateways.insert("tgw".into(), gateway("tgw", GatewayKind::Transit, None, None));
    for at in 0..count {
        let name = format!("n{at}");
        let base = u32::try_from(at).expect("it is set") * 32;
        let ranges = vec![net(base, 27)];
        let network = Network { head: head(&name), ranges, was: vec![], complete: true, region: None };
        all.networks.insert(name.clone(), network);
        if attached[at] {
            let (gateway, network) = (Some("tgw".to_owned()), Some(name.clone()));
            let key = format!("a{at}");
            let subnets = Vec::new();
            let attachment = Attachment {
                head: head(&key),
                gateway,
                network,
                subnets,
                associates: true,
                propagates: true,
            };
            all.attachments.insert(key, attachment);
        }
        for part in (0..3_u32).filter(|part| *part == 0 || present[at * 3 + *part as usize]) {
            let key = format!("{name}s{part}");
            let (network, ranges) = (Some(name.clone()), vec![net(base + part * 8, 29)]);
            let subnet = Subnet { head: head(&key), network, ranges, was: vec![], zone: None, public: false };
            all.subnets.insert(key, subnet);
        }
        let nat = format!("nat{at}");
        let home = format!("{name}s0");
        all.gateways.insert(nat.clone(), gateway(&nat, GatewayKind::PrivateNat, Some(&name), Some(&home)));
    }
    for (at, (left, right)) in
        peerings.iter().enumerate().filter(|(_, (left, right))| left % count != right % count)
    {
        let key = format!("p{at}");
        let side = |at: usize| Some(format!("n{}", at % count));
        all.peerings
            .insert(key.clone(), Peering { head: head(&key), left: side(*left), right: side(*right) });
    }
    let peers: Vec<String> = all.peerings.keys().cloned().collect();
    let subnets: Vec<Subnet> = all.subnets.values().cloned().collect();
    for (at, subnet) in subnets.into_iter().enumerate() {
        let network = subnet.network.expect("it is set");
        let mut routes: BTreeMap<ipnet::IpNet, Target> = BTreeMap::new();
        for &(base, prefix, target) in &tables[at] {
            let target = match target {
                0 | 1 => Target::Gateway("tgw".into()),
                2 => Target::Gateway(format!("nat{}", &network[1..])),
                3 | 4 if !peers.is_empty() => Target::Peering(peers[base as usize % peers.len()].clone()),
                3 | 4 => Target::Other("eni-1".into()),
                _ => Target::Nowhere,
            };
            routes.insert(net(base * 8, prefix), target);
        }
        // Something that reaches far, so that paths are common.
        if at % 2 == 0 {
            routes.entry(net(0, 24)).or_insert(Target::Gateway("tgw".into()));
        }
        let key = format!("t-{}", subnet.head.key);
        let routes = routes.into_iter().map(|(range, target)| Route {
            destination: Destination::Range(range),
            target,
            change: Change::Keep,
        });
        let (subnets, routes) = (vec![subnet.head.key], routes.collect());
        let table = RouteTable { head: head(&key), network: Some(network), main: false, subnets, routes };
        all.tables.insert(key, table);
    }
    all
}

fn topologies() -> impl Strategy<Value = Topology> {
    let tables = prop::collection::vec(prop::collection::vec((0_u32..16, 25_u8..=32, 0_usize..6), 0..5), 12);
    let peerings = prop::collection::vec((0_usize..4, 0_usize..4), 0..4);
    let flags = |count| prop::collection::vec(any::<bool>(), count);
    (2_usize..5, tables, peerings, flags(4), flags(12)).prop_map(
        |(count, tables, peerings, attached, present)| build(count, &tables, &peerings, &attached, &present),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn answers_are_those_of_every_packet(all in topologies()) {
        let lists = Lists::new(&all);
        let world = World(&all);
        for a in all.subnets.keys() {
            for b in all.subnets.keys().filter(|b| *b != a) {
                let answer = lists.ask(&Place::Subnet(a.clone()), &Place::Subnet(b.clone()), Protocol::Any);
                prop_assert_eq!(answer.reached, world.reaches(a, b), "{} to {}: {:?}", a, b, answer);
                prop_assert_eq!(answer.reached, answer.why.is_none());
            }
        }
    }
}
