//! What the store holds: text keys, JSON values.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use warren_wire::enrolment::HostInfo;
use warren_wire::token::{KeyId, TokenId};
use warren_wire::{Name, PublicKey, UnixTime};

/// Names a record. Its text is what a store sorts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `lease/KEY`: a [`Lease`].
    Lease(PublicKey),
    /// `address/IP`: whose it is. Exists as long as a lease has the address, quarantine included.
    Address(IpAddr),
    /// `use/TOKEN/SLOT`: the peer that used a token.
    Use(TokenId, u32),
    /// `revoked/TOKEN`: no longer good.
    Revoked(TokenId),
    /// `evicted/KEY`: may not enrol.
    Evicted(PublicKey),
    /// `beat/KEY`: a gateway that reaches the store.
    Beat(PublicKey),
}

/// A text that is not a key of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the key of a lease record")]
pub struct KeyError;

/// A peer's addresses and life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// One address of each family of the pool.
    pub addresses: Vec<IpAddr>,
    /// What it may reach.
    pub group: Name,
    /// The ID of its token.
    pub token: TokenId,
    /// Its host's name.
    pub host: HostInfo,
    /// When it enrolled first.
    pub since: UnixTime,
    /// Where it is in its life.
    pub state: State,
    /// Whether a gateway is about to end the live lease, so that a gateway that still sees handshakes renews it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closing: bool,
    /// Which key signed its token; unknown in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<KeyId>,
    /// The address that it enrolled from: IPv4, or the first of an IPv6 /64. Unknown in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// Seconds between the enrolment and the writing of this record, as the clocks of its writers measured them.
    #[serde(default)]
    pub age: u64,
    /// Seconds after the enrolment at which it ends, however alive it is; that of the gateway in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// The gateway that the peer uses; unknown in records of earlier versions, and if the store is not shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<PublicKey>,
}

