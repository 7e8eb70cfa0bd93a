//! Packets in and out, and events.

use super::*;

impl Stack {
    /// Processes one IP packet.
    pub fn input(&mut self, now: Duration, packet: &[u8]) {
        self.clock(now);
        self.stats.packets_in += 1;
        if self.input_ip(packet).is_none() {
            self.stats.dropped += 1;
        }
    }

    pub(super) fn input_ip(&mut self, packet: &[u8]) -> Option<()> {
        let Some(ip) = parse_ip(packet) else { return self.input_fragment(packet) };
        if !single(ip.source, ip.destination) {
            return None;
        }
        let own = self.config.addresses.contains(&ip.destination);
        match ip.protocol {
            TCP if own || self.config.accept_any => self.input_tcp(&ip),
            UDP if own || self.config.accept_any => self.input_udp(&ip),
            ICMP4 if (own || self.config.accept_any) && ip.source.is_ipv4() => self.input_icmp(&ip, own),
            ICMP6 if (own || self.config.accept_any) && ip.source.is_ipv6() => self.input_icmp(&ip, own),
            _ => None,
        }
    }

    /// A fragment, perhaps the last of its packet.
    fn input_fragment(&mut self, packet: &[u8]) -> Option<()> {
        let fragment = fragments::parse(packet)?;
        let own = self.config.accept_any || self.config.addresses.contains(&fragment.destination());
        if !own || !single(fragment.source(), fragment.destination()) {
            return None;
        }
        match self.fragments.take(self.now, &mut self.pool, &fragment) {
            // What is whole is no fragment: this goes no deeper.
            Some(whole) => parse_ip(&whole).and_then(|_| self.input_ip(&whole)),
            None => Some(()),
        }
    }

    /// Drops the fragments that waited too long, and tells their sources.
    fn expire_fragments(&mut self) {
        while let Some((source, destination, begun)) = self.fragments.expire(self.now, &mut self.pool) {
            if let Some(begun) = begun {
                self.push_raw(icmp::incomplete(source, destination, &begun));
            }
        }
    }

    pub(super) fn input_tcp(&mut self, ip: &Ip<'_>) -> Option<()> {
        let tcp = parse_tcp(ip)?;
        let local = SocketAddr::new(ip.destination, tcp.destination_port);
        let remote = SocketAddr::new(ip.source, tcp.source_port);
        if local == remote {
            return None;
        }
        let flow = Flow { local, remote };
        if let Some(index) = self.demux.find(&flow) {
            self.with(index, |conn, ctx| conn.segment(ctx, &tcp));
            return Some(());
        }
        if let Some(waiting) = self.time_wait.find(self.now, &flow)
            && !self.leaves_time_wait(&flow, &waiting, &tcp)
        {
            return Some(());
        }
        let fresh = tcp.flags.0 & (Flags::SYN | Flags::ACK | Flags::RST | Flags::FIN) == Flags::SYN;
        if fresh && let Some(listener) = self.listeners.find(&local) {
            return self.incoming(listener, flow, &tcp);
        }
        if !fresh && self.pass.as_ref().is_some_and(|passes| passes(remote, local)) {
            return self.pass_on(ip.whole);
        }
        self.refuse(&flow, &tcp);
        None
    }

    /// Sends a packet on its way, as a router does.
    fn pass_on(&mut self, packet: &[u8]) -> Option<()> {
        let mut packet = packet.to_vec();
        if self.raw.len() >= MAX_PASSED || packet.len() > self.config.mtu || !wire::one_hop_less(&mut packet)
        {
            return None;
        }
        self.raw.push_back(packet);
        Some(())
    }

    /// A segment for a connection in TIME-WAIT (RFC 9293 §3.10.7.4, RFC 6191). True when the flow is free again.
    pub(super) fn leaves_time_wait(&mut self, flow: &Flow, waiting: &Waiting, tcp: &Tcp<'_>) -> bool {
        let flags = tcp.flags;
        // Resets are ignored (RFC 1337), but for that of a peer that has begun anew and whose SYN did not look so: our answer
        // told it the one sequence number that we expect.
        if flags.has(Flags::RST) {
            if tcp.seq == waiting.ack {
                self.time_wait.remove(flow);
            }
            return false;
        }
        if flags.has(Flags::SYN) && !flags.has(Flags::ACK) {
            let newer = match (waiting.timestamps, tcp.options.timestamps) {
                (Some((_, recent)), Some((value, _))) if value != recent => before(recent, value),
                _ => before(waiting.ack, tcp.seq),
            };
            if newer {
                self.time_wait.remove(flow);
                return true;
            }
        }
        if tcp.payload.is_empty() && !flags.has(Flags::FIN) && !flags.has(Flags::SYN) {
            // Two ends in TIME-WAIT must not answer each other's acknowledgements.
            return false;
        }
        let now = self.now;
        let end = tcp.seq.wrapping_add(tcp.payload.len() as u32).wrapping_add(1);
        if flags.has(Flags::FIN) && end == waiting.ack {
            // The peer's own FIN: our acknowledgement was lost.
            self.time_wait.refresh(now, flow);
        }
        if !self.time_wait.may_answer(now, flow) {
            return false;
        }
        tcp::push(
            &mut self.control,
            Control {
                local: flow.local,
                remote: flow.remote,
                seq: waiting.seq,
                ack: waiting.ack,
                flags: Flags::ACK,
                window: waiting.window,
                timestamps: waiting
                    .timestamps
                    .map(|(offset, recent)| (offset.wrapping_add((now / MS) as u32), recent)),
            },
        );
        false
    }

