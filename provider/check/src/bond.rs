//! What two ranges have to do with each other: it decides how severe an overlap is, and what a finding says.

use crate::Severity;
use crate::table::Table;

/// The first of these that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bond {
    /// Both belong to one network, so the cloud refuses the second one.
    Network,
    /// They belong to different declared fabrics.
    Foreign,
    /// One is an entry of an address plan, a claim, or a reserved range, which belong to every fabric.
    Entry,
    /// Both belong to a declared fabric.
    Declared(usize),
    /// Links connect both networks, or the provider manages both.
    Linked,
    /// Address plans reserve the range of both.
    Planned,
    /// The network of at least one is not known. In one file of one owner, both may belong to the same one.
    Hidden {
        /// Whether they are in one file of one owner.
        together: bool,
    },
    /// Nothing in the files connects them.
    Apart,
}

impl Table<'_> {
    /// How two ranges belong together.
    pub(crate) fn bond(&self, left: usize, right: usize) -> Bond {
        let (one, other) = (&self.facts[left], &self.facts[right]);
        let nodes = one.node.zip(other.node);
        if nodes.is_some_and(|(one, other)| one == other) {
            return Bond::Network;
        }
        match (one.fabric, other.fabric) {
            (Some(left), Some(right)) if left != right => return Bond::Foreign,
            _ if one.entry || other.entry => return Bond::Entry,
            (Some(fabric), Some(_)) => return Bond::Declared(fabric),
            _ => {}
        }
        match nodes {
            Some((one, other)) if self.world.connections.connected(one, other) => Bond::Linked,
            _ if one.planned && other.planned => Bond::Planned,
            Some(_) => Bond::Apart,
            None => {
                let owner = |index: usize| &self.ranges[index].label.owner;
                let together = one.site.file == other.site.file && owner(left) == owner(right);
                Bond::Hidden { together }
            }
        }
    }

    /// The severity of a conflict of two ranges. `None` if it is ignored.
    pub(crate) fn severity(&self, left: usize, right: usize) -> Option<Severity> {
        match self.bond(left, right) {
            Bond::Foreign => None,
            Bond::Network | Bond::Entry | Bond::Hidden { together: true } => Some(Severity::Error),
            Bond::Declared(_) | Bond::Linked | Bond::Planned => self.world.fabrics.connected,
            Bond::Hidden { together: false } | Bond::Apart => self.world.fabrics.unconnected,
        }
    }

    /// What a finding says about the connection of two networks. `None` if there is nothing to say.
    pub(crate) fn tie(&self, left: usize, right: usize) -> Option<String> {
        let (one, other) = (&self.facts[left], &self.facts[right]);
        let world = self.world;
        Some(match self.bond(left, right) {
            Bond::Network | Bond::Entry | Bond::Foreign => return None,
            Bond::Declared(fabric) => {
                format!("both belong to the fabric {}", world.fabrics.declared[fabric].name)
            }
            Bond::Linked => {
                let (one, other) = one.node.zip(other.node)?;
                format!("connected by {}", world.connections.path(one, other)?)
            }
            Bond::Planned => "an address plan reserves the range of both".to_owned(),
            Bond::Hidden { .. } => {
                let lost =
                    [(one, left), (other, right)].into_iter().filter(|(facts, _)| facts.node.is_none());
                let names: Vec<&str> =
                    lost.map(|(_, index)| self.ranges[index].label.name.as_str()).collect();
                format!("the plan does not show the network of {}", names.join(" and "))
            }
            Bond::Apart => match world.connections.open(one.node, other.node) {
                Some(links) => format!("the plan does not show what {links} connects"),
                None => "nothing in the files connects them".to_owned(),
            },
        })
    }
}
