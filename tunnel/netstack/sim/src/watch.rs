//! What must hold of every TCP segment that a stack emits, whoever reads it.

use std::collections::{BTreeMap, VecDeque};

use crate::link::{ecn, sum};

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
    /// Something was sent again since: a timeout may have reduced the window once more.
    again: bool,
    acked: u32,
    /// Both SYNs permitted selective acknowledgements.
    selective: bool,
    permits: bool,
    /// What lies beyond `acked` and was acknowledged selectively.
    beyond: Vec<(u32, u32)>,
    /// Duplicates that have arrived, and when: the first block of an acknowledgement owes each a report (RFC 2883 §4).
    owed: VecDeque<(u64, u32, u32)>,
    /// It has sent its own end, and acknowledged that of the peer: what is left knows no duplicates.
    ended: bool,
    finished: bool,
    /// The largest segment that it takes, how often the first unacknowledged one was sent again
    /// since something arrived, and the bytes sent since the second time, which was a timeout.
    mss: u32,
    una: u32,
    repeats: u32,
    after_timeout: Option<u32>,
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
    /// A window moved to the left although it is not closed, data lies beyond every window of its receiver, a duplicate was not
    /// reported, more than a segment left after a timeout, or ECN is used otherwise than RFC 3168 says.
    pub fn check(&mut self, now: u64, packet: &[u8]) {
        if let Err(broken) = self.look(packet).and_then(|()| self.answered(now, packet)) {
            panic!("at {now} ns {broken}");
        }
    }

    /// Takes note of a packet that leaves another implementation.
    pub fn note(&mut self, packet: &[u8]) {
        // What it does is its own affair.
        _ = self.look(packet);
    }

    /// A packet arrives at a stack whose packets are checked.
    pub fn arrive(&mut self, now: u64, packet: &[u8]) {
        let Some((from, to, tcp)) = split(packet) else {
            // An error of the path may change what is lost.
            for own in self.lines.values_mut() {
                (own.repeats, own.after_timeout) = (0, None);
            }
            return;
        };
        let pseudo: u32 = from.chunks(2).chain(to.chunks(2)).map(|pair| u32::from(half(pair, 0))).sum();
        let whole = match packet[0] >> 4 {
            4 => sum(&packet[..20], 0) == 0,
            _ => usize::from(half(packet, 4)) == tcp.len(),
        };
        if !whole || sum(tcp, pseudo + 6 + tcp.len() as u32) != 0 {
            return;
        }
        let Some(own) = self.lines.get_mut(&(to.to_vec(), half(tcp, 2), from.to_vec(), half(tcp, 0))) else {
            return;
        };
        (own.repeats, own.after_timeout) = (0, None);
        if tcp[13] & 16 != 0 && after(word(tcp, 8), own.una) {
            own.una = word(tcp, 8);
        }
        let header = usize::from(tcp[12] >> 4) * 4;
        let (start, end) = (word(tcp, 4), word(tcp, 4).wrapping_add((tcp.len() - header) as u32));
        let known = |left: u32, right: u32| !after(left, start) && !after(end, right);
        let old = !after(end, own.acked) || own.beyond.iter().any(|(left, right)| known(*left, *right));
        let usual = tcp[13] & 7 & !1 == 0 && own.selective && !own.finished && own.owed.len() < OWED;
        if start != end && old && usual {
            own.owed.push_back((now, start, end));
        }
    }

    /// What has arrived before now is answered.
    fn answered(&mut self, now: u64, packet: &[u8]) -> Result<(), String> {
        let Some((from, to, tcp)) = split(packet) else { return Ok(()) };
        let line = (from.to_vec(), half(tcp, 0), to.to_vec(), half(tcp, 2));
        let Some(own) = self.lines.get_mut(&line) else { return Ok(()) };
        if tcp[13] & 4 != 0 || own.finished {
            own.owed.clear();
        }
        let header = usize::from(tcp[12] >> 4) * 4;
        let blocks = blocks(&tcp[20..header]);
        if let Some((left, right)) = blocks.first()
            && let Some(place) =
                own.owed.iter().position(|(_, start, end)| !after(*start, *left) && !after(*right, *end))
        {
            own.owed.remove(place);
        }
        own.beyond.extend(blocks);
        let acked = own.acked;
        own.beyond.retain(|(_, right)| after(*right, acked));
        match own.owed.front() {
            Some((at, start, end)) if *at < now => {
                Err(format!("no report of the duplicate {start}..{end}, which came at {at} ns"))
            }
            _ => Ok(()),
        }
    }

    fn look(&mut self, packet: &[u8]) -> Result<(), String> {
        let Some((from, to, tcp)) = split(packet) else {
            let bits = ecn(packet);
            return if bits == 0 { Ok(()) } else { Err(format!("ECN bits {bits} on what is no TCP")) };
        };
        let (half, word) = (|at: usize| half(tcp, at), |at: usize| word(tcp, at));
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
            let offered = option(&tcp[20..header], SCALE).map(|value| value[0]);
            let mss = option(&tcp[20..header], MSS).map_or(0, |value| u32::from(self::half(value, 0)));
            let permits = option(&tcp[20..header], SACK_PERMITTED).is_some();
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
                permits,
                mss,
                una: initial,
                ..Direction::default()
            };
            self.lines.insert(line, new);
            return Ok(());
        }
        let other = self.lines.get(&back);
        let theirs = other.and_then(|other| other.offered);
        let (theirs_once, their_ack) = other.map_or((false, 0), |other| (other.once, other.acked));
        let permits = other.is_some_and(|other| other.permits);
        let their_mss = other.map_or(0, |other| other.mss);
        let their_end = other.filter(|other| other.ended).map(|other| other.sent);
        let own = self.lines.entry(line).or_default();
        let mut broken = None;
        let shift = *own.scale.get_or_insert(if theirs.is_some() { own.offered.unwrap_or(0) } else { 0 });
        let length = (tcp.len() - header) as u32;
        let seq = word(4);
        let fresh = length > 0 && seq.wrapping_sub(own.sent) as i32 >= 0;
        own.selective = own.permits && permits;
        if bits != 0 && (bits != 2 || !fresh || !own.always || !theirs_once) {
            broken = Some(format!(
                "ECN bits {bits}, {length} bytes, new {fresh}, agreed {}",
                own.always && theirs_once
            ));
        }
        if reduced {
            let early = !own.again && own.told.is_some_and(|told| (their_ack.wrapping_sub(told) as i32) < 0);
            if !fresh || bits == 0 || early {
                broken = Some(format!("a reduction told on {length} bytes, new {fresh}, early {early}"));
            }
            own.told = Some(seq);
            own.again = false;
        }
        own.again |= length > 0 && !fresh;
        if echo && !(theirs_once && own.once) {
            broken = Some("an echo on which the ends have not agreed".into());
        }
        if length > 0 {
            if seq == own.una && !fresh {
                own.repeats += 1;
                own.after_timeout = (own.repeats > 1).then_some(0);
            }
            if let Some(bytes) = &mut own.after_timeout {
                // RFC 5681 §3.1: the window after a timeout is one segment.
                *bytes += length;
                if *bytes > their_mss {
                    broken = Some(format!("{bytes} bytes after a timeout, to a peer that takes {their_mss}"));
                }
            }
        }
        own.ended |= fin;
        own.finished |= own.ended && acks && their_end.is_some_and(|end| !after(end, word(8)));
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

const MSS: u8 = 2;
const SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
/// Duplicates that a stack must remember at once.
const OWED: usize = 4;

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) << 16 | u32::from(half(bytes, at + 2))
}

/// Sequence number `a` comes after `b`.
fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// The ranges of a selective acknowledgement.
fn blocks(options: &[u8]) -> Vec<(u32, u32)> {
    let value = option(options, SACK).unwrap_or_default();
    value.chunks_exact(8).map(|block| (word(block, 0), word(block, 4))).collect()
}

/// The value of the first option of a kind.
fn option(mut options: &[u8], kind: u8) -> Option<&[u8]> {
    loop {
        match options {
            [1, rest @ ..] => options = rest,
            [found, length, ..] if *found != 0 => {
                let (option, rest) = options.split_at_checked(usize::from(*length).max(2))?;
                if *found == kind {
                    return Some(&option[2..]);
                }
                options = rest;
            }
            _ => return None,
        }
    }
}