    /// RFC 9293 §3.10.7.1: a reset for what belongs to no connection.
    pub(super) fn refuse(&mut self, flow: &Flow, tcp: &Tcp<'_>) {
        let flags = tcp.flags;
        if flags.has(Flags::RST) || self.reset_tokens == 0 {
            return;
        }
        self.reset_tokens -= 1;
        self.stats.resets += 1;
        let length =
            tcp.payload.len() as u32 + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let (seq, ack, flags) = if flags.has(Flags::ACK) {
            (tcp.ack, 0, Flags::RST)
        } else {
            (0, tcp.seq.wrapping_add(length), Flags::RST | Flags::ACK)
        };
        let Flow { local, remote } = *flow;
        tcp::push(&mut self.control, Control { local, remote, seq, ack, flags, window: 0, timestamps: None });
    }

    pub(super) fn incoming(&mut self, listener: ListenerId, flow: Flow, syn: &Tcp<'_>) -> Option<()> {
        if !self.listeners.has_room(listener) || self.demux.len() >= self.config.max_streams {
            return None;
        }
        while self.half_open_count >= self.config.max_half_open {
            let oldest = self.half_open.pop_front()?;
            if self.slots[oldest.index as usize].generation == oldest.generation
                && self.slots[oldest.index as usize].half_open
            {
                self.stats.half_open_evicted += 1;
                self.with(oldest.index, |conn, ctx| {
                    // One that was admitted is somebody's, who lets go of it.
                    conn.detached = conn.listener.is_some();
                    conn.abort(ctx, CloseReason::TimedOut);
                });
            }
        }
        let numbers = self.numbers(&flow);
        let mtu = self.path_mtu(flow.remote.ip());
        let mut ctx = context(
            self.now,
            &self.config,
            &mut self.pool,
            &mut self.rng,
            &mut self.control,
            &mut self.reset_tokens,
        );
        let mut conn = Conn::answer(&mut ctx, flow.local, flow.remote, numbers, mtu, syn);
        conn.listener = Some(listener.index);
        let deferred = self.listeners.deferred(listener);
        if deferred {
            conn.hold(self.now + self.config.connect_timeout.as_nanos() as Nanos);
        }
        let id = self.adopt(conn, flow);
        self.slots[id.index as usize].half_open = true;
        self.half_open_count += 1;
        self.half_open.push_back(id);
        if self.half_open.len() > 2 * self.config.max_half_open + 64 {
            let slots = &self.slots;
            self.half_open.retain(|id| {
                let slot = &slots[id.index as usize];
                slot.generation == id.generation && slot.half_open
            });
        }
        if deferred {
            self.events.push_back(Event::Incoming(listener, id));
        }
        self.settle(id.index);
        Some(())
    }

    /// Resets the half-open connections of a listener that is gone.
    pub(crate) fn end_half_open(&mut self, now: Duration, listener: u32) {
        self.clock(now);
        for index in 0..self.slots.len() as u32 {
            let slot = &self.slots[index as usize];
            let ends = slot.half_open
                && slot.conn.as_ref().is_some_and(|conn| !conn.over() && conn.listener == Some(listener));
            if ends {
                self.with(index, |conn, ctx| {
                    conn.detached = true;
                    conn.abort(ctx, CloseReason::Aborted);
                });
            }
        }
    }

    pub(super) fn input_udp(&mut self, ip: &Ip<'_>) -> Option<()> {
        let (source, destination, data) = parse_udp(ip)?;
        let local = SocketAddr::new(ip.destination, destination);
        let remote = SocketAddr::new(ip.source, source);
        match self.udp.deliver(&mut self.pool, local, remote, data) {
            Ok(notified) => {
                self.events.extend(notified.map(Event::Datagram));
                Some(())
            }
            Err(()) => {
                self.push_raw(icmp::unreachable(Unreachable::Port, ip.source, ip.destination, ip.whole));
                None
            }
        }
    }

