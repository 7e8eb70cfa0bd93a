//! Processing of incoming segments (RFC 9293 §3.10.7).

use super::*;

impl Conn {
    /// A segment for this connection (RFC 9293 §3.10.7).
    pub(crate) fn segment(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) {
        match self.state {
            State::SynSent => self.segment_syn_sent(ctx, tcp),
            State::Closed | State::TimeWait => {}
            _ => self.segment_synchronised(ctx, tcp),
        }
    }

    /// RFC 9293 §3.10.7.3.
    pub(super) fn segment_syn_sent(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) {
        let acks = tcp.flags.has(Flags::ACK);
        let good = acks && self.snd.nxt == 1 && tcp.ack == to_wire(self.snd.initial, 1);
        if acks && !good {
            if !tcp.flags.has(Flags::RST) {
                push(
                    ctx.control,
                    Control {
                        local: self.local,
                        remote: self.remote,
                        seq: tcp.ack,
                        ack: 0,
                        flags: Flags::RST,
                        window: 0,
                        timestamps: None,
                    },
                );
            }
            return;
        }
        if tcp.flags.has(Flags::RST) {
            if good {
                self.close(ctx, State::Closed, CloseReason::Refused);
            }
            return;
        }
        if !tcp.flags.has(Flags::SYN) {
            return;
        }
        self.heard(ctx.now);
        self.rcv.synchronise(tcp.seq);
        self.negotiate(ctx.now, tcp);
        self.snd.update_window(0, 0, u64::from(tcp.window));
        if good {
            if self.snd.rtt.backoff() == 0 {
                let rtt = ctx.now.saturating_sub(self.started_at);
                self.snd.rtt.sample(ctx.now, rtt);
                self.rcv.sample(rtt);
            }
            self.snd.update_window(0, 1, u64::from(tcp.window));
            self.ecn.heard_syn_ack(tcp);
            self.establish(ctx);
            self.rcv.due = true;
            if !tcp.payload.is_empty() || tcp.flags.has(Flags::FIN) {
                self.data(ctx, 1, tcp);
            }
        } else {
            // Simultaneous open.
            self.ecn.heard_syn(ctx.config.ecn != Ecn::Off, tcp);
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    pub(super) fn segment_synchronised(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) {
        let flags = tcp.flags;
        let syn_received = self.state == State::SynReceived;
        if syn_received && flags.has(Flags::SYN) && tcp.seq == self.rcv.initial && !flags.has(Flags::RST) {
            if !flags.has(Flags::ACK) {
                // The peer's SYN again: our answer was lost.
                self.ecn.heard_syn(ctx.config.ecn != Ecn::Off, tcp);
                self.syn_due = !self.held;
                return;
            }
            if tcp.ack != to_wire(self.snd.initial, 1) {
                return;
            }
            // Simultaneous open: the rest of the segment is an ordinary one that begins after the SYN.
            self.ecn.heard_syn_ack(tcp);
            let rest = flags.0 & !(Flags::SYN | Flags::ECE | Flags::CWR);
            let rest = Tcp { seq: tcp.seq.wrapping_add(1), flags: Flags(rest), ecn: NOT_ECT, ..*tcp };
            // A SYN's window is not scaled (RFC 7323 §2.2).
            return self.segment_after_syn(ctx, &rest, 0);
        }
        self.segment_after_syn(ctx, tcp, self.snd.scale);
    }

    /// A segment whose sequence number follows the SYN, with the scale of its window.
    fn segment_after_syn(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>, scale: u8) {
        let flags = tcp.flags;
        let seq = from_wire(self.rcv.initial, self.rcv.nxt, tcp.seq);
        if !self.timestamp_fits(ctx, tcp) {
            self.duplicate(seq, tcp);
            return;
        }
        let probe = self.probes_window(seq, tcp);
        if !self.inside_window(seq, tcp) {
            if probe {
                self.ecn.arrived(tcp);
            }
            if !flags.has(Flags::RST) {
                self.duplicate(seq, tcp);
                self.stray(ctx, !tcp.payload.is_empty() || flags.has(Flags::FIN));
            }
            return;
        }
        // Inside the window implies not before offset 0.
        let seq = seq.max(0) as u64;
        if flags.has(Flags::RST) {
            return self.reset(ctx, seq);
        }
        if flags.has(Flags::SYN) {
            return self.challenge(ctx);
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if let (Some(timestamps), Some((value, _))) = (&mut self.timestamps, tcp.options.timestamps)
            && seq <= self.rcv.acknowledged
        {
            timestamps.recent = value;
            timestamps.recent_at = ctx.now;
        }
        if !self.acknowledgement(ctx, seq, tcp, scale) {
            return;
        }
        self.heard(ctx.now);
        // What lies outside of the window says nothing (RFC 3168 §6.1.5).
        if !tcp.payload.is_empty() && (probe || self.rcv.right() > self.rcv.nxt) {
            self.rcv.due |= self.ecn.arrived(tcp);
        }
        if !tcp.payload.is_empty() || flags.has(Flags::FIN) {
            self.data(ctx, seq, tcp);
        }
    }

    /// PAWS (RFC 7323 §5.3). False drops the segment.
    pub(super) fn timestamp_fits(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) -> bool {
        let Some(timestamps) = &self.timestamps else { return true };
        if tcp.flags.has(Flags::RST) {
            return true;
        }
        let Some((value, _)) = tcp.options.timestamps else { return false };
        let old =
            before(value, timestamps.recent) && ctx.now.saturating_sub(timestamps.recent_at) < TIMESTAMP_AGE;
        if old {
            self.stray(ctx, !tcp.payload.is_empty());
        }
        !old
    }

    /// RFC 9293 §3.10.7.4, first check; a segment that begins before the window and reaches into it is fine.
    pub(super) fn inside_window(&self, seq: i64, tcp: &Tcp<'_>) -> bool {
        let length = tcp.payload.len() as i64 + i64::from(tcp.flags.has(Flags::FIN));
        let next = self.rcv.nxt as i64;
        let right = self.rcv.right() as i64;
        if length == 0 {
            seq == next || (seq >= next && seq < right)
        } else if right == next {
            // A zero window: what it acknowledges still counts, its data does not.
            seq == next
        } else {
            seq < right && seq + length > next
        }
    }

    /// A probe of our closed window (RFC 9293 §3.8.6.1): one byte beyond it, or an old sequence number as Linux and we send it.
    /// Who sends it knows the exact sequence number, so a mark on it counts (RFC 3168 §6.1.6).
    fn probes_window(&self, seq: i64, tcp: &Tcp<'_>) -> bool {
        let next = self.rcv.nxt as i64;
        let exact = seq + 1 == next || (seq == next && !tcp.payload.is_empty());
        exact && tcp.payload.len() <= 1 && self.rcv.right() == self.rcv.nxt && !tcp.flags.has(Flags::RST)
    }

    /// A segment that is dropped whole: what of its data had arrived before is reported (RFC 2883 §4).
    fn duplicate(&mut self, seq: i64, tcp: &Tcp<'_>) {
        if let Ok(start) = u64::try_from(seq)
            && start >= 1
        {
            self.rcv.dropped(start..start + tcp.payload.len() as u64);
        }
    }

    /// RFC 5961 §3.2.
    pub(super) fn reset(&mut self, ctx: &mut Context<'_>, seq: u64) {
        if seq != self.rcv.nxt {
            return self.challenge(ctx);
        }
        let reason = match self.state {
            State::SynReceived => CloseReason::Refused,
            State::LastAck | State::Closing => CloseReason::Finished,
            _ => CloseReason::Reset,
        };
        self.close(ctx, State::Closed, reason);
    }

    pub(super) fn challenge(&mut self, ctx: &mut Context<'_>) {
        // Each connection has its own limit: a common one would tell an attacker of the others (RFC 5961 §7).
        if self.challenged_at.is_none_or(|at| ctx.now.saturating_sub(at) >= STRAY_INTERVAL) {
            self.challenged_at = Some(ctx.now);
            self.rcv.due = true;
        }
    }

    /// Answers a segment outside the window; without data not often, so that two confused ends do not loop.
    pub(super) fn stray(&mut self, ctx: &Context<'_>, data: bool) {
        if data || ctx.now.saturating_sub(self.stray_at) >= STRAY_INTERVAL {
            self.stray_at = ctx.now;
            self.rcv.due = true;
        }
    }

    /// The ACK field, the window and the state changes they bring. False drops the rest of the segment.
    pub(super) fn acknowledgement(
        &mut self,
        ctx: &mut Context<'_>,
        seq: u64,
        tcp: &Tcp<'_>,
        scale: u8,
    ) -> bool {
        let ack = from_wire(self.snd.initial, self.snd.una, tcp.ack);
        if self.state == State::SynReceived {
            if self.held || ack != 1 {
                if *ctx.reset_tokens > 0 && !self.held {
                    *ctx.reset_tokens -= 1;
                    self.push_reset(ctx, tcp.ack);
                }
                return false;
            }
            if self.snd.rtt.backoff() == 0 {
                let rtt = ctx.now.saturating_sub(self.started_at);
                self.snd.rtt.sample(ctx.now, rtt);
                self.rcv.sample(rtt);
            }
            self.establish(ctx);
        }
        // RFC 5961 §5.2.
        if ack > self.snd.nxt as i64 || ack < self.snd.una as i64 - (1 << 30) {
            self.challenge(ctx);
            return false;
        }
        let window = u64::from(tcp.window) << scale;
        let Ok(ack) = u64::try_from(ack) else { return true };
        if ack < self.snd.una {
            return true;
        }
        let known = self.snd.right;
        self.snd.update_window(seq, ack, window);
        let mut blocks: [Range<u64>; 4] = [const { 0..0 }; 4];
        let mut count = 0;
        if self.snd.sack {
            for (left, right) in tcp.options.sacks() {
                let left = from_wire(self.snd.initial, self.snd.una, *left);
                let right = from_wire(self.snd.initial, self.snd.una, *right);
                if left >= 0 && right > left {
                    blocks[count] = left as u64..right as u64;
                    count += 1;
                }
            }
        }
        let echo = self.timestamps.as_ref().zip(tcp.options.timestamps);
        let incoming = Incoming {
            offset: ack,
            sacks: &blocks[..count],
            echoed_at: echo.and_then(|(own, (_, echo))| {
                let age = own.clock(ctx.now).wrapping_sub(echo);
                (echo != 0 && age < 600_000).then(|| (ctx.now / MS).saturating_sub(age.into()) * MS)
            }),
            echo_before_timeout: echo.is_some_and(|(own, (_, echo))| {
                own.timeout.is_some_and(|timeout| echo != 0 && before(echo, timeout))
            }),
            echo: tcp.flags.has(Flags::ECE),
            bare: tcp.payload.is_empty() && self.snd.right == known && !tcp.flags.has(Flags::FIN),
        };
        self.snd.acknowledge(ctx.now, ctx.pool, &incoming);
        // A larger segment may have arrived.
        self.mtu = self.mtu.max(self.snd.mss() as usize + self.headers());
        if self.starved && self.snd.worth_telling(ctx.pool) {
            self.starved = false;
            self.news.writable = true;
        }
        if self.snd.fin_acknowledged() {
            match self.state {
                State::FinWait1 => {
                    self.state = State::FinWait2;
                    self.linger(ctx);
                }
                State::Closing => self.close(ctx, State::TimeWait, CloseReason::Finished),
                State::LastAck => self.close(ctx, State::Closed, CloseReason::Finished),
                _ => {}
            }
        }
        true
    }

    pub(super) fn data(&mut self, ctx: &mut Context<'_>, seq: u64, tcp: &Tcp<'_>) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            // After the peer's FIN there is nothing to take; what comes is old and acknowledged again.
            self.rcv.due = true;
            return;
        }
        if self.detached && !tcp.payload.is_empty() && seq + tcp.payload.len() as u64 > self.rcv.nxt {
            // Nobody will read it (RFC 9293 §3.10.4.3 lets us say so).
            return self.abort(ctx, CloseReason::Aborted);
        }
        if let (Some(timestamps), Some((_, echo))) = (&self.timestamps, tcp.options.timestamps) {
            let age = timestamps.clock(ctx.now).wrapping_sub(echo);
            if echo != 0 && age < 10_000 {
                self.rcv.sample(Nanos::from(age) * MS);
            }
        }
        let (readable, finished) = (self.rcv.readable(), self.rcv.finished());
        self.rcv.accept(ctx.now, ctx.pool, seq, tcp.payload, tcp.flags.has(Flags::FIN));
        if self.rcv.readable() > readable || self.rcv.finished() != finished {
            self.news.readable = true;
        }
        if self.rcv.finished() && !finished {
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 => self.state = State::Closing,
                State::FinWait2 => self.close(ctx, State::TimeWait, CloseReason::Finished),
                _ => {}
            }
        }
    }

