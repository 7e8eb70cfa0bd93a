//! Which networks are connected, and by what.
//!
//! A hub, such as a transit gateway, forwards between all that it connects. A network does not: traffic between `a` and `c` does not
//! pass through `b` because `b` is peered with both (Amazon VPC Peering Guide, "VPC peering limitations"; Google Cloud, "VPC Network
//! Peering"; Azure, "Virtual network peering"). Two networks must therefore differ if a hub or one network has routes to both: if a
//! path between them passes through hubs and at most one network.

use crate::fabric::{Fabric, Fabrics};
use crate::ways::Ways;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use warren_model::policy::matches;
use warren_model::{Fabric as Managed, Model, NetworkRef};

/// Maximum number of links that a finding names.
const NAMED: usize = 3;

/// The graph of networks and hubs.
pub(crate) struct Connections<'a> {
    /// Number of each network and hub.
    nodes: BTreeMap<&'a str, usize>,
    /// Whether each node is a hub.
    hub: Vec<bool>,
    pub(crate) links: Vec<Edge<'a>>,
    /// Numbers of the links of each node.
    pub(crate) at: Vec<Vec<usize>>,
    /// The first node of all that is connected to each one, also through networks.
    component: Vec<usize>,
    routes: Vec<Routes>,
    /// Pairs of hubs that one network is connected to.
    meeting: BTreeSet<(usize, usize)>,
    /// The fabric of the provider `warren` of each node.
    managed: Vec<Option<&'a Managed>>,
    /// Links of each component whose other end is known only after apply.
    open: BTreeMap<usize, Vec<&'a str>>,
    /// The declared fabric of each node, by its number.
    declared: Vec<Option<usize>>,
    /// The paths from the last node that was asked for.
    last: RefCell<Option<Ways>>,
}

pub(crate) struct Edge<'a> {
    name: &'a str,
    pub(crate) ends: Vec<usize>,
    /// Whether it also connects something that is known only after apply.
    open: bool,
}

/// Where a node has routes to. All lists are sorted. Hubs that are connected count as one.
#[derive(Default, Clone)]
struct Routes {
    /// Hubs.
    hubs: Vec<usize>,
    /// Itself, and networks that it is peered with.
    peers: Vec<usize>,
    /// Hubs of those networks.
    beyond: Vec<usize>,
}

