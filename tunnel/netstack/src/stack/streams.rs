//! The application's interface to streams.

use super::*;

impl Stack {
    /// Connects from an address of the stack and a port of its choice (RFC 6056 §3.3.4).
    ///
    /// # Errors
    /// No local address of that family, no free port, or too many streams.
    pub fn connect(&mut self, now: Duration, remote: SocketAddr) -> Result<StreamId, ConnectError> {
        let local = self.source(remote).ok_or(ConnectError::NoAddress)?;
        self.connect_as(now, local, remote)
    }

    /// Connects from this address, which may be another host's (with `accept_any`), and a port of the stack's choice.
    ///
    /// # Errors
    /// The families differ, no free port, or too many streams.
    pub fn connect_as(
        &mut self,
        now: Duration,
        local: IpAddr,
        remote: SocketAddr,
    ) -> Result<StreamId, ConnectError> {
        for _ in 0..256 {
            let port = self.ports.next(local, remote);
            match self.connect_from(now, SocketAddr::new(local, port), remote) {
                Err(ConnectError::InUse) => {}
                result => return result,
            }
        }
        Err(ConnectError::NoPort)
    }

    /// Connects from this very address and port.
    ///
    /// # Errors
    /// The pair is in use, the families differ, or there are too many streams.
    pub fn connect_from(
        &mut self,
        now: Duration,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<StreamId, ConnectError> {
        self.clock(now);
        if local.is_ipv4() != remote.is_ipv4() || remote.port() == 0 || remote.ip().is_unspecified() {
            return Err(ConnectError::NoAddress);
        }
        if self.demux.len() >= self.config.max_streams {
            return Err(ConnectError::TooMany);
        }
        let flow = Flow { local, remote };
        if local == remote || self.demux.find(&flow).is_some() || self.time_wait.contains(self.now, &flow) {
            return Err(ConnectError::InUse);
        }
        let numbers = self.numbers(&flow);
        let mtu = self.path_mtu(remote.ip());
        let mut ctx = context(
            self.now,
            &self.config,
            &mut self.pool,
            &mut self.rng,
            &mut self.control,
            &mut self.reset_tokens,
        );
        let conn = Conn::connect(&mut ctx, local, remote, numbers, mtu);
        let id = self.adopt(conn, flow);
        self.settle(id.index);
        Ok(id)
    }

    /// The next connection of a listener.
    pub fn accept(&mut self, listener: ListenerId) -> Option<StreamId> {
        loop {
            let id = self.listeners.pop(listener)?;
            let Some(conn) = self.conn_mut(id) else { continue };
            conn.listener = None;
            conn.news.readable = conn.rcv.readable() > 0 || conn.rcv.finished();
            conn.news.closed = conn.over();
            conn.news.connected = false;
            self.settle(id.index);
            return Some(id);
        }
    }

    /// Queues data to be sent; returns how much fitted. A short count means an [`Event::Writable`] later.
    pub fn send(&mut self, now: Duration, id: StreamId, data: &[u8]) -> usize {
        self.clock(now);
        let known = self.conn(id).is_none_or(|conn| conn.starved);
        let taken = self.call(id, |conn, ctx| conn.send(ctx, data)).unwrap_or(0);
        if !known && taken < data.len() && self.conn(id).is_some_and(|conn| conn.starved) {
            self.starved.push_back(id);
        }
        taken
    }

    /// Bytes that [`Stack::send`] would take.
    #[must_use]
    pub fn send_room(&self, id: StreamId) -> usize {
        self.conn(id).filter(|conn| !conn.over() && !conn.snd.fin).map_or(0, |conn| conn.snd.room(&self.pool))
    }

    /// Reads into `out`; zero is the end of the stream.
    ///
    /// # Errors
    /// Nothing is there yet, or the connection ended early.
    pub fn recv(&mut self, id: StreamId, out: &mut [u8]) -> Result<usize, RecvError> {
        let mut done = 0;
        self.recv_with(id, |chunk| {
            let length = chunk.len().min(out.len() - done);
            out[done..done + length].copy_from_slice(&chunk[..length]);
            done += length;
            length
        })
    }

    /// Reads into `out`, and leaves it to be read again; zero is the end of the stream.
    ///
    /// # Errors
    /// As [`Self::recv`].
    pub fn peek(&mut self, id: StreamId, out: &mut [u8]) -> Result<usize, RecvError> {
        match self.conn(id) {
            Some(conn) if conn.rcv.readable() > 0 => Ok(conn.rcv.peek(out)),
            _ => self.recv(id, &mut []),
        }
    }

    /// Hands what has arrived to `take` in slices of the stack's own memory, until `take` takes less than it was given.
    /// Zero is the end of the stream.
    ///
    /// # Errors
    /// Nothing is there yet, or the connection ended early.
    pub fn recv_with(&mut self, id: StreamId, take: impl FnMut(&[u8]) -> usize) -> Result<usize, RecvError> {
        let Some(slot) =
            self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)
        else {
            return Err(RecvError::Closed(CloseReason::Aborted));
        };
        let Some(conn) = slot.conn.as_mut() else { return Err(RecvError::Closed(CloseReason::Aborted)) };
        if conn.rcv.readable() == 0 {
            return match conn.reason {
                _ if conn.rcv.finished() => Ok(0),
                Some(CloseReason::Finished) => Ok(0),
                Some(reason) => Err(RecvError::Closed(reason)),
                None => Err(RecvError::WouldBlock),
            };
        }
        let taken = conn.rcv.consume(&mut self.pool, take);
        if taken > 0 && !conn.over() && !conn.rcv.finished() {
            if conn.rcv.worth_telling(&self.pool) {
                conn.rcv.due = true;
                make_ready(slot, &mut self.ready, id.index);
            } else {
                conn.rcv.press(&self.pool);
                note_pressed(slot, &mut self.pressed, &mut self.pool, id);
            }
        }
        Ok(taken)
    }

