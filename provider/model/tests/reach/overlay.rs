//! Groups of peers: each packet of a peer is held against the allow-list, and what the list lets through is walked from
//! the gateway, with the gateway's address.

use crate::outside::{Draft, Filters, HTTPS, SERVICE, build, destination, drafts};
use crate::world::{INSIDE, World, head, holds, net};
use proptest::prelude::*;
use warren_model::reach::{Lists, Place, Way};
use warren_model::topology::*;

const GROUP: &str = "gpu";

/// (destinations, protocols)
type RuleDraft = (Vec<usize>, usize);

fn protocols(choice: usize) -> Vec<Protocol> {
    match choice % 5 {
        0 => vec![Protocol::Any],
        1 => vec![HTTPS],
        2 => vec![Protocol::Tcp(8000, 8100), Protocol::Tcp(22, 22)],
        3 => vec![Protocol::Udp(0, u16::MAX), Protocol::Other],
        _ => vec![Protocol::Tcp(0, u16::MAX)],
    }
}

fn served() -> Vec<Zones> {
    vec![Zones { domains: vec!["amazonaws.com".into()], resolvers: vec![[169, 254, 169, 253].into()] }]
}

/// Every host but the last is a gateway; gateways share a group whose list each has in its own way.
fn with_gateways(draft: &Draft, lists: &[Vec<RuleDraft>], pool: usize) -> Topology {
    let mut all = build(draft);
    let keys: Vec<String> = all.hosts.keys().cloned().collect();
    for (at, key) in keys.iter().enumerate().take(keys.len().saturating_sub(1)) {
        let name = format!("c{at}");
        let rules = lists[at % lists.len()].iter().map(|(to, choice)| Allow {
            to: to.iter().map(|choice| destination(*choice)).collect(),
            groups: Vec::new(),
            protocols: protocols(*choice),
            change: Change::Keep,
        });
        let group = PeerGroup { name: GROUP.into(), allow: rules.collect(), change: Change::Keep };
        let config = GatewayConfig {
            head: head(&name, Home::Aws),
            fabric: "f".into(),
            unread: None,
            // Some pools lie on what is there: peers are not reached under those addresses, nor is anything else.
            prefixes: vec![net(INSIDE + 4 * pool as u32, 30)],
            was: Vec::new(),
            groups: vec![group],
            // Some gateways answer the service's names for their peers, others leave them to public resolvers.
            names: if pool.is_multiple_of(2) { served() } else { Vec::new() },
            servers: Vec::new(),
            addresses: Vec::new(),
            name: String::new(),
            sites: Vec::new(),
        };
        all.configs.insert(name.clone(), config);
        if let Some(host) = all.hosts.get_mut(key) {
            host.config = Some(name);
        }
    }
    all
}

/// The packets that a question is about and that a rule allows, as the questions to ask of the gateway. Questions are
/// about one port, or anything.
fn packets(asked: Protocol, rule: &Allow) -> Vec<Protocol> {
    let both = |of: &Protocol| match (asked, *of) {
        (Protocol::Any, of) => Some(of),
        (asked, Protocol::Any) => Some(asked),
        (Protocol::Tcp(port, _), Protocol::Tcp(low, high)) if (low..=high).contains(&port) => Some(asked),
        _ => None,
    };
    rule.protocols.iter().filter_map(both).collect()
}

/// Which addresses are meant.
type Addresses<'a> = &'a dyn Fn(u32) -> bool;

/// What the gateway's list lets a peer send to, port by port.
fn reaches(all: &Topology, asked: Protocol, sent: &dyn Fn(&Place, Protocol, Addresses<'_>) -> bool) -> bool {
    all.hosts.values().any(|host| {
        let Some(config) = host.config.as_ref().map(|key| &all.configs[key]) else { return false };
        let from = Place::Host(host.head.key.clone());
        config.groups.iter().flat_map(|group| &group.allow).any(|rule| {
            let allowed = |to: u32| {
                rule.to.iter().any(|range| holds(*range, to))
                    && !config.prefixes.iter().any(|range| holds(*range, to))
            };
            packets(asked, rule).into_iter().any(|packet| sent(&from, packet, &allowed))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn answers_are_those_of_every_packet(
        draft in drafts(),
        lists in prop::collection::vec(prop::collection::vec((prop::collection::vec(0_usize..14, 1..3), 0_usize..5), 0..4), 1..3),
        pool in 0_usize..12,
    ) {
        let all = with_gateways(&draft, &lists, pool);
        let lists = Lists::new(&all);
        let world = World(&all, false);
        let filters = Filters(&world);
        let peers = Place::Peers { fabric: "f".into(), group: GROUP.into() };
        let subnets = all.subnets.keys().cloned().map(Place::Subnet);
        let places: Vec<Place> = subnets.chain(all.hosts.keys().cloned().map(Place::Host)).collect();
        for port in [HTTPS, Protocol::Tcp(22, 22), Protocol::Any] {
            for to in &places {
                let answer = lists.ask(&peers, to, port);
                let other = filters.side(to);
                let reached = reaches(&all, port, &|from, packet, allowed| {
                    filters.between_where(&filters.side(from), &other, packet, allowed)
                });
                prop_assert_eq!(answer.reached, reached, "{:?} to {:?}: {:?}", port, to, answer);
                let back = lists.ask(to, &peers, port);
                prop_assert!(!back.reached && !back.unsure(), "{:?}", back);
            }
            let answer = lists.ask(&peers, &Place::Internet, port);
            let reached = reaches(&all, port, &|from, packet, allowed| {
                filters.outbound_where(&filters.side(from), packet, allowed)
            });
            prop_assert_eq!(answer.reached, reached, "{:?} out: {:?}", port, answer);
        }
        prop_assert!(!lists.ask(&Place::Internet, &peers, Protocol::Any).reached);
        prop_assert!(!lists.ask(&peers, &peers, Protocol::Any).reached);
        let answer = lists.ask(&peers, &Place::Service(SERVICE.to_owned()), Protocol::Any);
        let resolved = all.configs.values().any(|config| !config.names.is_empty());
        let ways = |way: Way| {
            reaches(&all, HTTPS, &|from, packet, allowed| {
                filters.served(&filters.side(from), resolved, packet, allowed).contains(&way)
            })
        };
        let (endpoint, over_internet) = (ways(Way::Endpoint), ways(Way::Internet));
        prop_assert_eq!(answer.reached, endpoint || over_internet, "to the service: {:?}", answer);
        let way = if over_internet { Way::Internet } else { Way::Endpoint };
        prop_assert!(!answer.reached || answer.way == way, "{:?}", answer);
    }
}
