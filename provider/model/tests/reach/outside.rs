//! Instances, the internet and endpoints: public addresses, internet gateways, NAT, security groups.
//!
//! An instance is somewhere in its subnet: it reaches what it reaches from any address there.

use crate::world::{Fate, INSIDE, OUTSIDE, World, addresses, head, holds, internet, net};
use proptest::prelude::*;
use std::collections::BTreeMap;
use warren_model::reach::{Lists, Place, Way};
use warren_model::topology::*;

pub(crate) const SERVICE: &str = "s3";
pub(crate) const HTTPS: Protocol = Protocol::Tcp(443, 443);

/// An end of a connection inside.
pub(crate) struct Side<'a> {
    pub(crate) subnet: &'a Subnet,
    pub(crate) public: bool,
    /// `None`: nothing filters.
    groups: Option<&'a [String]>,
}

pub(crate) struct Filters<'a>(pub(crate) &'a World<'a>);

impl Filters<'_> {
    pub(crate) fn side(&self, place: &Place) -> Side<'_> {
        let all = self.0.0;
        match place {
            Place::Subnet(key) => {
                let subnet = &all.subnets[key];
                let any =
                    all.hosts.values().any(|it| it.subnet.as_ref() == Some(key) && it.public == Some(true));
                Side { subnet, public: subnet.public || any, groups: None }
            }
            Place::Host(key) => {
                let host = &all.hosts[key];
                let subnet = &all.subnets[host.subnet.as_ref().expect("it is set")];
                Side { subnet, public: host.public.unwrap_or(subnet.public), groups: host.groups.as_deref() }
            }
            _ => panic!("inside only"),
        }
    }

    /// Whether a group of `own` has a rule for the far address, or for a group of the far end.
    fn admits(
        &self,
        own: Option<&[String]>,
        far: u32,
        theirs: &[String],
        port: Protocol,
        ingress: bool,
    ) -> bool {
        let Some(own) = own else { return true };
        let mut rules = own.iter().flat_map(|key| {
            let group = &self.0.0.groups[key];
            if ingress { &group.ingress } else { &group.egress }
        });
        rules.any(|rule| {
            let ports = rule.protocols.iter().any(|it| match (*it, port) {
                (Protocol::Any, _) | (_, Protocol::Any) => true,
                (Protocol::Tcp(low, high), Protocol::Tcp(from, to)) => {
                    (low..=high).any(|it| (from..=to).contains(&it))
                }
                _ => false,
            });
            let peers = rule.peers.iter().any(|peer| match peer {
                Peer::Range(range) => holds(*range, far),
                Peer::Group(key) => theirs.contains(key),
                Peer::List(_) | Peer::Unknown => true,
            });
            ports && peers
        })
    }

    fn between(&self, from: &Side<'_>, to: &Side<'_>, port: Protocol) -> bool {
        self.between_where(from, to, port, &|_| true)
    }

    /// Only to addresses that are wanted.
    pub(crate) fn between_where(
        &self,
        from: &Side<'_>,
        to: &Side<'_>,
        port: Protocol,
        wanted: &dyn Fn(u32) -> bool,
    ) -> bool {
        addresses(from.subnet).into_iter().any(|a| {
            addresses(to.subnet).into_iter().filter(|b| wanted(*b)).any(|b| {
                let (at, goal) = (&from.subnet.head.key, &to.subnet.head.key);
                self.0.round_trip(at, a, from.public, goal, b).is_some_and(|seen| {
                    let members = from.groups.filter(|_| seen == a).unwrap_or_default();
                    self.admits(from.groups, b, to.groups.unwrap_or_default(), port, false)
                        && self.admits(to.groups, seen, members, port, true)
                })
            })
        })
    }

    fn outbound(&self, from: &Side<'_>, port: Protocol) -> bool {
        self.outbound_where(from, port, &|_| true)
    }

    /// Only to addresses that are wanted.
    pub(crate) fn outbound_where(
        &self,
        from: &Side<'_>,
        port: Protocol,
        wanted: &dyn Fn(u32) -> bool,
    ) -> bool {
        addresses(from.subnet).into_iter().any(|a| {
            internet().filter(|b| wanted(*b)).any(|b| {
                self.0.goes_out(&from.subnet.head.key, a, from.public, b)
                    && self.admits(from.groups, b, &[], port, false)
            })
        })
    }

    fn inbound(&self, to: &Side<'_>, port: Protocol) -> bool {
        to.public
            && addresses(to.subnet).into_iter().any(|b| {
                internet().any(|a| {
                    self.0.comes_in(&to.subnet.head.key, b, a) && self.admits(to.groups, a, &[], port, true)
                })
            })
    }

    /// How requests to the service travel: its name resolves to the interface endpoint with private DNS of the same
    /// network if the network's resolver is asked, or else to public addresses.
    pub(crate) fn served(
        &self,
        from: &Side<'_>,
        resolved: bool,
        port: Protocol,
        wanted: &dyn Fn(u32) -> bool,
    ) -> Vec<Way> {
        let all = self.0.0;
        let mut endpoints = all.endpoints.values();
        let managed = endpoints.find(|it| {
            it.kind == EndpointKind::Interface && it.private_dns && it.network == from.subnet.network
        });
        if let Some(endpoint) = managed.filter(|_| resolved) {
            let mut subnets = endpoint.subnets.iter().map(|key| &all.subnets[key]);
            let reached = subnets.any(|subnet| {
                let to = Side { subnet, public: false, groups: endpoint.groups.as_deref() };
                self.between_where(from, &to, port, wanted)
            });
            return if reached { vec![Way::Endpoint] } else { vec![] };
        }
        let world = World(all, true);
        let mut ways = Vec::new();
        for a in addresses(from.subnet) {
            for b in internet().filter(|b| wanted(*b)) {
                if !self.admits(from.groups, b, &[], port, false) {
                    continue;
                }
                match world.ends(&from.subnet.head.key, a, from.public, b) {
                    Some(Fate::Served) => ways.push(Way::Endpoint),
                    Some(_) => ways.push(Way::Internet),
                    None => {}
                }
            }
        }
        ways.dedup();
        ways
    }
}

