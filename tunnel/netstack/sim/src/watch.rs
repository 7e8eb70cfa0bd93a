//! What must hold of every TCP segment that a stack emits, whoever reads it.

use std::collections::BTreeMap;

use crate::ecn;

/// A connection as one side names it: address and port of the sender, then of the receiver.
type Line = (Vec<u8>, u16, Vec<u8>, u16);

#[derive(Default)]
struct Direction {
    /// Shift of the sender's windows; none before both SYNs were seen.
    scale: Option<u8>,
    offered: Option<u8>,
    /// Right edge of the last window that left.
    right: Option<u32>,
    /// The furthest that it ever was.
    furthest: Option<u32>,
    /// Initial sequence number, and whether one SYN, and every one, was such that sets up ECN (RFC 3168 §6.1.1).
    initial: u32,
    once: bool,
    always: bool,
    /// End of what was sent, where the last reduction was told, and the latest acknowledgement.
    sent: u32,
    told: Option<u32>,
    acked: u32,
}

/// Watches what two hosts emit.
#[derive(Default)]
pub struct Watch {
    lines: BTreeMap<Line, Direction>,
}

impl Watch {
    /// Checks a packet that leaves a stack.
    ///
    /// # Panics
    /// A window moved to the left although it is not closed, data lies beyond every window of its receiver, or ECN is used otherwise
    /// than RFC 3168 says.
    pub fn check(&mut self, now: u64, packet: &[u8]) {
        if let Err(broken) = self.look(packet) {
            panic!("at {now} ns {broken}");
        }
    }

    /// Takes note of a packet that leaves another implementation.
    pub fn note(&mut self, packet: &[u8]) {
        // What it does is its own affair.
        _ = self.look(packet);
    }

    fn look(&mut self, packet: &[u8]) -> Result<(), String> {
        let Some((from, to, tcp)) = split(packet) else {
            let bits = ecn(packet);
            return if bits == 0 { Ok(()) } else { Err(format!("ECN bits {bits} on what is no TCP")) };
        };
        let half = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let (line, back) =
            ((from.to_vec(), half(0), to.to_vec(), half(2)), (to.to_vec(), half(2), from.to_vec(), half(0)));
        let (flags, header) = (tcp[13], usize::from(tcp[12] >> 4) * 4);
        let (fin, syn, reset, acks) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0, flags & 16 != 0);
        let (bits, echo, reduced) = (ecn(packet), flags & 64 != 0, flags & 128 != 0);
        if reset {
            return if bits == 0 { Ok(()) } else { Err("a reset that takes marks".into()) };
        }
        if syn {
            let setup = echo && reduced != acks;
            if bits != 0 || (reduced && !setup) || (echo && !setup) {
                return Err(format!("a SYN with flags {flags:#x} and ECN bits {bits}"));
            }
            let again = self.lines.get(&line).filter(|known| known.initial == word(4));
            let once = setup || again.is_some_and(|known| known.once);
            let always = setup && again.is_none_or(|known| known.always);
            let offered = scale(&tcp[20..header]);
            // Its window is not scaled (RFC 7323 §2.2).
            let right = acks.then(|| word(8).wrapping_add(u32::from(half(14))));
            let (initial, sent) = (word(4), word(4).wrapping_add(1));
            let acked = word(8);
            let new = Direction {
                offered,
                right,
                furthest: right,
                initial,
                once,
                always,
                sent,
                acked,
                ..Direction::default()
            };
            self.lines.insert(line, new);
            return Ok(());
        }
        let other = self.lines.get(&back);
        let theirs = other.and_then(|other| other.offered);
        let (theirs_once, their_ack) = other.map_or((false, 0), |other| (other.once, other.acked));
        let own = self.lines.entry(line).or_default();
        let mut broken = None;
        let shift = *own.scale.get_or_insert(if theirs.is_some() { own.offered.unwrap_or(0) } else { 0 });
        let length = (tcp.len() - header) as u32;
        let seq = word(4);
        let fresh = length > 0 && seq.wrapping_sub(own.sent) as i32 >= 0;
        if bits != 0 && (bits != 2 || !fresh || !own.always || !theirs_once) {
            broken = Some(format!(
                "ECN bits {bits}, {length} bytes, new {fresh}, agreed {}",
                own.always && theirs_once
            ));
        }
        if reduced {
            let early = own.told.is_some_and(|told| (their_ack.wrapping_sub(told) as i32) < 0);
            if !fresh || bits == 0 || early {
                broken = Some(format!("a reduction told on {length} bytes, new {fresh}, early {early}"));
            }
            own.told = Some(seq);
        }
        if echo && !(theirs_once && own.once) {
            broken = Some("an echo on which the ends have not agreed".into());
        }
        let end = seq.wrapping_add(length + u32::from(fin));
        if end.wrapping_sub(own.sent) as i32 > 0 {
            own.sent = end;
        }
        if acks {
            own.acked = word(8);
            let (ack, window) = (word(8), u32::from(half(14)) << shift);
            let right = ack.wrapping_add(window);
            if let Some(known) = own.right {
                let back = known.wrapping_sub(right) as i32;
                // By less than a unit only where rounding up would promise memory that is not there (RFC 7323 §2.4).
                if back >= 1 << shift {
                    broken =
                        Some(format!("the right edge moved to the left by {back}, to a window of {window}"));
                }
            }
            own.right = Some(right);
            let further = own.furthest.is_none_or(|known| right.wrapping_sub(known) as i32 > 0);
            if further {
                own.furthest = Some(right);
            }
        }
        if length > 0
            && let Some(furthest) = self.lines.get(&back).and_then(|other| other.furthest)
        {
            let end = seq.wrapping_add(length);
            let over = end.wrapping_sub(furthest) as i32;
            if over > 0 {
                broken = Some(format!("data {over} bytes beyond every window, FIN {fin}"));
            }
        }
        broken.map_or(Ok(()), Err)
    }
}

/// Addresses and TCP segment of a packet.
fn split(packet: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    match packet.first()? >> 4 {
        4 if packet[9] == 6 => Some((&packet[12..16], &packet[16..20], &packet[20..])),
        6 if packet[6] == 6 => Some((&packet[8..24], &packet[24..40], &packet[40..])),
        _ => None,
    }
}

/// The window scale among the options of a SYN.
fn scale(mut options: &[u8]) -> Option<u8> {
    loop {
        match options {
            [3, 3, scale, ..] => return Some(*scale),
            [1, rest @ ..] => options = rest,
            [0, ..] | [] => return None,
            [_, length, ..] => options = options.get(usize::from(*length).max(2)..)?,
            [_] => return None,
        }
    }
}
