//! Which networks are connected, and by what: the connected components of networks and hubs.

use crate::fabric::{Fabric, Fabrics};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use warren_model::policy::matches;
use warren_model::{Model, NetworkRef};

/// Maximum number of links that a finding names.
const NAMED: usize = 3;

/// The graph of networks and hubs.
pub(crate) struct Connections<'a> {
    /// Number of each network and hub.
    nodes: BTreeMap<&'a str, usize>,
    links: Vec<Edge<'a>>,
    /// Numbers of the links of each node.
    at: Vec<Vec<usize>>,
    /// The component of each node.
    component: Vec<usize>,
    /// The previous node and the link to it on a shortest path from the first node of the component.
    before: Vec<Option<(usize, usize)>>,
    /// Links of each component whose other end is known only after apply.
    open: BTreeMap<usize, Vec<&'a str>>,
    /// The declared fabric of each node, by its number.
    declared: Vec<Option<usize>>,
}

struct Edge<'a> {
    name: &'a str,
    ends: Vec<usize>,
    /// Whether it also connects something that is known only after apply.
    open: bool,
}

impl<'a> Connections<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let mut this = Self {
            nodes: BTreeMap::new(),
            links: Vec::new(),
            at: Vec::new(),
            component: Vec::new(),
            before: Vec::new(),
            open: BTreeMap::new(),
            declared: Vec::new(),
        };
        for network in &model.networks {
            this.node(&network.id);
        }
        for subnet in &model.subnets {
            if let NetworkRef::Id(id) = &subnet.network {
                this.node(id);
            }
        }
        for peering in &model.peerings {
            let sides = [&peering.left, &peering.right];
            let ends = sides.into_iter().filter_map(|side| match side {
                NetworkRef::Id(id) => Some(id.as_str()),
                NetworkRef::None | NetworkRef::Unknown => None,
            });
            this.link(&peering.name, ends, sides.contains(&&NetworkRef::Unknown));
        }
        for link in &model.links {
            this.link(&link.name, link.ends.iter().map(String::as_str), link.open);
        }
        this.join();
        this
    }

    fn node(&mut self, id: &'a str) -> usize {
        let next = self.nodes.len();
        let node = *self.nodes.entry(id).or_insert(next);
        if node == next {
            self.at.push(Vec::new());
        }
        node
    }

    fn link(&mut self, name: &'a str, ends: impl Iterator<Item = &'a str>, open: bool) {
        let ends: Vec<usize> = ends.map(|id| self.node(id)).collect();
        for &end in &ends {
            self.at[end].push(self.links.len());
        }
        self.links.push(Edge { name, ends, open });
    }

    /// Computes the components.
    fn join(&mut self) {
        const NONE: usize = usize::MAX;
        self.component = vec![NONE; self.at.len()];
        self.before = vec![None; self.at.len()];
        self.declared = vec![None; self.at.len()];
        for start in 0..self.at.len() {
            if self.component[start] != NONE {
                continue;
            }
            self.component[start] = start;
            let mut queue = VecDeque::from([start]);
            while let Some(node) = queue.pop_front() {
                for &link in &self.at[node] {
                    for &next in &self.links[link].ends {
                        if self.component[next] == NONE {
                            self.component[next] = start;
                            self.before[next] = Some((node, link));
                            queue.push_back(next);
                        }
                    }
                }
            }
        }
        for link in self.links.iter().filter(|link| link.open) {
            if let Some(&end) = link.ends.first() {
                self.open.entry(self.component[end]).or_default().push(link.name);
            }
        }
    }

    /// Applies the declarations, and returns the fabrics that match nothing. `named` are the fabrics that inputs name.
    pub(crate) fn declare<'f>(
        &mut self,
        model: &Model,
        fabrics: &'f Fabrics,
        named: &BTreeMap<&str, &str>,
        files: &BTreeSet<&str>,
    ) -> Vec<&'f Fabric> {
        let mut unused = Vec::new();
        for (index, fabric) in fabrics.declared.iter().enumerate() {
            let components = self.of_patterns(model, &fabric.connected_to);
            let mut used = files.iter().any(|file| fabric.has_file(file, named.get(file).copied()));
            for network in &model.networks {
                let Some(&node) = self.nodes.get(network.id.as_str()) else { continue };
                let file = network.blocks.first().map(|block| block.site.file.as_str());
                let by_file = file.is_some_and(|file| fabric.has_file(file, named.get(file).copied()));
                if by_file || fabric.has_tag_of(network) || components.contains(&self.component[node]) {
                    used = true;
                    self.declared[node].get_or_insert(index);
                }
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

    /// The number of a network.
    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.nodes.get(id).copied()
    }

    /// The declared fabric of a network.
    pub(crate) fn declared(&self, node: usize) -> Option<usize> {
        self.declared[node]
    }

    pub(crate) fn connected(&self, one: usize, other: usize) -> bool {
        self.component[one] == self.component[other]
    }

    /// Number of links of a network.
    pub(crate) fn degree(&self, node: usize) -> usize {
        self.at[node].len()
    }

    /// The names of the links on a path between two networks, as a list: the link between both if there is one. `None` if there
    /// is no path. Reports may have millions of findings, so that this follows paths that are already known.
    pub(crate) fn path(&self, one: usize, other: usize) -> Option<String> {
        if !self.connected(one, other) {
            return None;
        }
        if let Some(link) = self.at[one].iter().find(|link| self.links[**link].ends.contains(&other)) {
            return Some(self.links[*link].name.to_owned());
        }
        let (ours, mut theirs) = (self.way(one), self.way(other));
        let shared =
            ours.iter().rev().zip(theirs.iter().rev()).take_while(|(one, other)| one == other).count();
        theirs.truncate(theirs.len() - shared);
        let links = ours[..ours.len() - shared].iter().chain(theirs.iter().rev());
        let mut names: Vec<&str> = links.map(|link| self.links[*link].name).collect();
        names.dedup();
        Some(listed(&names))
    }

    /// The links from a node to the first one of its component.
    fn way(&self, node: usize) -> Vec<usize> {
        std::iter::successors(self.before[node], |(node, _)| self.before[*node])
            .map(|(_, link)| link)
            .collect()
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

/// `a`, `a and b`, `a, b, c and 2 more`.
fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    match names {
        _ if more > 0 => format!("{} and {more} more", names[..NAMED].join(", ")),
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
