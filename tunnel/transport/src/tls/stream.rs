//! One connection: sealing, sending, and what waits for the socket.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown, sockopt};
use warren_budget::{RateLimit, Slot, Source};
use warren_proto::plane::{Endpoint, StreamId};
use warren_wire::stream::frame;

use super::RECORD;
use super::limits::{CONTROL_BYTES, PONGS, STALLED};
use super::queue::Queue;
use super::session::Session;
use super::streams::{Opened, Role};

/// Encrypted bytes that are made before the socket takes any: four records.
const AHEAD: usize = 4 * RECORD;

/// A connection that carries datagrams. Shared between threads; sending never waits.
pub(super) struct Stream {
    /// Never used again for another one.
    number: u64,
    /// Its bundle, which is where its datagrams come from.
    from: Endpoint,
    remote: SocketAddr,
    role: Role,
    opened: Duration,
    pub(super) socket: OwnedFd,
    pub(super) session: Mutex<Session>,
    pub(super) left: Mutex<Left>,
    sending: Mutex<Sending>,
    /// Something waits for the socket.
    backlog: AtomicBool,
    /// It was ended because the other end does not read.
    pub(super) unread: AtomicBool,
    /// It waits for a turn on the receiving thread.
    pub(super) queued: AtomicBool,
    pub(super) beat: Beat,
    counters: Counters,
    pongs: RateLimit,
    holds: Mutex<Holds>,
}

/// What a connection holds of its source's budget.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// Until it ends.
    pub(super) tunnel: Option<Slot<Source>>,
    /// Until a known peer uses it.
    pub(super) stranger: Option<Slot<Source>>,
}

/// What was received and is not whole yet.
#[derive(Default)]
pub(super) struct Left {
    /// A part of a frame.
    pub(super) plain: Vec<u8>,
}

/// Times as nanoseconds of monotonic time; 0 is none.
#[derive(Default)]
pub(super) struct Beat {
    /// When anything came last.
    pub(super) heard: AtomicU64,
    /// Since when nothing has come after something was sent.
    pub(super) unanswered: AtomicU64,
    /// When the ping was sent that waits for its pong.
    pub(super) pinged: AtomicU64,
    /// The number of that ping: the age of the connection, which the other end knows anyway.
    pub(super) asked: AtomicU64,
    /// Smoothed round trip of pings.
    pub(super) rtt: AtomicU64,
}

#[derive(Default)]
struct Counters {
    /// Encrypted bytes and frames before it was proven.
    stranger_bytes: AtomicU64,
    stranger_frames: AtomicU64,
    proven: AtomicBool,
}

#[derive(Default)]
struct Sending {
    /// Encrypted bytes, of which those before `at` are sent.
    cipher: Vec<u8>,
    at: usize,
    /// Frames of the next record.
    plain: Vec<u8>,
    queue: Queue,
    /// Bytes of pings, pongs and TLS itself among `cipher`, and whether one of them is a pong.
    control: usize,
    pong: bool,
    /// Since when the socket has accepted nothing.
    stalled: Option<Duration>,
    /// Failed: nothing is sent any more.
    broken: bool,
}

impl Stream {
    /// `from` is the endpoint of its bundle.
    pub(super) fn new(number: u64, from: Endpoint, opened: Opened, holds: Holds, now: Duration) -> Self {
        let Opened { socket, remote, session, left, role, .. } = opened;
        let beat = Beat::default();
        beat.heard.store(nanos(now), Ordering::Relaxed);
        let counters = Counters::default();
        counters.stranger_bytes.store(left.plain.len() as u64, Ordering::Relaxed);
        let (pongs, burst) = PONGS;
        Self {
            number,
            from,
            remote,
            role,
            opened: now,
            socket,
            session: Mutex::new(session),
            left: Mutex::new(left),
            sending: Mutex::default(),
            backlog: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            queued: AtomicBool::new(false),
            beat,
            counters,
            pongs: RateLimit::new(pongs, burst),
            holds: Mutex::new(holds),
        }
    }

    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The endpoint of its bundle.
    pub(super) fn from(&self) -> &Endpoint {
        &self.from
    }

    /// The id of its bundle.
    pub(super) fn bundle(&self) -> StreamId {
        self.from.carrier.stream().unwrap_or(StreamId::NONE)
    }

