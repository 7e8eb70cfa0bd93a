//! Shortest paths from one network to all that it is connected to.

use crate::connections::Connections;
use std::collections::{BTreeMap, VecDeque};

/// A node, and whether the path to it passed through a network.
type State = (usize, bool);

/// The paths from one node, found breadth first.
pub(crate) struct Ways {
    from: usize,
    /// Number of links, the previous state, and the link from there.
    before: BTreeMap<State, (usize, State, usize)>,
}

impl Ways {
    pub(crate) fn new(graph: &Connections<'_>, from: usize) -> Self {
        let mut before = BTreeMap::new();
        let mut queue = VecDeque::from([((from, false), 0)]);
        while let Some((state, length)) = queue.pop_front() {
            let (node, passed) = state;
            let enters = node != from && !graph.is_hub(node);
            // A path passes through one network only.
            if enters && passed {
                continue;
            }
            for &link in &graph.at[node] {
                for &end in &graph.links[link].ends {
                    let next = (end, passed || enters);
                    if end != from && !before.contains_key(&next) {
                        before.insert(next, (length + 1, state, link));
                        queue.push_back((next, length + 1));
                    }
                }
            }
        }
        Self { from, before }
    }

    pub(crate) fn from(&self) -> usize {
        self.from
    }

    /// The links from a node to the first one.
    pub(crate) fn to(&self, node: usize) -> Option<Vec<usize>> {
        let states = [(node, false), (node, true)];
        let mut state = states
            .into_iter()
            .filter_map(|state| Some((self.before.get(&state)?.0, state)))
            .min()
            .map(|(_, state)| state)?;
        let mut links = Vec::new();
        while let Some((_, previous, link)) = self.before.get(&state) {
            links.push(*link);
            state = *previous;
        }
        Some(links)
    }
}
