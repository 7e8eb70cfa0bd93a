//! Who reached what, how much, and when.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Serialize, Serializer};
use warren_wire::gateway::Protocol;
use warren_wire::{Name, PublicKey, UnixTime};

use super::Denial;

/// A flow in the audit log: connections of one peer to the same port of the same host are one flow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FlowKey {
    /// The public key of the peer.
    pub peer: PublicKey,
    /// Of which group.
    pub group: Name,
    /// From which of its addresses.
    pub source: IpAddr,
    /// To where.
    pub destination: IpAddr,
    /// How.
    pub protocol: Protocol,
    /// To which port; 0 for ICMP.
    pub port: u16,
    /// Why it was refused; `None` if it was not.
    #[serde(serialize_with = "denial_or_allowed", rename = "verdict")]
    pub denied: Option<Denial>,
}

/// One line of the audit: what happened from a time to another. Its JSON form is flat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRecord {
    /// The first packet or connection.
    pub from: UnixTime,
    /// The last.
    pub to: UnixTime,
    /// What.
    #[serde(flatten)]
    pub flow: FlowKey,
    /// Connections, or refused packets.
    pub count: u64,
    /// Bytes from the peer.
    pub bytes_out: u64,
    /// Bytes to the peer.
    pub bytes_in: u64,
}

/// Gathers what happens, and gives it as records from time to time. Bounded: what does not fit is counted.
#[derive(Debug)]
pub struct Audit {
    flows: BTreeMap<FlowKey, AuditRecord>,
    capacity: usize,
    lost: u64,
}

impl Audit {
    /// For at most so many different flows between two calls of [`Audit::drain`].
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { flows: BTreeMap::new(), capacity, lost: 0 }
    }

    /// Adds what happened: connections or packets, and bytes.
    pub fn add(&mut self, now: UnixTime, flow: &FlowKey, count: u64, bytes_out: u64, bytes_in: u64) {
        if let Some(record) = self.flows.get_mut(flow) {
            record.to = now;
            record.count += count;
            record.bytes_out += bytes_out;
            record.bytes_in += bytes_in;
        } else if self.flows.len() < self.capacity {
            let record = AuditRecord { from: now, to: now, flow: flow.clone(), count, bytes_out, bytes_in };
            self.flows.insert(flow.clone(), record);
        } else {
            self.lost += 1;
        }
    }

    /// What happened since the last call, in the order of peers and destinations, and how often there was no room.
    pub fn drain(&mut self) -> (Vec<AuditRecord>, u64) {
        let flows = std::mem::take(&mut self.flows);
        (flows.into_values().collect(), std::mem::take(&mut self.lost))
    }
}

impl AuditRecord {
    /// One line of JSON, without its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts and numbers always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn denial_or_allowed<S: Serializer>(denied: &Option<Denial>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(denied.map_or("allowed", Denial::name))
}
