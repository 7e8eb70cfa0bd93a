//! What was sent, what may be delivered.

use std::collections::BTreeMap;
use std::time::Duration;

use warren_proto::plane::PeerId;
use warren_proto::time::limits::{FIRST_RETRY, REJECT_AFTER_TIME, REKEY_TIMEOUT};

/// Bytes of an inner packet: an IPv4 header, the packet's number and its check.
pub(crate) const PACKET: usize = 48;

#[derive(Debug, Clone, Copy)]
struct Sent {
    from: usize,
    to: usize,
    at: Duration,
    delivered: bool,
}

#[derive(Default)]
pub(crate) struct Model {
    sent: Vec<Sent>,
    /// First time that a data message of an index arrived at a node.
    first_use: BTreeMap<(usize, u32), Duration>,
    /// The last initiation of a node to a peer, and how many there were.
    last_initiation: BTreeMap<(usize, PeerId), (Duration, u64)>,
    pub(crate) delivered: u64,
    /// A digest of everything that was delivered and when.
    pub(crate) trace: u64,
}

impl Model {
    /// A new packet from one node to another.
    pub(crate) fn packet(&mut self, now: Duration, from: usize, to: usize) -> Vec<u8> {
        let number = self.sent.len() as u64;
        self.sent.push(Sent { from, to, at: now, delivered: false });
        let mut packet = vec![0; PACKET];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(PACKET as u16).to_be_bytes());
        packet[12..16].copy_from_slice(&inner(from).octets());
        packet[16..20].copy_from_slice(&inner(to).octets());
        packet[20..28].copy_from_slice(&number.to_le_bytes());
        packet[28..36].copy_from_slice(&check(number).to_le_bytes());
        packet
    }

    pub(crate) fn deliver(&mut self, now: Duration, to: usize, packet: &[u8]) {
        assert_eq!(packet.len(), PACKET);
        let word = |at: usize| u64::from_le_bytes(packet[at..at + 8].try_into().expect("8 bytes"));
        let number = word(20);
        let sent = self.sent.get_mut(number as usize).expect("a packet that was never sent");
        assert_eq!(word(28), check(number), "a packet that was changed");
        assert_eq!(packet[12..16], inner(sent.from).octets(), "source of packet {number}");
        assert_eq!(to, sent.to, "packet {number} at the wrong peer");
        assert!(!sent.delivered, "packet {number} delivered twice");
        sent.delivered = true;
        self.delivered += 1;
        self.trace = (self.trace ^ number ^ now.as_nanos() as u64).wrapping_mul(0x100_0000_01b3);
    }

    /// A data message of an index was accepted by a node.
    pub(crate) fn used(&mut self, now: Duration, node: usize, index: u32) {
        let first = *self.first_use.entry((node, index)).or_insert(now);
        assert!(
            now - first < REJECT_AFTER_TIME,
            "index {index} of node {node} is used for {:?}",
            now - first
        );
    }

    /// A node sent an initiation.
    pub(crate) fn initiated(&mut self, now: Duration, node: usize, to: PeerId) {
        let (last, count) = self.last_initiation.get(&(node, to)).copied().unwrap_or_default();
        self.last_initiation.insert((node, to), (now, count + 1));
        let least = match count {
            0 => return,
            1 => FIRST_RETRY,
            _ => REKEY_TIMEOUT,
        };
        assert!(now - last >= least, "initiations of node {node} only {:?} apart", now - last);
    }

    /// A node forgot all it knew.
    pub(crate) fn restarted(&mut self, node: usize) {
        self.last_initiation.retain(|(of, _), _| *of != node);
        self.first_use.retain(|(of, _), _| *of != node);
    }

    /// All packets sent in this time have arrived.
    pub(crate) fn all_arrived(&self, from: Duration, to: Duration) {
        for (number, sent) in self.sent.iter().enumerate() {
            if sent.at >= from && sent.at < to {
                assert!(
                    sent.delivered,
                    "packet {number} from {} to {} of {:?} is lost (calm since {from:?})",
                    sent.from, sent.to, sent.at
                );
            }
        }
    }

    /// Forgets the uses of indices that are long past: an index may come again.
    pub(crate) fn prune(&mut self, now: Duration) {
        self.first_use.retain(|_, first| now.saturating_sub(*first) < 2 * REJECT_AFTER_TIME);
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.len()
    }
}

/// The inner address of a node.
pub(crate) fn inner(node: usize) -> std::net::Ipv4Addr {
    std::net::Ipv4Addr::from(0x0a00_0000 + node as u32 + 1)
}

fn check(number: u64) -> u64 {
    (number ^ 0x5555).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