/// (port, peer)
type RuleDrafts = Vec<(usize, usize)>;

#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// By subnet: (destination, target).
    tables: Vec<Vec<(usize, usize)>>,
    public: Vec<bool>,
    /// (subnet, public address, groups)
    hosts: Vec<(usize, Option<bool>, Vec<usize>)>,
    /// By group, in and out.
    rules: Vec<(RuleDrafts, RuleDrafts)>,
    /// (gateway, interface with or without private DNS; subnets or tables, groups)
    endpoints: Vec<(usize, Vec<usize>, Vec<usize>)>,
    private_nat: bool,
}

const NETWORKS: u32 = 2;
const SUBNETS: u32 = 2;

pub(crate) fn destination(choice: usize) -> ipnet::IpNet {
    match choice {
        0 | 1 => net(0, 0),
        2 => net(OUTSIDE, 28),
        3 => net(OUTSIDE + 8, 29),
        4 => net(OUTSIDE + 3, 32),
        5 => net(INSIDE, 24),
        choice => net(INSIDE + 4 * (choice as u32 - 6), 30),
    }
}

fn rules(drafts: &[(usize, usize)]) -> Vec<Rule> {
    let rule = |(port, peer): &(usize, usize)| {
        let protocol = [Protocol::Any, HTTPS, Protocol::Tcp(22, 22), HTTPS][port % 4];
        let peer = match peer {
            0..14 => Peer::Range(destination(*peer)),
            other => Peer::Group(format!("g{}", other % 3)),
        };
        Rule { protocols: vec![protocol], peers: vec![peer] }
    };
    drafts.iter().map(rule).collect()
}

