//! Google's networks: one table a network, firewalls by priority and tag, NAT before the internet, peering that is
//! not transitive.

use crate::world::{INSIDE, OUTSIDE, World, addresses, head, holds, internet, net};
use proptest::prelude::*;
use warren_model::reach::{Lists, Place};
use warren_model::topology::*;

const HTTPS: Protocol = Protocol::Tcp(443, 443);

struct Filters<'a>(&'a World<'a>);

impl Filters<'_> {
    /// The rule with the smallest number decides, a denial before a permission.
    fn lets(&self, host: &Host, far: u32, sender: Option<&Host>, ingress: bool) -> bool {
        let all = self.0.0;
        let network = all.subnets[host.subnet.as_ref().expect("it is set")].network.clone();
        let mut found: Vec<(u32, bool)> = Vec::new();
        for firewall in all.firewalls.values() {
            let ports = firewall.rule.protocols.iter().any(|it| *it == Protocol::Any || *it == HTTPS);
            let ranges = firewall.rule.peers.iter().any(|peer| match peer {
                Peer::Range(range) => holds(*range, far),
                _ => panic!("ranges only"),
            });
            let tagged = |tags: &[String], of: &Host| of.tags.iter().any(|tag| tags.contains(tag));
            let peers = ranges || sender.is_some_and(|sender| tagged(&firewall.source_tags, sender));
            let target = firewall.targets.is_empty() || tagged(&firewall.targets, host);
            if firewall.network == network && firewall.ingress == ingress && ports && peers && target {
                found.push((firewall.priority, firewall.allow));
            }
        }
        found.sort_unstable();
        found.first().map_or(!ingress, |(_, allow)| *allow)
    }

    fn subnet(&self, host: &Host) -> &Subnet {
        &self.0.0.subnets[host.subnet.as_ref().expect("it is set")]
    }

    fn between(&self, from: &Host, to: &Host) -> bool {
        let (a, b) = (self.subnet(from), self.subnet(to));
        let same = a.network == b.network;
        addresses(a).into_iter().any(|source| {
            addresses(b).into_iter().any(|target| {
                let public = from.public == Some(true);
                self.0.round_trip(&a.head.key, source, public, &b.head.key, target).is_some()
                    && self.lets(from, target, None, false)
                    // A tag means something in its own network only.
                    && self.lets(to, source, Some(from).filter(|_| same), true)
            })
        })
    }

    fn outbound(&self, from: &Host) -> bool {
        let at = self.subnet(from);
        let public = from.public == Some(true);
        addresses(at).into_iter().any(|source| {
            internet().any(|target| {
                self.0.goes_out(&at.head.key, source, public, target) && self.lets(from, target, None, false)
            })
        })
    }

    fn inbound(&self, to: &Host) -> bool {
        let at = self.subnet(to);
        to.public == Some(true)
            && addresses(at).into_iter().any(|target| {
                internet().any(|source| {
                    self.0.comes_in(&at.head.key, target, source) && self.lets(to, source, None, true)
                })
            })
    }
}

/// (network, priority, allow, ingress, any port, peer, target tag, source tag)
type FirewallDraft = (usize, u32, bool, bool, bool, usize, usize, usize);

#[derive(Debug, Clone)]
struct Draft {
    /// By network: (destination, target).
    routes: Vec<Vec<(usize, usize)>>,
    /// By network: none, all, or one subnet.
    nat: Vec<usize>,
    peered: Vec<bool>,
    firewalls: Vec<FirewallDraft>,
    /// (subnet, public, tag)
    hosts: Vec<(usize, bool, usize)>,
}

const NETWORKS: usize = 3;

fn range(choice: usize) -> ipnet::IpNet {
    match choice {
        0 | 1 => net(0, 0),
        2 => net(OUTSIDE, 28),
        3 => net(OUTSIDE + 8, 29),
        4 => net(INSIDE, 24),
        choice => net(INSIDE + 8 * (choice as u32 - 5), 29),
    }
}

fn tags(choice: usize) -> Vec<String> {
    if choice == 0 { Vec::new() } else { vec![format!("tag{choice}")] }
}