    /// Options of a SYN.
    pub(super) fn negotiate(&mut self, now: Nanos, tcp: &Tcp<'_>) {
        let options = &tcp.options;
        let default = if self.local.is_ipv4() { DEFAULT_MSS_V4 } else { DEFAULT_MSS_V6 };
        self.peer_mss = u64::from(options.mss.unwrap_or(default)).max(MIN_MSS);
        match options.scale {
            Some(scale) => self.snd.scale = scale,
            None => self.rcv.unscaled(),
        }
        self.snd.sack = options.sack_permitted;
        self.rcv.reports = options.sack_permitted;
        self.timestamps = match (self.timestamps, options.timestamps) {
            (Some(own), Some((value, _))) => Some(Timestamps { recent: value, recent_at: now, ..own }),
            _ => None,
        };
        self.resize(false, None);
    }

    /// The MSS from the path and from the peer, less our options (RFC 6691).
    pub(super) fn resize(&mut self, shrunk: bool, search: Option<Nanos>) {
        let path = (self.mtu - self.headers()) as u64 + self.options();
        self.snd.set_mss(path.min(self.peer_mss).max(MIN_MSS) - self.options(), shrunk, search);
    }

    /// Bytes of options in every segment.
    fn options(&self) -> u64 {
        if self.timestamps.is_some() { 12 } else { 0 }
    }