pub(crate) fn build(draft: &Draft) -> Topology {
    let mut all = Topology::default();
    let aws = |key: &str| head(key, Home::Aws);
    let subnet_key = |at: usize| format!("n{}s{}", at / SUBNETS as usize, at % SUBNETS as usize);
    let (left, right) = (Some("n0".to_owned()), Some("n1".to_owned()));
    all.peerings.insert("p".into(), Peering { head: aws("p"), left, right });
    for at in 0..NETWORKS {
        let name = format!("n{at}");
        let network = Some(name.clone());
        let ranges = vec![net(INSIDE + at * 16, 28)];
        let own = Network {
            head: aws(&name),
            ranges,
            was: vec![],
            complete: true,
            region: None,
            resolver: true,
            private_names: true,
        };
        all.networks.insert(name.clone(), own);
        for part in 0..SUBNETS {
            let index = (at * SUBNETS + part) as usize;
            let (key, ranges) = (subnet_key(index), vec![net(INSIDE + at * 16 + part * 8, 29)]);
            let (network, public) = (network.clone(), draft.public[index]);
            all.subnets.insert(
                key.clone(),
                Subnet {
                    head: aws(&key),
                    network,
                    ranges,
                    was: vec![],
                    named: Vec::new(),
                    zone: None,
                    public,
                },
            );
        }
        let nat = if draft.private_nat { GatewayKind::PrivateNat } else { GatewayKind::Nat };
        let home = Some(subnet_key((at * SUBNETS) as usize));
        for (key, kind, subnet) in
            [(format!("igw{at}"), GatewayKind::Internet, None), (format!("nat{at}"), nat, home)]
        {
            let network = network.clone();
            let (serves, associates, propagates) = (None, true, true);
            let gateway = Gateway { head: aws(&key), kind, network, subnet, serves, associates, propagates };
            all.gateways.insert(key, gateway);
        }
    }
    for (at, routes) in draft.tables.iter().enumerate() {
        let network = format!("n{}", at / SUBNETS as usize);
        let mut found = BTreeMap::new();
        for (choice, target) in routes {
            let target = match target {
                0 | 1 => Target::Gateway(format!("igw{}", &network[1..])),
                2 => Target::Gateway(format!("nat{}", &network[1..])),
                3 => Target::Gateway("igw0".to_owned()),
                4 | 5 => Target::Peering("p".to_owned()),
                _ => Target::Nowhere,
            };
            found.insert(destination(*choice), target);
        }
        let routes = found
            .into_iter()
            .map(|(range, target)| Route::new(Destination::Range(range), target, Change::Keep));
        let (key, subnets, routes) = (format!("t{at}"), vec![subnet_key(at)], routes.collect());
        let table = RouteTable { head: aws(&key), network: Some(network), main: false, subnets, routes };
        all.tables.insert(key, table);
    }
    let group_keys = |groups: &[usize]| Some(groups.iter().map(|at| format!("g{at}")).collect());
    for (at, (ingress, egress)) in draft.rules.iter().enumerate() {
        let key = format!("g{at}");
        let (ingress, egress) = (rules(ingress), rules(egress));
        all.groups.insert(key.clone(), SecurityGroup { head: aws(&key), network: None, ingress, egress });
    }
    for (at, (subnet, public, groups)) in draft.hosts.iter().enumerate() {
        let key = format!("h{at}");
        let (subnet, groups, public) = (Some(subnet_key(*subnet)), group_keys(groups), *public);
        let (tags, what) = (Vec::new(), "instance".to_owned());
        all.hosts.insert(
            key.clone(),
            Host { head: aws(&key), subnet, groups, public, tags, what, machines: 1, config: None },
        );
    }
    for (at, (interface, places, groups)) in draft.endpoints.iter().enumerate() {
        let key = format!("e{at}");
        let none = Vec::new();
        let network = Some(format!("n{}", places[0] / SUBNETS as usize));
        let (kind, tables, subnets) = if *interface > 0 {
            let own = |at: &&usize| Some(format!("n{}", *at / SUBNETS as usize)) == network;
            (EndpointKind::Interface, none, places.iter().filter(own).map(|at| subnet_key(*at)).collect())
        } else {
            (EndpointKind::Gateway, places.iter().map(|at| format!("t{at}")).collect(), none)
        };
        let (service, groups, private_dns) = (SERVICE.to_owned(), group_keys(groups), *interface == 1);
        let endpoint = Endpoint::new(aws(&key), network, &service, kind);
        let endpoint = Endpoint { tables, subnets, groups, private_dns, ..endpoint };
        for table in &endpoint.tables {
            let (list, target) = (format!("pl:{SERVICE}"), Target::Endpoint(key.clone()));
            let route = Route::new(Destination::List(list), target, Change::Keep);
            let routes = &mut all.tables.get_mut(table).expect("it is there").routes;
            // A table has one route to a prefix list.
            if !routes.iter().any(|it| it.destination == route.destination) {
                routes.push(route);
            }
        }
        all.endpoints.insert(key, endpoint);
    }
    all
}

