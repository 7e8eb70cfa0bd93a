//! The thread that receives from all connections, sends what waited, and keeps them alive.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use warren_proto::plane::Endpoint;
use warren_wire::stream::frame::{self, Frame};

use super::limits::{STRANGER_BYTES, STRANGER_FRAMES, STRANGER_TIME, STRANGER_TURN};
use super::refusals::Refusal;
use super::session::State;
use super::stream::{Stream, nanos};
use super::streams::Streams;
use super::turns::Turns;
use crate::udp::Wake;

/// Encrypted bytes of a peer's turn: what a batch of the data path is made of.
const BUFFER: usize = 256 << 10;
/// Data of the event that is no connection's.
const STOP: u64 = 0;
const EVENTS: usize = 64;
/// Time between two looks at all connections.
const TICK: Duration = Duration::from_millis(500);
/// A ping is due when nothing has come for so long: after something was sent, and at all.
const ANXIOUS: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(15);
/// A connection ends when nothing comes for so long after a ping.
const DEAD: Duration = Duration::from_secs(4);
/// The end of a connection that carries something else, or too much before a known peer used it.
const FOREIGN: &str = "the data does not belong to a tunnel";
const UNREAD: &str = "the other end does not read";

/// A datagram in the receiver's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The connection it came by.
    pub from: Endpoint,
    /// Its place.
    pub place: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    Ready,
    Nothing,
    Stop,
}

/// Receives from all connections. For one thread.
pub struct Receiver {
    streams: Arc<Streams>,
    stop: OwnedFd,
    /// Connections that may have more.
    turns: Turns,
    cipher: Vec<u8>,
    plain: Vec<u8>,
    out: Vec<u8>,
    found: Vec<Arrival>,
    tick: Duration,
}

impl Receiver {
    /// Receives from all connections there are and will be, until `stop` is readable.
    ///
    /// # Errors
    /// When another receiver is at work, or the kernel refuses.
    pub fn new(streams: Arc<Streams>, stop: BorrowedFd<'_>) -> io::Result<Self> {
        let stop = stop.try_clone_to_owned()?;
        epoll::add(&streams.epoll, &stop, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        // A receiver before this one may have left some half way.
        let mut turns = Turns::default();
        for stream in streams.all() {
            stream.queued.store(true, Ordering::Relaxed);
            turns.push(stream.number(), stream.is_stranger());
        }
        Ok(Self {
            streams,
            stop,
            turns,
            cipher: vec![0; BUFFER],
            plain: Vec::with_capacity(BUFFER),
            out: Vec::new(),
            found: Vec::new(),
            tick: Duration::ZERO,
        })
    }

    /// Waits for datagrams of any connection, or until the end.
    ///
    /// # Errors
    /// Told once and not fatal: call again.
    pub fn receive(&mut self) -> io::Result<Wake> {
        loop {
            if self.read_ready() {
                return Ok(Wake::Datagrams);
            }
            let timeout = if self.turns.is_empty() { self.due() } else { Some(Duration::ZERO) };
            if self.wait(timeout)? == Woken::Stop {
                return Ok(Wake::Stop);
            }
        }
    }

    /// The same without waiting; true: there are datagrams, and there may be more.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn receive_now(&mut self) -> io::Result<bool> {
        loop {
            if self.read_ready() {
                return Ok(true);
            }
            if self.wait(Some(Duration::ZERO))? != Woken::Ready && self.turns.is_empty() {
                return Ok(false);
            }
        }
    }

