//! Instances, the internet and endpoints: public addresses, internet gateways, NAT, security groups.
//!
//! An instance is somewhere in its subnet: it reaches what it reaches from any address there.

use crate::world::{INSIDE, OUTSIDE, World, addresses, head, holds, internet, net};
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

    fn by_endpoint(&self, from: &Side<'_>) -> bool {
        self.by_endpoint_where(from, &|_| true)
    }

    /// Only at addresses that are wanted; those of a gateway endpoint are public.
    pub(crate) fn by_endpoint_where(&self, from: &Side<'_>, wanted: &dyn Fn(u32) -> bool) -> bool {
        let all = self.0.0;
        all.endpoints.values().any(|endpoint| match endpoint.kind {
            EndpointKind::Gateway => {
                internet().any(wanted)
                    && all.tables.values().any(|it| {
                        endpoint.tables.contains(&it.head.key) && it.subnets.contains(&from.subnet.head.key)
                    })
            }
            _ => endpoint.subnets.iter().any(|key| {
                let to =
                    Side { subnet: &all.subnets[key], public: false, groups: endpoint.groups.as_deref() };
                self.between_where(from, &to, HTTPS, wanted)
            }),
        })
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
    /// (interface, subnets or tables, groups)
    endpoints: Vec<(bool, Vec<usize>, Vec<usize>)>,
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
        let own = Network { head: aws(&name), ranges, was: vec![], complete: true, region: None };
        all.networks.insert(name.clone(), own);
        for part in 0..SUBNETS {
            let index = (at * SUBNETS + part) as usize;
            let (key, ranges) = (subnet_key(index), vec![net(INSIDE + at * 16 + part * 8, 29)]);
            let (network, public) = (network.clone(), draft.public[index]);
            all.subnets.insert(
                key.clone(),
                Subnet { head: aws(&key), network, ranges, was: vec![], zone: None, public },
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
        let routes = found.into_iter().map(|(range, target)| Route {
            destination: Destination::Range(range),
            target,
            change: Change::Keep,
        });
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
        all.hosts
            .insert(key.clone(), Host { head: aws(&key), subnet, groups, public, tags, what, config: None });
    }
    for (at, (interface, places, groups)) in draft.endpoints.iter().enumerate() {
        let key = format!("e{at}");
        let none = Vec::new();
        let (kind, tables, subnets) = if *interface {
            (EndpointKind::Interface, none, places.iter().map(|at| subnet_key(*at)).collect())
        } else {
            (EndpointKind::Gateway, places.iter().map(|at| format!("t{at}")).collect(), none)
        };
        let (service, groups, buckets) = (SERVICE.to_owned(), group_keys(groups), Vec::new());
        let network = Some("n0".to_owned());
        let endpoint = Endpoint { head: aws(&key), network, service, kind, tables, subnets, groups, buckets };
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
        some((any::<bool>(), places, groups()), 0..3),
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
        let world = World(&all);
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
            let by_endpoint = filters.by_endpoint(&side);
            let reached = by_endpoint || filters.outbound(&side, HTTPS);
            prop_assert_eq!(answer.reached, reached, "{:?} to the service: {:?}", from, answer);
            prop_assert_eq!(answer.reached && answer.way == Way::Endpoint, by_endpoint, "{:?}: {:?}", from, answer);
        }
    }
}
