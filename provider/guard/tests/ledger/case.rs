//! Random runs, and what a comparison of every pair says about them.

use ipnet::IpNet;
use warren_guard::Location;

use super::process::{Alias, Planned, Process, Use};

/// Numbers that follow from a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A run: provider configurations, and their resources in the order in which they are planned.
pub(super) struct Case {
    pub(super) aliases: Vec<Alias>,
    pub(super) resources: Vec<Planned>,
}

impl Case {
    /// Two to five configurations in two regions of two accounts and two projects of both clouds.
    pub(super) fn random(random: &mut Random) -> Case {
        let aliases: Vec<Alias> = (0..2 + random.below(4))
            .map(|_| {
                let (account, region) = (random.below(2), random.below(2));
                let location = if random.below(2) == 0 {
                    let regions = ["us-east-1", "eu-west-1"];
                    Location::aws(["111111111111", "222222222222"][account], regions[region])
                } else {
                    let regions = ["us-central1", "europe-west4"];
                    Location::gcp(["acme-ml", "acme-data"][account], regions[region])
                };
                let fabric = if random.below(8) == 0 { "other" } else { "llm" };
                let owner = if random.below(4) == 0 { "research" } else { "platform" };
                Alias { fabric: fabric.into(), owner: owner.into(), location }
            })
            .collect();
        let crowded = random.below(3) == 0;
        let resources = (0..2 + random.below(8))
            .map(|number| {
                let alias = random.below(aliases.len());
                let role = match random.below(10) {
                    0 => Use::Reserve,
                    1 => Use::Excluded,
                    _ => Use::Occupy,
                };
                let blocks = if crowded { 4 } else { 40 };
                let prefix = 16 + random.below(5);
                let net = format!("10.{}.{}.0/{prefix}", random.below(blocks), 16 * random.below(16));
                let kind = match &*aliases[alias].location.cloud {
                    "gcp" => "warren_gcp_subnetwork",
                    _ => "warren_aws_vpc",
                };
                // The same name in two configurations is two resources, unless they are in the same place.
                let name =
                    if random.below(2) == 0 { format!("net-{alias}") } else { format!("net-{number}") };
                let net = net.parse::<IpNet>().unwrap().trunc();
                Planned { alias, kind: kind.into(), name, net, role }
            })
            .collect();
        let mut case = Case { aliases, resources };
        case.name_resources_apart();
        case
    }

    /// Names are unique among the resources of a type, owner and location, as the provider requires.
    fn name_resources_apart(&mut self) {
        for later in 1..self.resources.len() {
            let taken = (0..later).any(|earlier| self.same_key(earlier, later));
            if taken {
                self.resources[later].name = format!("only-{later}");
            }
        }
    }

    fn same_key(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.resources[a], &self.resources[b]);
        let (one, other) = (&self.aliases[a.alias], &self.aliases[b.alias]);
        let outside = |resource: &Planned| matches!(resource.role, Use::Reserve | Use::Excluded);
        let located = outside(a) || one.location == other.location;
        a.name == b.name && outside(a) == outside(b) && one.owner == other.owner && located
    }

    /// Plans one resource after the other; the diagnostics of each.
    pub(super) fn plan_in_order(&self, processes: &mut [Process]) -> Vec<Vec<String>> {
        self.resources.iter().map(|resource| processes[resource.alias].plan(resource)).collect()
    }

    /// Each process plans its resources in order, all processes at the same time.
    pub(super) fn plan_at_once(&self, processes: &mut [Process]) -> Vec<Vec<String>> {
        let mut told = vec![Vec::new(); self.resources.len()];
        std::thread::scope(|scope| {
            let running: Vec<_> = processes
                .iter_mut()
                .enumerate()
                .map(|(alias, process)| {
                    let own = self.resources.iter().enumerate().filter(move |(_, of)| of.alias == alias);
                    let plan =
                        move || own.map(|(position, of)| (position, process.plan(of))).collect::<Vec<_>>();
                    scope.spawn(plan)
                })
                .collect();
            for (position, answer) in running.into_iter().flat_map(|thread| thread.join().unwrap()) {
                told[position] = answer;
            }
        });
        told
    }

    /// The number of pairs that must not coexist.
    pub(super) fn conflicts(&self) -> usize {
        self.pairs().filter(|(a, b)| self.conflict(*a, *b)).count()
    }

    /// Each conflict is reported by one of its two resources, which names the other with its range and its location;
    /// nothing else is reported.
    pub(super) fn judge(&self, told: &[Vec<String>], seed: u64) {
        let context = || format!("case {seed}: {:#?}\n{:#?}\n{told:#?}", self.aliases, self.resources);
        let names = |by: usize, other: usize| {
            let theirs = &self.resources[other];
            let elsewhere = self.aliases[theirs.alias].location
                != self.aliases[self.resources[by].alias].location
                && theirs.role == Use::Occupy
                && self.resources[by].role == Use::Occupy;
            let location = self.aliases[theirs.alias].location.to_string();
            let here = self.aliases[self.resources[by].alias].location.to_string();
            told[by].iter().any(|text| {
                text.contains(&format!("= {} of", theirs.net))
                    && text.contains(&format!("{:?}", theirs.name))
                    && (!elsewhere || (text.contains(&location) && text.contains(&here)))
            })
        };
        for (a, b) in self.pairs().filter(|(a, b)| self.conflict(*a, *b)) {
            assert!(names(a, b) || names(b, a), "{a} and {b} overlap\n{}", context());
        }
        for (position, told) in told.iter().enumerate() {
            let guilty = (0..self.resources.len())
                .any(|other| other != position && self.conflict(position.min(other), position.max(other)));
            assert!(told.is_empty() || guilty, "false alarm at {position}\n{}", context());
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let number = self.resources.len();
        (0..number).flat_map(move |a| (a + 1..number).map(move |b| (a, b)))
    }

    /// Whether two resources must not coexist.
    fn conflict(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.resources[a], &self.resources[b]);
        let overlap = a.net.contains(&b.net) || b.net.contains(&a.net);
        let fabric = self.aliases[a.alias].fabric == self.aliases[b.alias].fabric;
        let allowed = match (a.role, b.role) {
            (Use::Excluded, Use::Excluded) => true,
            (Use::Reserve, Use::Occupy) => a.net.contains(&b.net),
            (Use::Occupy, Use::Reserve) => b.net.contains(&a.net),
            _ => false,
        };
        overlap && fabric && !allowed
    }
}

/// A provider configuration for a region.
pub(super) fn alias(region: &str) -> Alias {
    let location = Location::aws("111111111111", region);
    Alias { fabric: "llm".into(), owner: "platform".into(), location }
}

/// A VPC of a provider configuration.
pub(super) fn vpc(name: &str, alias: usize, net: &str) -> Planned {
    let net = net.parse().unwrap();
    Planned { alias, kind: "warren_aws_vpc".into(), name: name.into(), net, role: Use::Occupy }
}