    fn headers(&self) -> usize {
        ip_header(self.local.ip()) + 20 + self.options() as usize
    }

    /// The path carries packets of at most `mtu` bytes; with the time, it is asked later whether it takes more.
    pub(crate) fn shrink(&mut self, mtu: usize, search: Option<Nanos>) {
        if mtu < self.mtu {
            self.mtu = mtu;
            self.resize(self.synchronised(), search);
        } else if search.is_none() {
            self.snd.end_search();
        }
    }

    /// An ICMP error quotes this sequence number of ours: it is believed when it is outstanding (RFC 5927 §4).
    pub(crate) fn quoted(&self, seq: u32) -> bool {
        let offset = from_wire(self.snd.initial, self.snd.una, seq);
        offset >= self.snd.una as i64 && offset < self.snd.nxt as i64
    }

    /// Unreachable: hard only while connecting (RFC 5927 §5.2).
    pub(crate) fn unreachable(&mut self, ctx: &mut Context<'_>, why: Unreachable) {
        if self.state == State::SynSent {
            let reason = match why {
                Unreachable::Port => CloseReason::Refused,
                Unreachable::Prohibited => CloseReason::Prohibited,
                Unreachable::Network | Unreachable::Host => CloseReason::Unreachable,
            };
            self.close(ctx, State::Closed, reason);
        }
    }

