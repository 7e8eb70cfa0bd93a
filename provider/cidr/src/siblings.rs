//! Ranges that compete with each other: the networks of a family, or the subnets of one network.

use crate::bits::Spans;
use crate::level::Demand;
use crate::tree::Node;
use crate::{NetworkRequest, Request};
use ipnet::IpNet;

/// The space for a range: all of it, and without the blocks that should be avoided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Space {
    pub(crate) whole: Spans<u128>,
    pub(crate) calm: Spans<u128>,
}

/// Siblings: the networks of a family, or the subnets of one network.
#[derive(Default)]
pub(crate) struct Level<'n> {
    pub(crate) nodes: Vec<&'n Node>,
    pub(crate) spaces: Vec<Space>,
    pub(crate) space_of: Vec<usize>,
    pub(crate) reserved: Vec<(&'n str, IpNet)>,
    pub(crate) top: bool,
}

impl<'n> Level<'n> {
    /// The index of a space. Equal spaces share an index.
    pub(crate) fn space(&mut self, space: Space) -> usize {
        self.spaces.iter().position(|known| *known == space).unwrap_or_else(|| {
            self.spaces.push(space);
            self.spaces.len() - 1
        })
    }

    pub(crate) fn add(&mut self, node: &'n Node, at: usize) {
        self.nodes.push(node);
        self.space_of.push(at);
    }

    /// The spaces and the demands of these nodes.
    pub(crate) fn demands(&self, open: &[usize], calm: bool) -> (Vec<Spans<u128>>, Vec<Demand>) {
        let regions =
            self.spaces.iter().map(|space| if calm { &space.calm } else { &space.whole }).cloned().collect();
        let demands = open
            .iter()
            .map(|&index| Demand { order: self.nodes[index].order(), region: self.space_of[index] })
            .collect();
        (regions, demands)
    }
}

/// The blocks of the pools of a network.
pub(crate) fn pool_blocks(request: &Request, wanted: &NetworkRequest) -> Vec<IpNet> {
    pool_nets(request, wanted).copied().collect()
}

/// The blocks of the pools of a network, borrowed.
pub(crate) fn pool_nets<'a>(
    request: &'a Request,
    wanted: &'a NetworkRequest,
) -> impl Iterator<Item = &'a IpNet> {
    wanted.pools.iter().filter_map(|pool| request.pools.get(pool)).flatten()
}