    /// The other end.
    pub(super) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Whether something waits for the socket.
    pub(super) fn is_congested(&self) -> bool {
        self.backlog.load(Ordering::Relaxed)
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn opened(&self) -> Duration {
        self.opened
    }

    /// Sends `bytes` as datagrams of `segment` bytes, of which the last may be shorter, or lets them wait for the socket, or
    /// drops what there is no room for. False: the connection has ended.
    pub(super) fn send(&self, now: Duration, bytes: &[u8], segment: usize) -> bool {
        let mut sending = self.sending.lock();
        if sending.broken {
            return false;
        }
        let datagrams = bytes.chunks(segment.max(1));
        if self.beat.unanswered.load(Ordering::Relaxed) == 0 {
            self.beat.unanswered.store(nanos(now), Ordering::Relaxed);
        }
        if self.backlog.load(Ordering::Relaxed) {
            datagrams.for_each(|datagram| sending.queue.push(now, datagram));
            return true;
        }
        for datagram in datagrams {
            if sending.plain.len() + frame::PREFIX + datagram.len() > RECORD && !self.seal(&mut sending) {
                return false;
            }
            if frame::PREFIX + datagram.len() > RECORD {
                self.long(&mut sending, datagram);
                continue;
            }
            sending.plain.extend_from_slice(&frame::prefix(datagram.len()));
            sending.plain.extend_from_slice(datagram);
        }
        self.seal(&mut sending) && self.write(now, &mut sending)
    }

    /// A datagram longer than a record.
    #[cold]
    fn long(&self, sending: &mut Sending, datagram: &[u8]) {
        let mut whole = frame::prefix(datagram.len()).to_vec();
        whole.extend_from_slice(datagram);
        for part in whole.chunks(RECORD) {
            sending.plain.extend_from_slice(part);
            self.seal(sending);
        }
    }

    /// Sends a ping before all that waits.
    pub(super) fn ping(&self, now: Duration) {
        let age = nanos(now.saturating_sub(self.opened));
        self.beat.asked.store(age, Ordering::Relaxed);
        self.control(now, &frame::ping(age));
    }

    /// Answers a ping before all that waits, or drops it: while a pong waits, and above a rate.
    pub(super) fn pong(&self, now: Duration, number: u64) {
        let mut sending = self.sending.lock();
        if !sending.pong && self.pongs.take(now, 1) {
            sending.pong = true;
            self.seal_control(now, &mut sending, &frame::pong(number));
        }
    }

    /// Sends frames before all that waits.
    pub(super) fn control(&self, now: Duration, frames: &[u8]) {
        self.seal_control(now, &mut self.sending.lock(), frames);
    }

    fn seal_control(&self, now: Duration, sending: &mut Sending, frames: &[u8]) {
        if sending.broken {
            return;
        }
        let before = sending.cipher.len();
        sending.plain.extend_from_slice(frames);
        if self.seal(sending) {
            let sealed = sending.cipher.len() - before;
            self.write_control(now, sending, sealed);
        }
    }

    /// Sends what TLS itself wants to say.
    pub(super) fn raw(&self, now: Duration, cipher: &[u8]) {
        let mut sending = self.sending.lock();
        if !sending.broken {
            sending.cipher.extend_from_slice(cipher);
            self.write_control(now, &mut sending, cipher.len());
        }
    }

    /// Writes after `added` bytes that are not data. Ends the connection if too many of them wait.
    fn write_control(&self, now: Duration, sending: &mut Sending, added: usize) {
        sending.control += added;
        if self.write(now, sending) && sending.control > CONTROL_BYTES {
            self.unread.store(true, Ordering::Relaxed);
            self.end(sending);
        }
    }

    /// Whether the socket has accepted nothing for too long.
    pub(super) fn is_stalled(&self, now: Duration) -> bool {
        let Some(sending) = self.sending.try_lock() else { return false };
        sending.stalled.is_some_and(|since| now.saturating_sub(since) >= STALLED)
    }

    /// The socket may take more.
    pub(super) fn writable(&self, now: Duration) {
        if self.backlog.load(Ordering::Relaxed) {
            let mut sending = self.sending.lock();
            if !sending.broken {
                let _ = self.write(now, &mut sending);
            }
        }
    }

    /// Records that an authentic WireGuard message arrived on it.
    pub(super) fn prove(&self) {
        if !self.counters.proven.load(Ordering::Relaxed) {
            self.counters.proven.store(true, Ordering::Relaxed);
            self.holds.lock().stranger = None;
        }
    }

    pub(super) fn proven(&self) -> bool {
        self.counters.proven.load(Ordering::Relaxed)
    }

    /// Whether it was accepted and no known peer has used it yet.
    pub(super) fn is_stranger(&self) -> bool {
        self.role == Role::Server && !self.proven()
    }

    /// Counts encrypted bytes of a stranger, and all of its frames; returns both totals.
    pub(super) fn count_stranger(&self, bytes: usize, frames: u64) -> (u64, u64) {
        let add = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed) + n;
        (add(&self.counters.stranger_bytes, bytes as u64), add(&self.counters.stranger_frames, frames))
    }