/// Where a lease is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A peer.
    Live {
        /// The last handshake that was written down, by the clock of its writer: for people.
        seen: UnixTime,
        /// Seconds that it lives after its last sign of life.
        ttl: u32,
        /// Seconds between the last sign of life and the writing of this record, as the clock of its writer measured them.
        #[serde(default, skip_serializing_if = "is_zero")]
        idle: u32,
    },
    /// No longer a peer; the addresses are kept from others.
    Quarantined {
        /// Until then.
        until: UnixTime,
        /// The reason for the end.
        why: Ending,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

impl State {
    /// Alive at a time, for so many seconds after it.
    pub(crate) fn alive(at: UnixTime, ttl: u32) -> Self {
        Self::Live { seen: at, ttl, idle: 0 }
    }
}

/// Why a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// No handshake for its TTL.
    Expired,
    /// The peer gave it back.
    Released,
    /// An operator took it away.
    Evicted,
    /// An operator revoked its token and ended what came of it.
    Revoked,
    /// It reached its longest life.
    MaxAge,
    /// The gateway no longer has the key that signed its token, or its group.
    Untrusted,
    /// Another key of the same host took its place in the token's number of uses.
    Replaced,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct AddressRecord {
    pub(crate) owner: PublicKey,
}

/// So many former keys of a slot are remembered.
const FORMER_KEPT: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UseRecord {
    pub(crate) key: PublicKey,
    /// The host's name: with another key it is the same user of the token. Empty in records of earlier versions.
    #[serde(default)]
    pub(crate) host: String,
    /// That of the token: after it the record is of no use.
    pub(crate) until: UnixTime,
    /// Keys of the same host that had the slot before, the last one at the end. They do not take it back while its holder has a
    /// live lease: two agents with one name would otherwise replace each other forever.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) former: Vec<PublicKey>,
}

impl UseRecord {
    /// The former keys, when another key takes the slot.
    pub(crate) fn replaced(&self, by: PublicKey) -> Vec<PublicKey> {
        let former = self.former.iter().filter(|key| **key != self.key).chain([&self.key]);
        let former: Vec<PublicKey> = former.filter(|key| **key != by).copied().collect();
        former[former.len().saturating_sub(FORMER_KEPT)..].to_vec()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RevokedRecord {
    pub(crate) until: UnixTime,
    /// Whether what came of the token ends too.
    pub(crate) peers: bool,
    /// Whether those who have used the token may still use it: it is not revoked, but peers of it are evicted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) known: bool,
    /// Evicted peers of the token, and until when each keeps new keys out. One record has them all, so that no gateway that knows
    /// only some of the evictions can shorten another.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) evicted: BTreeMap<PublicKey, UnixTime>,
}

impl RevokedRecord {
    /// When neither the revocation nor an eviction counts any more.
    pub(crate) fn end(&self) -> UnixTime {
        self.evicted.values().max().map_or(self.until, |last| self.until.max(*last))
    }

    /// Until when the token admits no new key because of evictions.
    pub(crate) fn suspended(&self) -> Option<UnixTime> {
        let until = self.evicted.values().max().copied();
        // Records of earlier versions do not name the peers.
        until.or_else(|| self.known.then_some(self.until))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EvictedRecord {
    pub(crate) until: UnixTime,
    /// The token of its lease, which admits no new key meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<TokenId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BeatRecord {
    /// The writer's time.
    pub(crate) at: UnixTime,
}

/// An atomic change of the store: applied if every record has the expected version, otherwise not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transaction {
    /// Records and the versions they must have; 0 means there must be none.
    pub expect: Vec<(Key, u64)>,
    /// Records to write.
    pub put: Vec<(Key, Vec<u8>)>,
    /// Records to remove.
    pub delete: Vec<Key>,
}

/// What a record has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which record.
    pub key: Key,
    /// Its value; `None` if it is gone.
    pub value: Option<Vec<u8>>,
    /// The store's revision that made it so; for a record that never was, any.
    pub version: u64,
}

impl Transaction {
    pub(crate) fn put_json(&mut self, key: Key, record: &impl Serialize) {
        // Texts, numbers and lists always have a JSON form.
        self.put.push((key, serde_json::to_vec(record).unwrap_or_default()));
    }
}

impl Lease {
    /// Whether it is a peer's.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.state, State::Live { .. })
    }

    /// When the state ends by itself, by the clock of its writer.
    pub(crate) fn until(&self) -> UnixTime {
        match self.state {
            State::Live { seen, ttl, .. } => seen.plus(Duration::from_secs(ttl.into())),
            State::Quarantined { until, .. } => until,
        }
    }

    /// The same lease, ended.
    pub(crate) fn ended(&self, why: Ending, until: UnixTime) -> Self {
        Self { state: State::Quarantined { until, why }, closing: false, ..self.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(key) => write!(f, "lease/{}", key.to_hex()),
            Self::Address(address) => write!(f, "address/{address}"),
            Self::Use(token, slot) => write!(f, "use/{token}/{slot}"),
            Self::Revoked(token) => write!(f, "revoked/{token}"),
            Self::Evicted(key) => write!(f, "evicted/{}", key.to_hex()),
            Self::Beat(key) => write!(f, "beat/{}", key.to_hex()),
        }
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (kind, rest) = text.split_once('/').ok_or(KeyError)?;
        let peer = || PublicKey::from_hex(rest).map_err(|_| KeyError);
        let token = |text: &str| text.parse::<TokenId>().map_err(|_| KeyError);
        match kind {
            "lease" => peer().map(Self::Lease),
            "address" => rest.parse().map(Self::Address).map_err(|_| KeyError),
            "use" => {
                let (id, slot) = rest.split_once('/').ok_or(KeyError)?;
                Ok(Self::Use(token(id)?, slot.parse().map_err(|_| KeyError)?))
            }
            "revoked" => token(rest).map(Self::Revoked),
            "evicted" => peer().map(Self::Evicted),
            "beat" => peer().map(Self::Beat),
            _ => Err(KeyError),
        }
    }
}