pub(crate) fn drafts() -> impl Strategy<Value = Draft> {
    let count = (NETWORKS * SUBNETS) as usize;
    use proptest::collection::vec as some;
    let rules = || some((0_usize..4, 0_usize..17), 0..3);
    let groups = || prop::collection::btree_set(0_usize..3, 0..3).prop_map(|it| it.into_iter().collect());
    let places = prop::collection::btree_set(0..count, 1..3).prop_map(|it| it.into_iter().collect());
    (
        some(some((0_usize..14, 0_usize..7), 0..4), count),
        some(any::<bool>(), count),
        some((0..count, any::<Option<bool>>(), groups()), 0..4),
        some((rules(), rules()), 3),
        some((0_usize..3, places, groups()), 0..3),
        any::<bool>(),
    )
        .prop_map(|(tables, public, hosts, rules, endpoints, private_nat)| Draft {
            tables,
            public,
            hosts,
            rules,
            endpoints,
            private_nat,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn answers_are_those_of_every_packet(draft in drafts()) {
        let all = build(&draft);
        let lists = Lists::new(&all);
        let world = World(&all, false);
        let filters = Filters(&world);
        let subnets = all.subnets.keys().cloned().map(Place::Subnet);
        let places: Vec<Place> = subnets.chain(all.hosts.keys().cloned().map(Place::Host)).collect();
        for from in &places {
            let side = filters.side(from);
            for port in [HTTPS, Protocol::Tcp(22, 22), Protocol::Any] {
                let answer = lists.ask(from, &Place::Internet, port);
                prop_assert_eq!(answer.reached, filters.outbound(&side, port), "{:?} out: {:?}", from, answer);
                let answer = lists.ask(&Place::Internet, from, port);
                prop_assert_eq!(answer.reached, filters.inbound(&side, port), "{:?} in: {:?}", from, answer);
                for to in places.iter().filter(|to| *to != from) {
                    let other = filters.side(to);
                    if other.subnet.head.key == side.subnet.head.key {
                        continue;
                    }
                    let answer = lists.ask(from, to, port);
                    let reached = filters.between(&side, &other, port);
                    prop_assert_eq!(answer.reached, reached, "{:?} to {:?}: {:?}", from, to, answer);
                }
            }
            let answer = lists.ask(from, &Place::Service(SERVICE.to_owned()), HTTPS);
            let ways = filters.served(&side, true, HTTPS, &|_| true);
            prop_assert_eq!(answer.reached, !ways.is_empty(), "{:?} to the service: {:?}", from, answer);
            prop_assert!(!answer.reached || ways.contains(&answer.way), "{:?}: {:?}", from, answer);
        }
    }
}
