//! The claims of all owners of a fabric.

mod document;
mod file;
mod object;
mod store;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub(crate) use document::Document;
pub(crate) use store::{Change, Store, StoreError};

use crate::index::Index;

/// What a claimed range is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimRole {
    /// An entry of an address plan.
    Reserve,
    /// A network.
    Occupy,
}

/// One claimed range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) owner: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) net: IpNet,
    pub(crate) role: ClaimRole,
}

/// Claims, searchable.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    index: Index<Claim>,
}

impl Claims {
    pub(crate) fn new(claims: Vec<Claim>) -> Claims {
        let mut index = Index::default();
        for claim in claims {
            index.insert(claim.net, claim);
        }
        Claims { index }
    }

    pub(crate) fn overlapping(&self, net: &IpNet) -> impl Iterator<Item = &Claim> {
        self.index.overlapping(net).map(|(_, claim)| claim)
    }

    pub(crate) fn nets(&self) -> impl Iterator<Item = IpNet> {
        self.index.iter().map(|(net, _)| net)
    }
}