    /// How long [`Self::receive_now`] can be left alone while [`Self::readable`] is not; `None`: as long as it likes.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        (self.streams.count() > 0).then(|| self.tick.saturating_sub(self.streams.now()))
    }

    /// Readable when [`Self::receive_now`] is to be called.
    #[must_use]
    pub fn readable(&self) -> &OwnedFd {
        &self.streams.epoll
    }

    /// Reads what is known to be there, for the rest of a round; true: there are datagrams.
    fn read_ready(&mut self) -> bool {
        self.found.clear();
        let now = self.streams.now();
        if self.tick <= now {
            self.tick = now + TICK;
            self.keep_alive(now);
        }
        while let Some(number) = self.turns.next() {
            if let Some(stream) = self.streams.connection(number) {
                stream.queued.store(false, Ordering::Relaxed);
                self.take(now, &stream);
                if !self.found.is_empty() {
                    return true;
                }
            }
        }
        false
    }

    /// The buffer and what is in it.
    #[inline]
    pub fn parts(&mut self) -> (&mut [u8], &[Arrival]) {
        (&mut self.plain, &self.found)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Woken> {
        let timeout = timeout.map(|time| Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() });
        let mut room = [MaybeUninit::uninit(); EVENTS];
        let (events, _) = match epoll::wait(&self.streams.epoll, &mut room, timeout.as_ref()) {
            Ok(events) => events,
            Err(Errno::INTR) => return Ok(Woken::Nothing),
            Err(error) => return Err(error.into()),
        };
        let woken = if events.is_empty() { Woken::Nothing } else { Woken::Ready };
        let now = self.streams.now();
        for event in events {
            let (number, flags) = (event.data.u64(), event.flags);
            if number == STOP {
                return Ok(Woken::Stop);
            }
            let Some(stream) = self.streams.connection(number) else { continue };
            if flags.contains(epoll::EventFlags::OUT) {
                stream.writable(now);
            }
            self.queue(&stream);
        }
        self.turns.begin();
        Ok(woken)
    }

    /// Gives a connection a turn in the next round, and only one.
    fn queue(&mut self, stream: &Stream) {
        if !stream.queued.swap(true, Ordering::Relaxed) {
            self.turns.push(stream.number(), stream.is_stranger());
        }
    }

    /// A connection's turn: reads it once.
    fn take(&mut self, now: Duration, stream: &Arc<Stream>) {
        let is_stranger = stream.is_stranger();
        let turn = if is_stranger { STRANGER_TURN } else { BUFFER };
        let mut left = stream.left.lock();
        self.plain.clear();
        self.plain.append(&mut left.plain);
        if stream.unread.load(Ordering::Relaxed) {
            return self.refuse(stream, Refusal::Unread, UNREAD);
        }
        let received = match recv(&stream.socket, &mut self.cipher[..turn], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return self.streams.ended(stream, "the other end closed it"),
            Ok((received, _)) => received,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return self.streams.ended(stream, "it was reset"),
        };
        if received > 0 {
            stream.beat.heard.store(nanos(now), Ordering::Relaxed);
            stream.beat.unanswered.store(0, Ordering::Relaxed);
        }
        if received == turn {
            self.queue(stream);
        }
        if is_stranger && stream.count_stranger(received, 0).0 > STRANGER_BYTES {
            return self.refuse(stream, Refusal::StrangerBytes, FOREIGN);
        }
        let mut rest = &self.cipher[..received];
        while !rest.is_empty() {
            let read = stream.session.lock().read(rest, &mut self.plain, &mut self.out);
            match read {
                Ok((used, State::Open)) => rest = rest.get(used..).unwrap_or_default(),
                Ok((_, State::Closed)) => return self.streams.ended(stream, "the other end closed it"),
                Ok((_, State::Handshake)) | Err(_) => {
                    return self.streams.ended(stream, "it violated the TLS protocol");
                }
            }
        }
        if !self.out.is_empty() {
            stream.raw(now, &self.out);
            self.out.clear();
        }
        match self.frames(now, stream) {
            Ok(end) => left.plain.extend_from_slice(&self.plain[end..]),
            Err(()) => self.refuse(stream, Refusal::StrangerBytes, FOREIGN),
        }
    }

    /// Finds the datagrams, answers the last ping; returns where the first frame begins that is not whole.
    fn frames(&mut self, now: Duration, stream: &Stream) -> Result<usize, ()> {
        let from = *stream.from();
        let (mut at, mut count, mut ping) = (0, 0, None);
        while let Some((content, end)) = frame::next(&self.plain, at).map_err(|_| self.found.clear())? {
            match content {
                Frame::Datagram(place) => self.found.push(Arrival { from, place }),
                Frame::Ping(number) => ping = Some(number),
                Frame::Pong(number) => pong(now, stream, number),
                Frame::Unknown => {}
            }
            at = end;
            count += 1;
        }
        if stream.is_stranger() && stream.count_stranger(0, count).1 > STRANGER_FRAMES {
            self.found.clear();
            return Err(());
        }
        if let Some(number) = ping {
            stream.pong(now, number);
        }
        Ok(at)
    }

    fn refuse(&self, stream: &Stream, refusal: Refusal, why: &'static str) {
        if stream.is_stranger() || refusal == Refusal::Unread {
            self.streams.refusals.count(refusal);
        }
        self.streams.ended(stream, why);
    }

    /// Pings where it is due, and ends what does not answer.
    fn keep_alive(&mut self, now: Duration) {
        for stream in self.streams.all() {
            let since = |mark: &std::sync::atomic::AtomicU64| match mark.load(Ordering::Relaxed) {
                0 => None,
                nanos => Some(now.saturating_sub(Duration::from_nanos(nanos))),
            };
            let silent = since(&stream.beat.heard).unwrap_or_default();
            let pinged = since(&stream.beat.pinged);
            if stream.is_stranger() && now.saturating_sub(stream.opened()) > STRANGER_TIME {
                self.refuse(&stream, Refusal::StrangerTime, "no known peer used it");
                continue;
            }
            if stream.is_stalled(now) {
                self.refuse(&stream, Refusal::Unread, UNREAD);
                continue;
            }
            if let Some(pinged) = pinged {
                // Anything that came since is as good as the answer.
                if silent < pinged {
                    stream.beat.pinged.store(0, Ordering::Relaxed);
                } else if pinged >= DEAD {
                    self.streams.ended(&stream, "it no longer answers");
                }
                continue;
            }
            let anxious = since(&stream.beat.unanswered).is_some_and(|time| time >= ANXIOUS);
            if anxious || silent >= IDLE {
                stream.beat.pinged.store(nanos(now), Ordering::Relaxed);
                stream.ping(now);
            } else if stream.beat.rtt.load(Ordering::Relaxed) == 0 {
                // Once early, to know the round trip.
                stream.beat.rtt.store(1, Ordering::Relaxed);
                stream.ping(now);
            }
            stream.writable(now);
            stream.shrink();
        }
    }
}

/// The number is believed once, and only that of the last ping.
fn pong(now: Duration, stream: &Stream, number: u64) {
    let asked = stream.beat.asked.swap(0, Ordering::Relaxed);
    if number != asked || asked == 0 {
        return;
    }
    let took = nanos(now.saturating_sub(stream.opened())).saturating_sub(asked).max(1);
    let old = stream.beat.rtt.load(Ordering::Relaxed);
    let rtt = if old <= 1 { took } else { old - old / 8 + took / 8 };
    stream.beat.rtt.store(rtt, Ordering::Relaxed);
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = epoll::delete(&self.streams.epoll, self.stop.as_fd());
    }
}
