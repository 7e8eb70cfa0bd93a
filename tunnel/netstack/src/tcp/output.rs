//! Outgoing segments.

use super::*;

impl Conn {
    /// Writes what may leave now. True when there is more than its turn allows or the batch holds.
    pub(crate) fn emit(&mut self, ctx: &mut Context<'_>, out: &mut Batch) -> bool {
        if self.over() {
            return false;
        }
        if self.syn_due {
            if out.is_full() {
                return true;
            }
            self.emit_syn(ctx, out);
        }
        if !self.synchronised() {
            return false;
        }
        let mut turn = 0;
        if self.sendable() {
            // Retransmitted and new data carry the acknowledgement; SACK blocks go in segments of their own.
            let mut blocks = self.rcv.due && self.snd.sack && self.rcv.has_blocks();
            while blocks {
                if out.is_full() {
                    return true;
                }
                self.emit_ack(ctx, out);
                blocks = self.rcv.has_duplicates();
            }
            loop {
                if turn >= QUOTA || out.is_full() {
                    return true;
                }
                match self.snd.plan(ctx.now) {
                    Ok(plan) => {
                        self.emit_data(ctx, out, &plan);
                        self.snd.sent(ctx.now, &plan);
                        turn += 1;
                    }
                    Err(Wait::Peer | Wait::Until(_)) => break,
                }
            }
        }
        while self.rcv.due || (self.rcv.owed > 0 && !self.snd.sack) || self.rcv.has_duplicates() {
            if out.is_full() {
                return true;
            }
            self.emit_ack(ctx, out);
        }
        if self.snd.ask_window {
            if out.is_full() {
                return true;
            }
            // An old sequence number draws an answer without adding anything (as keepalives do, RFC 9293 §3.8.4).
            self.snd.ask_window = false;
            self.asked_at.get_or_insert(ctx.now);
            let head = self.head(ctx, self.snd.una - 1, Flags::ACK);
            self.push(out, &head, 0, 0);
        }
        false
    }

    pub(super) fn emit_syn(&mut self, ctx: &mut Context<'_>, out: &mut Batch) {
        self.syn_due = false;
        let answer = self.state == State::SynReceived;
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        let offered = self.rcv.offer(ctx.now, ctx.pool);
        let mut options = Options {
            mss: Some((ctx.config.mtu.min(wire::MAX_MTU) - ip_header(self.local.ip()) - 20) as u16),
            ..Options::default()
        };
        if !answer || self.snd.scale > 0 || self.rcv.scale > 0 {
            options.scale = Some(self.rcv.scale);
        }
        options.sack_permitted = self.snd.sack;
        options.timestamps =
            self.timestamps.map(|own| (own.clock(ctx.now), if answer { own.recent } else { 0 }));
        let ecn = if answer { self.ecn.syn_ack() } else { self.ecn.syn(self.snd.rtt.backoff() > 0) };
        let head = Tcp {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            seq: self.snd.initial,
            ack: if answer { to_wire(self.rcv.initial, self.rcv.nxt) } else { 0 },
            flags: Flags(if answer { Flags::SYN | Flags::ACK } else { Flags::SYN } | ecn),
            window: self.rcv.opening(offered),
            options,
            ecn: NOT_ECT,
            payload: &[],
        };
        self.push(out, &head, 0, 0);
        self.snd.nxt = 1;
        self.snd.timeout_at = Some(ctx.now + self.snd.rtt.rto());
        if answer {
            self.rcv.acknowledged();
        }
    }

    pub(super) fn emit_data(&mut self, ctx: &mut Context<'_>, out: &mut Batch, plan: &crate::sender::Plan) {
        let mut flags = Flags::ACK;
        if plan.fin {
            flags |= Flags::FIN;
        }
        if plan.push && plan.data > 0 {
            flags |= Flags::PSH;
        }
        let marks = self.snd.marks && plan.fresh();
        if marks && std::mem::take(&mut self.snd.cwr) {
            flags |= Flags::CWR;
        }
        let mut head = self.head(ctx, plan.start, flags);
        head.ecn = if marks { ECT_0 } else { NOT_ECT };
        self.push(out, &head, plan.start, plan.data);
        self.asked_at.get_or_insert(ctx.now);
        self.rcv.acknowledged();
    }

    pub(super) fn emit_ack(&mut self, ctx: &mut Context<'_>, out: &mut Batch) {
        let mut head = self.head(ctx, self.snd.nxt, Flags::ACK);
        if self.snd.sack && self.rcv.has_blocks() {
            let room = if self.timestamps.is_some() { 3 } else { 4 };
            self.rcv.blocks(&mut head.options, room);
        }
        self.push(out, &head, 0, 0);
        self.rcv.acknowledged();
    }

    pub(super) fn head(&mut self, ctx: &mut Context<'_>, seq: u64, flags: u8) -> Tcp<'static> {
        Tcp {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            seq: to_wire(self.snd.initial, seq),
            ack: to_wire(self.rcv.initial, self.rcv.nxt),
            flags: Flags(flags | self.ecn.flags()),
            window: self.window(ctx),
            options: Options {
                timestamps: self.timestamps.map(|own| (own.clock(ctx.now), own.recent)),
                ..Options::default()
            },
            ecn: NOT_ECT,
            payload: &[],
        }
    }

    pub(super) fn push(&self, out: &mut Batch, head: &Tcp<'_>, offset: u64, length: usize) {
        let written = wire::emit_tcp(out, self.local.ip(), self.remote.ip(), head, length, |payload| {
            self.snd.read(offset, payload);
        });
        debug_assert!(written, "the batch has room for the configured MTU");
    }
}