    pub(super) fn input_icmp(&mut self, ip: &Ip<'_>, own: bool) -> Option<()> {
        match icmp::parse(ip)? {
            Message::Echo { number, data } if own => {
                self.push_raw(icmp::echo(ip.destination, ip.source, true, number, data));
            }
            Message::Echo { number, data } => return self.forward_echo(ip, number, data),
            Message::Reply(number) => {
                let ping = Ping { source: ip.destination, destination: ip.source, number };
                *self.pings.get_mut(&ping)? = Some(Pong::Answered);
                self.events.push_back(Event::Pong(ping));
            }
            Message::TooBig(mtu, quoted) => {
                let index = self.quoted_stream(&quoted)?;
                let floor = if quoted.destination.is_ipv4() { MIN_PATH_V4 } else { MIN_MTU };
                // Old routers tell no MTU (RFC 1191 §5).
                let mtu = if mtu == 0 { MIN_MTU } else { mtu.max(floor) };
                if mtu < self.config.mtu {
                    if self.paths.len() >= MAX_PATHS {
                        let now = self.now;
                        self.paths.retain(|_, (_, at)| now.saturating_sub(*at) < PATH_AGE);
                    }
                    if self.paths.len() < MAX_PATHS {
                        self.paths.insert(quoted.destination, (mtu, self.now));
                    }
                    self.with(index, |conn, ctx| conn.shrink(mtu, Some(ctx.now)));
                }
            }
            Message::Unreachable(why, quoted) if quoted.protocol == UDP => {
                let [a, b, c, d] = *quoted.payload.first_chunk::<4>()?;
                let local = SocketAddr::new(quoted.source, u16::from_be_bytes([a, b]));
                let remote = SocketAddr::new(quoted.destination, u16::from_be_bytes([c, d]));
                let notified = self.udp.fail(Undelivered { local, remote, by: ip.source, why })?;
                self.events.extend(notified.map(Event::Datagram));
            }
            Message::Unreachable(why, quoted) if matches!(quoted.protocol, ICMP4 | ICMP6) => {
                let number = icmp::quoted_request(&quoted)?;
                let ping = Ping { source: quoted.source, destination: quoted.destination, number };
                *self.pings.get_mut(&ping)? = Some(Pong::Undelivered { by: ip.source, why });
                self.events.push_back(Event::Pong(ping));
            }
            Message::Unreachable(why, quoted) => {
                let index = self.quoted_stream(&quoted)?;
                self.with(index, |conn, ctx| conn.unreachable(ctx, why));
            }
        }
        Some(())
    }

    /// The stream that an ICMP error quotes, when the quoted sequence number is outstanding (RFC 5927 §4.1).
    pub(super) fn quoted_stream(&mut self, quoted: &Ip<'_>) -> Option<u32> {
        if quoted.protocol != TCP {
            return None;
        }
        let [a, b, c, d, s0, s1, s2, s3] = *quoted.payload.first_chunk::<8>()?;
        let flow = Flow {
            local: SocketAddr::new(quoted.source, u16::from_be_bytes([a, b])),
            remote: SocketAddr::new(quoted.destination, u16::from_be_bytes([c, d])),
        };
        let index = self.demux.find(&flow)?;
        let conn = self.slots.get(index as usize)?.conn.as_ref()?;
        conn.quoted(u32::from_be_bytes([s0, s1, s2, s3])).then_some(index)
    }

    pub(super) fn push_raw(&mut self, packet: Vec<u8>) {
        if self.icmp_tokens > 0 && self.raw.len() < MAX_RAW && packet.len() <= self.config.mtu {
            self.icmp_tokens -= 1;
            self.raw.push_back(packet);
        }
    }

    /// Writes packets until the batch is full or nothing may leave now; returns how many. A full batch may mean that
    /// there is more: call again.
    pub fn poll(&mut self, now: Duration, out: &mut Batch) -> usize {
        self.clock(now);
        let before = out.len();
        debug_assert!(out.room() >= self.config.mtu, "batch made for a smaller MTU");
        while let Some(index) = self.wheel.expire(self.now) {
            if self.slots[index as usize].conn.is_some() {
                self.with(index, |conn, ctx| conn.expire(ctx));
            }
        }
        self.expire_fragments();
        self.feed();
        while !out.is_full() {
            let Some(control) = self.control.pop_front() else { break };
            emit_control(out, &control);
        }
        while !out.is_full() {
            let Some(packet) = self.raw.pop_front() else { break };
            out.push(packet.len(), |slot| slot.copy_from_slice(&packet));
        }
        self.udp.emit(&mut self.pool, out);
        while !out.is_full() {
            let Some(index) = self.ready.pop_front() else { break };
            let slot = &mut self.slots[index as usize];
            slot.ready = false;
            let Some(conn) = slot.conn.as_mut() else { continue };
            let mut ctx = context(
                self.now,
                &self.config,
                &mut self.pool,
                &mut self.rng,
                &mut self.control,
                &mut self.reset_tokens,
            );
            if conn.emit(&mut ctx, out) {
                slot.ready = true;
                self.ready.push_back(index);
            } else {
                self.wheel.set(index, conn.deadline(&self.config));
            }
            let id = StreamId { index, generation: slot.generation };
            note_pressed(slot, &mut self.pressed, &mut self.pool, id);
        }
        let written = out.len() - before;
        self.stats.packets_out += written as u64;
        written
    }

