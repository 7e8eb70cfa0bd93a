//! The claims of all owners of a fabric.

mod document;
mod file;
mod object;
mod store;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use document::Document;
pub(crate) use store::{Change, Store, StoreError, Wanted, now};

use crate::index::Index;
use crate::{Key, Location};

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
    #[serde(deserialize_with = "word")]
    pub(crate) kind: String,
    pub(crate) name: String,
    #[serde(default, deserialize_with = "word", skip_serializing_if = "String::is_empty")]
    pub(crate) cloud: String,
    #[serde(default, deserialize_with = "word", skip_serializing_if = "String::is_empty")]
    pub(crate) account: String,
    #[serde(default, deserialize_with = "word", skip_serializing_if = "String::is_empty")]
    pub(crate) region: String,
    #[serde(deserialize_with = "network")]
    pub(crate) net: IpNet,
    pub(crate) role: ClaimRole,
    /// A claim of a plan that was not applied lapses then, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) planned_until: Option<u64>,
}

impl Claim {
    /// The claim of an owner's resource.
    pub(crate) fn new(owner: &str, key: &Key, role: ClaimRole, net: &IpNet) -> Claim {
        let Location { cloud, account, region } = key.location.clone();
        Claim {
            owner: owner.to_owned(),
            kind: key.kind.to_string(),
            name: key.name.clone(),
            cloud: cloud.into_owned(),
            account,
            region,
            net: net.trunc(),
            role,
            planned_until: None,
        }
    }

    /// Where the object is; empty in claims that version 1 of the format recorded.
    pub(crate) fn location(&self) -> Location {
        let (account, region) = (self.account.clone(), self.region.clone());
        Location { cloud: self.cloud.clone().into(), account, region }
    }

    /// The resource, for the same owner.
    pub(crate) fn key(&self) -> Key {
        Key {
            kind: self.kind.clone().into(),
            name: self.name.clone(),
            location: self.location(),
            owner: None,
        }
    }

    /// Whether it is of this resource of this owner.
    pub(crate) fn is_of(&self, owner: &str, key: &Key) -> bool {
        self.is_named(owner, key) && self.location() == key.location
    }

    /// Whether it is of a resource of this owner with this type and name, in any location.
    pub(crate) fn is_named(&self, owner: &str, key: &Key) -> bool {
        self.owner == owner && self.kind == key.kind && self.name == key.name
    }

    /// Whether it is of a plan that was not applied in time.
    pub(crate) fn lapsed(&self, now: u64) -> bool {
        self.planned_until.is_some_and(|until| until < now)
    }

    pub(crate) fn overlaps(&self, net: &IpNet) -> bool {
        self.net.contains(net) || net.contains(&self.net)
    }
}

/// Parses an identifier. It is part of messages, so it must not contain anything that a terminal interprets.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if text.len() > 128 || !text.chars().all(allowed) {
        return Err(D::Error::custom("expected up to 128 letters, digits, `-`, `_`, `.` and `:`"));
    }
    Ok(text)
}

fn network<'de, D: Deserializer<'de>>(from: D) -> Result<IpNet, D::Error> {
    IpNet::deserialize(from).map(|net| net.trunc())
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