impl<'a> Connections<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let mut this = Self {
            nodes: BTreeMap::new(),
            hub: Vec::new(),
            links: Vec::new(),
            at: Vec::new(),
            component: Vec::new(),
            routes: Vec::new(),
            meeting: BTreeSet::new(),
            managed: Vec::new(),
            open: BTreeMap::new(),
            declared: Vec::new(),
            last: RefCell::new(None),
        };
        for network in &model.networks {
            let node = this.node(&network.id, false);
            if this.managed[node].is_none() {
                this.managed[node] = network.fabric.as_ref();
            }
        }
        let subnets = model.subnets.iter().map(|subnet| &subnet.network);
        for network in subnets.chain(model.excluded.iter().filter_map(|entry| entry.network.as_ref())) {
            if let NetworkRef::Id(id) = network {
                this.node(id, false);
            }
        }
        let mut transits = Vec::new();
        for peering in &model.peerings {
            let sides = [&peering.left, &peering.right];
            let ends: Vec<usize> = sides
                .into_iter()
                .filter_map(|side| match side {
                    NetworkRef::Id(id) => Some(this.node(id, false)),
                    NetworkRef::None | NetworkRef::Unknown => None,
                })
                .collect();
            if let ([one, other], true) = (ends.as_slice(), peering.transit) {
                transits.extend([(&peering.name, *one, *other), (&peering.name, *other, *one)]);
            }
            this.link(&peering.name, ends, sides.contains(&&NetworkRef::Unknown));
        }
        for link in &model.links {
            let networks = link.networks.iter().map(|id| (id, false));
            let ends = networks.chain(link.hubs.iter().map(|id| (id, true)));
            let ends = ends.map(|(id, hub)| this.node(id, hub)).collect();
            this.link(&link.name, ends, link.open);
        }
        for id in model.site_routes.iter().filter_map(|route| route.hub.as_ref()) {
            this.node(id, true);
        }
        // What may use the gateways of its peer is connected to the same hubs.
        for (name, from, to) in transits {
            let links = this.at[to].iter().flat_map(|link| &this.links[*link].ends);
            let hubs: BTreeSet<usize> = links.copied().filter(|end| this.hub[*end]).collect();
            for hub in hubs {
                this.link(name, vec![from, hub], false);
            }
        }
        this.declared = vec![None; this.at.len()];
        this.join();
        this
    }

    fn node(&mut self, id: &'a str, hub: bool) -> usize {
        let next = self.nodes.len();
        let node = *self.nodes.entry(id).or_insert(next);
        if node == next {
            self.at.push(Vec::new());
            self.hub.push(hub);
            self.managed.push(None);
        }
        node
    }

    fn link(&mut self, name: &'a str, ends: Vec<usize>, open: bool) {
        for &end in &ends {
            self.at[end].push(self.links.len());
        }
        self.links.push(Edge { name, ends, open });
    }

    /// Computes what is connected.
    fn join(&mut self) {
        let (mut component, mut domain) = (Sets::new(self.at.len()), Sets::new(self.at.len()));
        for link in &self.links {
            for pair in link.ends.windows(2) {
                component.join(pair[0], pair[1]);
            }
            let hubs: Vec<usize> = link.ends.iter().copied().filter(|end| self.hub[*end]).collect();
            for pair in hubs.windows(2) {
                domain.join(pair[0], pair[1]);
            }
        }
        self.component = (0..self.at.len()).map(|node| component.first(node)).collect();
        let mut routes = vec![Routes::default(); self.at.len()];
        for (node, own) in routes.iter_mut().enumerate() {
            own.peers.push(node);
            if self.hub[node] {
                own.hubs.push(domain.first(node));
            }
        }
        for link in &self.links {
            let (hubs, networks): (Vec<usize>, Vec<usize>) =
                link.ends.iter().partition(|end| self.hub[**end]);
            let hub = hubs.first().map(|hub| domain.first(*hub));
            for &network in &networks {
                match hub {
                    Some(hub) => routes[network].hubs.push(hub),
                    None => routes[network].peers.extend(&networks),
                }
            }
        }
        for own in &mut routes {
            tidy(&mut own.hubs);
            tidy(&mut own.peers);
        }
        for node in 0..routes.len() {
            let peers = routes[node].peers.iter().filter(|peer| **peer != node);
            let mut beyond = peers.flat_map(|peer| routes[*peer].hubs.iter().copied()).collect();
            tidy(&mut beyond);
            routes[node].beyond = beyond;
            let hubs = &routes[node].hubs;
            self.meeting.extend(hubs.iter().flat_map(|one| hubs.iter().map(move |other| (*one, *other))));
        }
        self.routes = routes;
        for link in self.links.iter().filter(|link| link.open) {
            if let Some(&end) = link.ends.first() {
                self.open.entry(self.component[end]).or_default().push(link.name);
            }
        }
    }

    /// Applies the declarations, and returns the fabrics that match nothing. `named` are the fabrics that inputs name.
    ///
    /// Whoever manages a network decides: what data sources read counts only if no input manages the network, and files with
    /// subnets only if the network is in none.
    pub(crate) fn declare<'f>(
        &mut self,
        model: &Model,
        fabrics: &'f Fabrics,
        named: &BTreeMap<&str, &str>,
        files: &BTreeSet<&str>,
    ) -> Vec<&'f Fabric> {
        let node = |id: &str| self.nodes.get(id).copied();
        // 2: managed, 1: read by a data source, 0: in no file.
        let mut rank = vec![0; self.at.len()];
        let ranked: Vec<_> = model
            .networks
            .iter()
            .filter_map(|network| Some((node(&network.id)?, network, if network.external { 1 } else { 2 })))
            .collect();
        for (node, _, own) in &ranked {
            rank[*node] = rank[*node].max(*own);
        }
        let homeless: BTreeSet<(usize, &str)> = model
            .subnets
            .iter()
            .filter_map(|subnet| match &subnet.network {
                NetworkRef::Id(id) => Some((node(id)?, subnet.blocks.first()?.site.file.as_str())),
                NetworkRef::None | NetworkRef::Unknown => None,
            })
            .filter(|(node, _)| rank[*node] == 0)
            .collect();
        let mut unused = Vec::new();
        for (index, fabric) in fabrics.declared.iter().enumerate() {
            let has = |file: &str| fabric.has_file(file, named.get(file).copied());
            let components = self.of_patterns(model, &fabric.connected_to);
            let mut used = files.iter().any(|file| has(file));
            for (node, network, own) in &ranked {
                if has(&network.file) || fabric.has_tag_of(network) {
                    used = true;
                    if *own == rank[*node] {
                        self.declared[*node].get_or_insert(index);
                    }
                }
            }
            for (node, _) in homeless.iter().filter(|(_, file)| has(file)) {
                self.declared[*node].get_or_insert(index);
            }
            for (node, component) in self.component.iter().enumerate() {
                if components.contains(component) {
                    used = true;
                    self.declared[node].get_or_insert(index);
                }
            }
            if !used {
                unused.push(fabric);
            }
        }
        unused
    }

    /// The components of everything that one of the patterns names.
    fn of_patterns(&self, model: &Model, patterns: &[String]) -> BTreeSet<usize> {
        let is = |name: &str| patterns.iter().any(|pattern| matches(pattern, name));
        let by_id = self.nodes.iter().filter(|(id, _)| is(id)).map(|(_, node)| *node);
        let by_link =
            self.links.iter().filter(|link| is(link.name)).flat_map(|link| link.ends.iter().copied());
        let by_name = model.networks.iter().filter(|network| is(&network.name));
        let by_name = by_name.filter_map(|network| self.nodes.get(network.id.as_str()).copied());
        by_id.chain(by_link).chain(by_name).map(|node| self.component[node]).collect()
    }

    /// The number of a network or hub.
    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.nodes.get(id).copied()
    }

    pub(crate) fn is_hub(&self, node: usize) -> bool {
        self.hub[node]
    }

    /// The declared fabric of a network.
    pub(crate) fn declared(&self, node: usize) -> Option<usize> {
        self.declared[node]
    }

    /// Whether a hub or a network has routes to both.
    pub(crate) fn connected(&self, one: usize, other: usize) -> bool {
        self.of_provider(one, other) || self.linked(one, other)
    }

    fn linked(&self, one: usize, other: usize) -> bool {
        if self.component[one] != self.component[other] {
            return false;
        }
        let (one, other) = (&self.routes[one], &self.routes[other]);
        common(&one.hubs, &other.hubs)
            || common(&one.peers, &other.peers)
            || common(&one.hubs, &other.beyond)
            || common(&one.beyond, &other.hubs)
            || one
                .hubs
                .iter()
                .any(|hub| other.hubs.iter().any(|second| self.meeting.contains(&(*hub, *second))))
    }

    /// Whether the provider `warren` manages both in one fabric, as far as the files show. It refuses overlaps in one fabric.
    fn of_provider(&self, one: usize, other: usize) -> bool {
        match (self.managed[one], self.managed[other]) {
            (Some(Managed::Named(one)), Some(Managed::Named(other))) => one == other,
            (Some(_), Some(_)) => true,
            _ => false,
        }
    }

    /// Number of links of a network.
    pub(crate) fn degree(&self, node: usize) -> usize {
        self.at[node].len()
    }

    /// What connects two networks: the provider, or the names of the links on a shortest path. `None` if there is no path.
    pub(crate) fn path(&self, one: usize, other: usize) -> Option<String> {
        if !self.linked(one, other) {
            return self.of_provider(one, other).then(|| match (self.managed[one], self.managed[other]) {
                (Some(Managed::Named(name)), Some(Managed::Named(_))) if !name.is_empty() => {
                    format!("the fabric {name} of the provider `warren`")
                }
                _ => "the provider `warren`, which manages both".to_owned(),
            });
        }
        let mut last = self.last.borrow_mut();
        // Reports may have millions of findings. Those of one network follow each other.
        if last.as_ref().is_none_or(|ways| ways.from() != other) {
            *last = Some(Ways::new(self, other));
        }
        let mut names: Vec<&str> =
            last.as_ref()?.to(one)?.into_iter().map(|link| self.links[link].name).collect();
        names.dedup();
        Some(listed(&names))
    }

    /// Links of two networks, or of what is connected to them, whose other end is known only after apply.
    pub(crate) fn open(&self, one: Option<usize>, other: Option<usize>) -> Option<String> {
        let mut ours: Vec<usize> =
            [one, other].into_iter().flatten().map(|node| self.component[node]).collect();
        ours.dedup();
        let names: Vec<&str> = ours.iter().filter_map(|own| self.open.get(own)).flatten().copied().collect();
        (!names.is_empty()).then(|| listed(&names))
    }
}

fn tidy(list: &mut Vec<usize>) {
    list.sort_unstable();
    list.dedup();
}

/// Whether two sorted lists have a common item.
fn common(one: &[usize], other: &[usize]) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.iter().any(|item| long.binary_search(item).is_ok())
}

/// Disjoint sets.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The item that stands for the set of an item.
    fn first(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// `a`, `a and b`, `a, b, c and 2 more`.
fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    match names {
        _ if more > 0 => format!("{} and {more} more", names[..NAMED].join(", ")),
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