    pub(super) fn establish(&mut self, ctx: &mut Context<'_>) {
        self.state = if self.snd.fin { State::FinWait1 } else { State::Established };
        self.snd.established(ctx.now);
        self.snd.marks = self.ecn.marks();
        self.syn_due = false;
        // A window that the SYN could not offer may have room meanwhile.
        ctx.pool.freed |= self.rcv.pressed();
        self.news.connected = true;
    }

    pub(super) fn close(&mut self, ctx: &mut Context<'_>, state: State, reason: CloseReason) {
        if state == State::TimeWait {
            // The acknowledgement of the peer's FIN leaves by the control queue, the connection itself is done.
            self.push_control(ctx, Flags::ACK, self.snd.nxt);
        }
        self.state = state;
        self.reason = Some(reason);
        self.news.closed = true;
        self.snd.clear(ctx.pool);
        self.rcv.due = false;
        self.rcv.delayed_at = None;
        self.syn_due = false;
        self.linger_at = None;
        self.rcv.abandon(ctx.pool);
        if self.detached || reason != CloseReason::Finished {
            self.rcv.clear(ctx.pool);
        }
    }

    pub(super) fn push_control(&mut self, ctx: &mut Context<'_>, flags: u8, seq: u64) {
        let window = if flags & Flags::RST != 0 { 0 } else { self.window(ctx) };
        push(
            ctx.control,
            Control {
                local: self.local,
                remote: self.remote,
                seq: to_wire(self.snd.initial, seq),
                ack: to_wire(self.rcv.initial, self.rcv.nxt),
                flags,
                window,
                timestamps: self.timestamps.map(|own| (own.clock(ctx.now), own.recent)),
            },
        );
    }

    pub(super) fn push_reset(&self, ctx: &mut Context<'_>, seq: u32) {
        push(
            ctx.control,
            Control {
                local: self.local,
                remote: self.remote,
                seq,
                ack: 0,
                flags: Flags::RST,
                window: 0,
                timestamps: None,
            },
        );
    }

    pub(super) fn window(&mut self, ctx: &mut Context<'_>) -> u16 {
        self.rcv.announce(ctx.now, ctx.pool)
    }
}
