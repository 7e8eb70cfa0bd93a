//! Subnets to subnets: routes, peerings, transit gateways and private NAT.

use crate::world::{World, addresses};
use proptest::prelude::*;
use std::collections::BTreeMap;
use warren_model::reach::{Lists, Place};
use warren_model::topology::*;

fn head(key: &str) -> Head {
    crate::world::head(key, Home::Aws)
}

fn net(base: u32, prefix: u8) -> ipnet::IpNet {
    crate::world::net(crate::world::INSIDE + base, prefix)
}

/// Whether any address of `a` gets a packet to any address of `b`, and the answer back.
fn reaches(world: &World<'_>, a: &str, b: &str) -> bool {
    addresses(&world.0.subnets[a]).into_iter().any(|from| {
        let mut targets = addresses(&world.0.subnets[b]).into_iter();
        targets.any(|to| world.round_trip(a, from, false, b, to).is_some())
    })
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
        let network = Network {
            head: head(&name),
            ranges,
            was: vec![],
            complete: true,
            region: None,
            resolver: true,
            private_names: true,
        };
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
            let subnet = Subnet {
                head: head(&key),
                network,
                ranges,
                was: vec![],
                named: Vec::new(),
                zone: None,
                public: false,
            };
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
        let routes = routes
            .into_iter()
            .map(|(range, target)| Route::new(Destination::Range(range), target, Change::Keep));
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
        let world = World(&all, false);
        for a in all.subnets.keys() {
            for b in all.subnets.keys().filter(|b| *b != a) {
                let answer = lists.ask(&Place::Subnet(a.clone()), &Place::Subnet(b.clone()), Protocol::Any);
                prop_assert_eq!(answer.reached, reaches(&world, a, b), "{} to {}: {:?}", a, b, answer);
                prop_assert_eq!(answer.reached, answer.why.is_none());
            }
        }
    }
}

#[test]
fn names_do_not_make_an_answer_uncertain() {
    let mut all = build(1, &vec![Vec::new(); 3], &[], &[false], &[true; 3]);
    all.tables.clear();
    let subnet = all.subnets.get_mut("n0s0").expect("it was built");
    subnet.head.name = "known only after apply".to_owned();
    let answer = Lists::new(&all).ask(&Place::Subnet("n0s0".to_owned()), &Place::Internet, Protocol::Any);
    assert_eq!(
        answer.why.as_ref().map(ToString::to_string).as_deref(),
        Some("the plan contains no route table for subnet known only after apply")
    );
    assert!(!answer.reached && !answer.unsure());
}
