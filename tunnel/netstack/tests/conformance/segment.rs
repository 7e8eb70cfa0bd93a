//! A segment as scripts write it: sequence numbers count from the initial one, windows are bytes.

use std::fmt;

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;
pub(crate) const ECE: u8 = 64;
pub(crate) const CWR: u8 = 128;

/// What a script sends or expects. What it leaves open in an expectation is not compared; the rest must be equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Without PSH, which says nothing that a standard requires.
    pub(crate) flags: u8,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) length: usize,
    pub(crate) window: Option<u32>,
    pub(crate) mss: Option<u16>,
    pub(crate) scale: Option<u8>,
    pub(crate) sack_permitted: Option<bool>,
    /// Value and echo.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sacks: Vec<(u32, u32)>,
    /// ECN bits of the IP header.
    pub(crate) ecn: u8,
}

/// Data from `seq` on; acknowledges the SYN.
pub(crate) fn data(seq: u32, length: usize) -> Segment {
    Segment { flags: ACK, seq, ack: 1, length, ..Segment::default() }
}

/// An acknowledgement up to `ack` by a side that has sent nothing after its SYN.
pub(crate) fn ack(ack: u32) -> Segment {
    Segment { flags: ACK, seq: 1, ack, ..Segment::default() }
}

/// The end of a direction, at `seq`.
pub(crate) fn fin(seq: u32) -> Segment {
    Segment { flags: FIN | ACK, seq, ack: 1, ..Segment::default() }
}

/// A reset without an acknowledgement.
pub(crate) fn rst(seq: u32) -> Segment {
    Segment { flags: RST, seq, ..Segment::default() }
}

/// A SYN.
pub(crate) fn syn() -> Segment {
    Segment { flags: SYN, ..Segment::default() }
}

/// The answer to a SYN.
pub(crate) fn syn_ack() -> Segment {
    Segment { flags: SYN | ACK, ack: 1, ..Segment::default() }
}

impl Segment {
    pub(crate) fn seq(self, seq: u32) -> Self {
        Self { seq, ..self }
    }

    pub(crate) fn ack(self, ack: u32) -> Self {
        Self { ack, ..self }
    }

    pub(crate) fn fin(self) -> Self {
        Self { flags: self.flags | FIN, ..self }
    }

    /// With an acknowledgement; for resets.
    pub(crate) fn acking(self, ack: u32) -> Self {
        Self { flags: self.flags | ACK, ack, ..self }
    }

    pub(crate) fn window(self, bytes: u32) -> Self {
        Self { window: Some(bytes), ..self }
    }

    pub(crate) fn scale(self, scale: u8) -> Self {
        Self { scale: Some(scale), ..self }
    }

    pub(crate) fn sack(mut self, left: u32, right: u32) -> Self {
        self.sacks.push((left, right));
        self
    }

    /// With ECN-Echo: a mark has arrived, or in a SYN, marks are understood.
    pub(crate) fn echo(self) -> Self {
        Self { flags: self.flags | ECE, ..self }
    }

    /// With CWR: the window was reduced.
    pub(crate) fn reduced(self) -> Self {
        Self { flags: self.flags | CWR, ..self }
    }

    /// In a packet that the path may mark: ECT(0).
    pub(crate) fn ect(self) -> Self {
        Self { ecn: 2, ..self }
    }

    /// In a packet that the path has marked: CE.
    pub(crate) fn marked(self) -> Self {
        Self { ecn: 3, ..self }
    }

    /// Sent with this value and echo instead of the lab's own.
    pub(crate) fn timestamps(self, value: u32, echo: u32) -> Self {
        Self { timestamps: Some((value, echo)), ..self }
    }

    /// Whether `seen` is what this segment expects.
    pub(crate) fn admits(&self, seen: &Self) -> bool {
        fn open<T: PartialEq>(want: &Option<T>, have: &Option<T>) -> bool {
            want.is_none() || want == have
        }
        self.flags == seen.flags
            && self.seq == seen.seq
            && self.ack == seen.ack
            && self.length == seen.length
            && self.sacks == seen.sacks
            && self.ecn == seen.ecn
            && open(&self.window, &seen.window)
            && open(&self.mss, &seen.mss)
            && open(&self.scale, &seen.scale)
            && open(&self.sack_permitted, &seen.sack_permitted)
            && open(&self.timestamps, &seen.timestamps)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, name) in [(SYN, "S"), (FIN, "F"), (RST, "R"), (ECE, "E"), (CWR, "W")] {
            out.write_str(if self.flags & bit != 0 { name } else { "" })?;
        }
        write!(out, ". {}:{}", self.seq, self.seq.wrapping_add(self.length as u32))?;
        if self.flags & ACK != 0 {
            write!(out, " ack {}", self.ack)?;
        }
        if let Some(window) = self.window {
            write!(out, " win {window}")?;
        }
        if let Some(mss) = self.mss {
            write!(out, " mss {mss}")?;
        }
        if let Some(scale) = self.scale {
            write!(out, " wscale {scale}")?;
        }
        if let Some((value, echo)) = self.timestamps {
            write!(out, " ts {value}/{echo}")?;
        }
        for (left, right) in &self.sacks {
            write!(out, " sack {left}:{right}")?;
        }
        if self.ecn != 0 {
            write!(out, " ecn {}", self.ecn)?;
        }
        Ok(())
    }
}