    /// Tells some of the streams that wait for space, in turn, once memory has been given back.
    pub(super) fn feed(&mut self) {
        if !std::mem::take(&mut self.pool.freed) {
            return;
        }
        self.relieve();
        for _ in 0..self.starved.len().min(STARVED_TURN) {
            let Some(id) = self.starved.pop_front() else { break };
            let Some(conn) = self.conn(id).filter(|conn| conn.starved && !conn.over()) else { continue };
            if conn.snd.worth_telling(&self.pool) {
                self.with(id.index, |conn, _| {
                    conn.starved = false;
                    conn.news.writable = true;
                });
            } else {
                self.starved.push_back(id);
            }
        }
    }

    /// Lets some of the streams whose windows are small for want of memory tell their peers that there is room again.
    fn relieve(&mut self) {
        for _ in 0..self.pressed.len().min(STARVED_TURN) {
            let Some(id) = self.pressed.pop_front() else { break };
            let Some(slot) = self.slots.get_mut(id.index as usize) else { continue };
            let conn = slot.conn.as_mut().filter(|_| slot.generation == id.generation);
            let Some(conn) = conn.filter(|conn| conn.rcv.pressed() && !conn.over()) else {
                slot.pressed &= slot.generation != id.generation;
                continue;
            };
            if conn.synchronised() && conn.rcv.turn(&self.pool) {
                conn.rcv.due = true;
                slot.pressed = false;
                make_ready(slot, &mut self.ready, id.index);
                // The next has its turn at once.
                self.pool.freed |= !self.pressed.is_empty();
            } else {
                self.pressed.push_back(id);
            }
        }
        self.pool.waiting = self.pressed.len();
    }

    /// Whether `poll` has something to do at once.
    #[must_use]
    pub fn eager(&self) -> bool {
        !self.ready.is_empty()
            || !self.control.is_empty()
            || !self.raw.is_empty()
            || self.udp.eager()
            || (self.pool.freed && !(self.starved.is_empty() && self.pressed.is_empty()))
    }

    /// When `poll` has something to do without further input; `None` for never.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        if self.eager() {
            return Some(Duration::from_nanos(self.now));
        }
        let next = self.wheel.next().into_iter().chain(self.fragments.next()).min();
        next.map(|at| Duration::from_nanos(at.max(self.now)))
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        let (id, kind) = match event {
            Event::Readable(id) => (id, READABLE),
            Event::Writable(id) => (id, WRITABLE),
            Event::Connected(id) => (id, CONNECTED),
            Event::Closed(id, _) => (id, CLOSED),
            Event::Acceptable(listener) => {
                self.listeners.clear_notified(listener);
                return Some(event);
            }
            Event::Incoming(..) | Event::Datagram(_) | Event::Echo | Event::Pong(_) => return Some(event),
        };
        if let Some(slot) = self.slots.get_mut(id.index as usize)
            && slot.generation == id.generation
        {
            slot.queued[kind] = false;
            return Some(event);
        }
        // The stream is gone; nobody wants to hear of it.
        self.poll_event()
    }
}

/// Neither end is a group, a broadcast, or nobody.
fn single(source: IpAddr, destination: IpAddr) -> bool {
    let several = |address: IpAddr| {
        address.is_multicast() || matches!(address, IpAddr::V4(address) if address.is_broadcast())
    };
    !source.is_unspecified() && !several(source) && !several(destination)
}

fn emit_control(out: &mut Batch, control: &Control) {
    let head = Tcp {
        source_port: control.local.port(),
        destination_port: control.remote.port(),
        seq: control.seq,
        ack: control.ack,
        flags: Flags(control.flags),
        window: control.window,
        options: Options { timestamps: control.timestamps, ..Options::default() },
        ecn: NOT_ECT,
        payload: &[],
    };
    wire::emit_tcp(out, control.local.ip(), control.remote.ip(), &head, 0, |_| {});
}