    /// Bytes ready to be read.
    #[must_use]
    pub fn readable(&self, id: StreamId) -> usize {
        self.conn(id).map_or(0, |conn| conn.rcv.readable())
    }

    /// Sends small segments at once, or holds them back while others are unacknowledged (RFC 9293 §3.7.4); as `TCP_NODELAY` does.
    pub fn set_nodelay(&mut self, now: Duration, id: StreamId, nodelay: bool) {
        self.clock(now);
        self.call(id, |conn, _| conn.snd.nagle = !nodelay);
    }

    /// Sends with this controller from now on, which begins anew: to be called before the first data.
    pub fn set_congestion(&mut self, now: Duration, id: StreamId, congestion: Congestion) {
        self.clock(now);
        let Some(conn) = self.conn_mut(id).filter(|conn| !conn.over()) else { return };
        let before = conn.snd.congestion;
        self.controllers[before as usize] -= 1;
        self.controllers[congestion as usize] += 1;
        self.with(id.index, |conn, ctx| conn.snd.set_congestion(congestion, ctx.now, ctx.rng.next()));
    }

    /// Connections with this controller that are not yet over.
    #[must_use]
    pub fn streams_with(&self, congestion: Congestion) -> usize {
        self.controllers[congestion as usize]
    }

    /// Ends this direction after the queued data; the other stays open.
    pub fn shutdown(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        self.call(id, |conn, _| conn.shutdown());
    }

    /// Closes the stream: queued data is delivered, and the ID becomes invalid. With unread data, the stream is reset.
    pub fn close(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        self.call(id, |conn, ctx| conn.detach(ctx));
        self.void(id);
    }

    /// Resets the connection; the id is void.
    pub fn abort(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        self.call(id, |conn, ctx| {
            conn.detached = true;
            conn.abort(ctx, CloseReason::Aborted);
        });
        self.void(id);
    }

    /// Where the stream is in its life.
    #[must_use]
    pub fn state(&self, id: StreamId) -> State {
        self.conn(id).map_or(State::Closed, |conn| conn.state)
    }

    /// Why the stream is over; `None` while it is not, or when its id is void.
    #[must_use]
    pub fn reason(&self, id: StreamId) -> Option<CloseReason> {
        self.conn(id)?.reason
    }

    /// Both ends of the stream: ours, then the other.
    #[must_use]
    pub fn ends(&self, id: StreamId) -> Option<(SocketAddr, SocketAddr)> {
        self.conn(id).map(|conn| (conn.local, conn.remote))
    }

    /// The stream's inner values.
    #[must_use]
    pub fn info(&self, id: StreamId) -> Option<StreamInfo> {
        let conn = self.conn(id)?;
        Some(StreamInfo {
            state: conn.state,
            local: conn.local,
            remote: conn.remote,
            congestion: conn.snd.congestion,
            rtt: conn.snd.rtt.smoothed().map(Duration::from_nanos),
            min_rtt: conn.snd.rtt.minimum().map(Duration::from_nanos),
            window: conn.snd.window(),
            flight: conn.snd.flight(),
            pacing_rate: conn.snd.pacing_rate(),
            mss: conn.snd.mss(),
            retransmitted: conn.snd.retransmitted,
            ecn: conn.snd.marks,
            marked: conn.snd.marked,
            queued: conn.snd.end.saturating_sub(conn.snd.una.max(1)),
        })
    }
}
