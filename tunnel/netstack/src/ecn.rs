//! Explicit congestion notification (RFC 3168): the switch, the bits of the IP header, and what one connection has agreed to.

use crate::wire::{Flags, Tcp};

/// Whether TCP uses explicit congestion notification (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Never.
    Off,
    /// With peers that ask for it, as Linux has it by default.
    #[default]
    Accept,
    /// With these, and connections that begin here ask for it.
    Ask,
}

/// The sender's transport does not take marks.
pub(crate) const NOT_ECT: u8 = 0;
/// It does.
pub(crate) const ECT_0: u8 = 2;
/// The path has marked the packet.
pub(crate) const CE: u8 = 3;

/// What the SYNs of a connection have agreed to, and what is echoed to the peer (RFC 3168 §6.1.1, §6.1.3).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Agreement {
    asks: bool,
    accepts: bool,
    /// A SYN or SYN,ACK of ours has offered it, and one of the peer.
    offered: bool,
    heard: bool,
    /// One of either side came without.
    plain: bool,
    /// A mark has arrived: every acknowledgement says so until the peer has reduced its window.
    echo: bool,
}

impl Agreement {
    pub(crate) fn new(asks: bool) -> Self {
        Self { asks, ..Self::default() }
    }

    /// Flags of a SYN that leaves now. One that is sent again does not ask: the path may drop those that do (§6.1.1.1).
    pub(crate) fn syn(&mut self, again: bool) -> u8 {
        let asks = self.asks && !again;
        self.offered |= asks;
        self.plain |= !asks;
        if asks { Flags::ECE | Flags::CWR } else { 0 }
    }

    /// Flags of a SYN,ACK that leaves now.
    pub(crate) fn syn_ack(&mut self) -> u8 {
        self.offered |= self.accepts;
        self.plain |= !self.accepts;
        if self.accepts { Flags::ECE } else { 0 }
    }

    /// The peer's SYN. One that is itself marked was mangled on the way: no SYN may say that it takes marks.
    pub(crate) fn heard_syn(&mut self, willing: bool, syn: &Tcp<'_>) {
        let setup = syn.flags.has(Flags::ECE) && syn.flags.has(Flags::CWR) && syn.ecn == NOT_ECT;
        self.accepts = willing && setup && !self.plain;
        self.heard |= setup;
        self.plain |= !setup;
    }

    /// The peer's SYN,ACK. One with both flags comes from a host that reflects what it does not know.
    pub(crate) fn heard_syn_ack(&mut self, answer: &Tcp<'_>) {
        let setup = answer.flags.has(Flags::ECE) && !answer.flags.has(Flags::CWR);
        self.heard |= setup;
        self.plain |= !setup;
    }

    /// Marks on what the peer sends are echoed.
    fn echoes(&self) -> bool {
        self.offered && self.heard
    }

    /// What we send may be marked.
    pub(crate) fn marks(&self) -> bool {
        self.echoes() && !self.plain
    }

    /// Data inside the window has arrived. True when the peer should hear of it at once.
    pub(crate) fn arrived(&mut self, data: &Tcp<'_>) -> bool {
        if !self.echoes() {
            return false;
        }
        let reduced = data.flags.has(Flags::CWR);
        let marked = data.ecn == CE;
        let news = reduced || (marked && !self.echo);
        self.echo = marked || (self.echo && !reduced);
        news
    }

    /// Flags of an acknowledgement.
    pub(crate) fn flags(&self) -> u8 {
        if self.echo { Flags::ECE } else { 0 }
    }
}

/// The bits of a packet from those of its fragments (§5.3); `None` when a mark came with a sender that takes none.
pub(crate) fn reassembled(fragments: impl Iterator<Item = u8>) -> Option<u8> {
    let (mut plain, mut marked, mut capable) = (false, false, NOT_ECT);
    for bits in fragments {
        match bits {
            NOT_ECT => plain = true,
            CE => marked = true,
            other => capable = other,
        }
    }
    match (plain, marked) {
        (true, true) => None,
        (true, false) => Some(NOT_ECT),
        (false, true) => Some(CE),
        (false, false) => Some(capable),
    }
}