fn build(draft: &Draft) -> Topology {
    let mut all = Topology::default();
    let google = |key: &str| head(key, Home::Google);
    for at in 0..NETWORKS {
        let name = format!("n{at}");
        let network = Some(name.clone());
        let own = Network {
            head: google(&name),
            ranges: vec![],
            was: vec![],
            complete: true,
            region: None,
            resolver: true,
            private_names: true,
        };
        all.networks.insert(name.clone(), own);
        for part in 0..2 {
            let key = format!("{name}s{part}");
            let ranges = vec![net(INSIDE + (at * 16 + part * 8) as u32, 29)];
            let (network, was, zone, public) = (network.clone(), vec![], None, false);
            all.subnets.insert(
                key.clone(),
                Subnet { head: google(&key), network, ranges, was, named: vec![], zone, public },
            );
        }
        let gateway = |key: &str, kind, serves| {
            let (network, subnet) = (network.clone(), None);
            Gateway { head: google(key), kind, network, subnet, serves, associates: false, propagates: false }
        };
        let key = format!("igw{at}");
        all.gateways.insert(key.clone(), gateway(&key, GatewayKind::Internet, None));
        if draft.nat[at] > 0 {
            let key = format!("nat{at}");
            let serves = (draft.nat[at] > 1).then(|| vec![format!("{name}s0")]);
            all.gateways.insert(key.clone(), gateway(&key, GatewayKind::Nat, serves));
        }
        let mut routes = std::collections::BTreeMap::new();
        for (choice, target) in &draft.routes[at] {
            let target = if *target == 0 { Target::Nowhere } else { Target::Gateway(format!("igw{at}")) };
            routes.insert(range(*choice), target);
        }
        // n1 is peered with n0 and with n2.
        for (far, peered) in [(0, draft.peered[0]), (2, draft.peered[1])] {
            let (near, far) = if at == 1 { (at, far) } else { (at, 1) };
            let key = format!("p{}", if near == 1 { far } else { near });
            if !peered || (at != 1 && key != format!("p{at}")) {
                continue;
            }
            for part in 0..2 {
                routes.insert(net(INSIDE + (far * 16 + part * 8) as u32, 29), Target::Peering(key.clone()));
            }
            let (left, right) = (Some("n1".to_owned()), Some(format!("n{}", &key[1..])));
            all.peerings.insert(key.clone(), Peering { head: google(&key), left, right });
        }
        let routes = routes
            .into_iter()
            .map(|(range, target)| Route::new(Destination::Range(range), target, Change::Keep));
        let (key, subnets, routes) = (format!("t{at}"), vec![], routes.collect());
        all.tables
            .insert(key.clone(), RouteTable { head: google(&key), network, main: true, subnets, routes });
    }
    for (at, (network, priority, allow, ingress, any, peer, target, source)) in
        draft.firewalls.iter().enumerate()
    {
        let key = format!("f{at}");
        let protocols = vec![if *any { Protocol::Any } else { HTTPS }];
        let source_tags = if *ingress { tags(*source) } else { Vec::new() };
        // As Google has it: sources by range, by tag, or both.
        let peers =
            if *peer == 0 && !source_tags.is_empty() { vec![] } else { vec![Peer::Range(range(*peer))] };
        let firewall = Firewall {
            head: google(&key),
            network: Some(format!("n{network}")),
            ingress: *ingress,
            allow: *allow,
            priority: *priority,
            rule: Rule { protocols, peers },
            targets: tags(*target),
            source_tags,
        };
        all.firewalls.insert(key, firewall);
    }
    for (at, (subnet, public, tag)) in draft.hosts.iter().enumerate() {
        let key = format!("h{at}");
        let subnet = Some(format!("n{}s{}", subnet / 2, subnet % 2));
        let (public, tags, what) = (Some(*public), tags(*tag), "instance".to_owned());
        all.hosts.insert(
            key.clone(),
            Host { head: google(&key), subnet, groups: None, public, tags, what, machines: 1, config: None },
        );
    }
    all
}

fn drafts() -> impl Strategy<Value = Draft> {
    use proptest::collection::vec as some;
    let firewall = (
        0..NETWORKS,
        0_u32..3,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        0_usize..11,
        0_usize..3,
        0_usize..3,
    );
    (
        some(some((0_usize..4, 0_usize..4), 0..4), NETWORKS),
        some(0_usize..3, NETWORKS),
        some(any::<bool>(), 2),
        some(firewall, 0..8),
        some((0..NETWORKS * 2, any::<bool>(), 0_usize..3), 2..5),
    )
        .prop_map(|(routes, nat, peered, firewalls, hosts)| Draft {
            routes,
            nat,
            peered,
            firewalls,
            hosts,
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
        for (from, a) in &all.hosts {
            let here = Place::Host(from.clone());
            let answer = lists.ask(&here, &Place::Internet, HTTPS);
            prop_assert_eq!(answer.reached, filters.outbound(a), "{} out: {:?}", from, answer);
            let answer = lists.ask(&Place::Internet, &here, HTTPS);
            prop_assert_eq!(answer.reached, filters.inbound(a), "{} in: {:?}", from, answer);
            for (to, b) in all.hosts.iter().filter(|(to, b)| *to != from && b.subnet != a.subnet) {
                let answer = lists.ask(&here, &Place::Host(to.clone()), HTTPS);
                prop_assert_eq!(answer.reached, filters.between(a, b), "{} to {}: {:?}", from, to, answer);
            }
        }
    }
}
