//! What must hold of every TCP segment that a stack emits, whoever reads it.

use std::collections::BTreeMap;

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
    /// A window moved to the left although it is not closed, or data lies beyond every window of its receiver.
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
        let Some((from, to, tcp)) = split(packet) else { return Ok(()) };
        let half = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let (line, back) =
            ((from.to_vec(), half(0), to.to_vec(), half(2)), (to.to_vec(), half(2), from.to_vec(), half(0)));
        let (flags, header) = (tcp[13], usize::from(tcp[12] >> 4) * 4);
        let (fin, syn, reset, acks) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0, flags & 16 != 0);
        if reset {
            return Ok(());
        }
        if syn {
            let offered = scale(&tcp[20..header]);
            // Its window is not scaled (RFC 7323 §2.2).
            let right = acks.then(|| word(8).wrapping_add(u32::from(half(14))));
            self.lines.insert(line, Direction { scale: None, offered, right, furthest: right });
            return Ok(());
        }
        let theirs = self.lines.get(&back).and_then(|other| other.offered);
        let own = self.lines.entry(line).or_default();
        let mut broken = None;
        let shift = *own.scale.get_or_insert(if theirs.is_some() { own.offered.unwrap_or(0) } else { 0 });
        if acks {
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
        let length = (tcp.len() - header) as u32;
        if length > 0
            && let Some(furthest) = self.lines.get(&back).and_then(|other| other.furthest)
        {
            let end = word(4).wrapping_add(length);
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