    /// Gives back memory that a burst needed.
    pub(super) fn shrink(&self) {
        let Some(mut sending) = self.sending.try_lock() else { return };
        if sending.cipher.is_empty() && sending.queue.is_empty() {
            sending.cipher.shrink_to(RECORD);
            sending.queue.shrink();
        }
    }

    /// Whether anything has come on it since it was opened.
    #[cfg(test)]
    pub(super) fn has_received(&self) -> bool {
        self.beat.heard.load(Ordering::Relaxed) > nanos(self.opened)
    }

    /// Datagrams that were dropped because it is congested.
    pub(super) fn dropped(&self) -> u64 {
        self.sending.lock().queue.dropped()
    }

    /// Round trip of pings, the wait for the socket included; `None` before the first.
    pub(super) fn rtt(&self) -> Option<Duration> {
        // One nanosecond: the first is on its way.
        let rtt = self.beat.rtt.load(Ordering::Relaxed);
        (rtt > 1).then(|| Duration::from_nanos(rtt))
    }

    /// The kernel's congestion control.
    pub(super) fn congestion(&self) -> Option<String> {
        sockopt::tcp_congestion(&self.socket).ok()
    }

    /// Makes a record of the frames that were put together; false: it cannot be, and the connection is ended.
    fn seal(&self, sending: &mut Sending) -> bool {
        let Sending { plain, cipher, .. } = sending;
        if plain.is_empty() {
            return true;
        }
        let sealed = self.session.lock().seal(plain, cipher);
        plain.clear();
        if let Err(error) = sealed {
            tracing::debug!(%error, "encryption failed");
            self.end(sending);
            return false;
        }
        true
    }

    /// Writes until all is sent or the socket is full; false: the connection has ended.
    fn write(&self, now: Duration, sending: &mut Sending) -> bool {
        loop {
            while let Some(rest) = sending.cipher.get(sending.at..).filter(|rest| !rest.is_empty()) {
                match send(&self.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Ok(sent) => {
                        sending.at += sent;
                        sending.stalled = None;
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => {
                        // The kernel has noted that somebody waits, so the event cannot be missed.
                        self.backlog.store(true, Ordering::Relaxed);
                        sending.stalled.get_or_insert(now);
                        return true;
                    }
                    Err(error) => {
                        tracing::debug!(%error, remote = %self.remote, "sending failed");
                        self.end(sending);
                        return false;
                    }
                }
            }
            sending.cipher.clear();
            sending.at = 0;
            sending.control = 0;
            sending.pong = false;
            sending.stalled = None;
            if sending.queue.is_empty() {
                self.backlog.store(false, Ordering::Relaxed);
                return true;
            }
            while sending.cipher.len() < AHEAD
                && let Some(length) = sending.queue.peek(now)
            {
                if !sending.plain.is_empty()
                    && sending.plain.len() + frame::PREFIX + length > RECORD
                    && !self.seal(sending)
                {
                    return false;
                }
                if frame::PREFIX + length > RECORD {
                    let mut datagram = Vec::with_capacity(length);
                    sending.queue.take(&mut datagram);
                    self.long(sending, &datagram);
                    continue;
                }
                let Sending { plain, queue, .. } = sending;
                plain.extend_from_slice(&frame::prefix(length));
                queue.take(plain);
            }
            if !self.seal(sending) {
                return false;
            }
        }
    }

    /// Nothing goes any more; the receiving thread sees the end and tells it.
    fn end(&self, sending: &mut Sending) {
        sending.broken = true;
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    /// Ends the connection from this side.
    pub(super) fn close(&self) {
        self.end(&mut self.sending.lock());
    }
}

/// Nanoseconds, never 0, which stands for "none".
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("number", &self.number)
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}
