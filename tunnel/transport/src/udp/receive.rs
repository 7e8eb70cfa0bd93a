//! Receiving many datagrams a call, and waiting for them.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use warren_proto::plane::Endpoint;

use super::{Udp, sys};

/// Longest that comes in one slot: what an IP packet holds.
const SLOT: usize = 65_535;
/// Distance of slots: not a multiple of the page size, or short datagrams would all fall into the same few
/// sets of the processor's cache. Memory that is never written to is never there.
const STRIDE: usize = SLOT + 1 + 1600;
/// Slots of one call while each holds one datagram.
const SLOTS: usize = 64;
/// Slots of one call while each holds many: what fits a second-level cache.
const BULKY_SLOTS: usize = 16;
/// Bytes in a slot, on average, that make it bulky.
const BULKY: usize = 8192;

/// What came in one slot: one datagram, or several of equal size of which the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sender, and the local address it came to.
    pub from: Endpoint,
    /// ECN bits of the outer header, the same for all.
    pub ecn: u8,
    start: usize,
    len: usize,
    segment: usize,
}

impl Datagram {
    /// Places of the single datagrams in the receiver's buffer.
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (start, end, step) = (self.start, self.start + self.len, self.segment.max(1));
        (start..end).step_by(step).map(move |at| at..(at + step).min(end))
    }
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Datagrams are there.
    Datagrams,
    /// `stop` is readable.
    Stop,
    /// One of `calls` is readable.
    Called,
    /// Nothing came in time.
    Timeout,
}

/// Receives from one pair of sockets. For one thread.
pub struct Receiver {
    udp: Arc<Udp>,
    queue: usize,
    slots: sys::Slots,
    /// Slots of the next call.
    count: usize,
    buffer: Vec<u8>,
    found: Vec<Datagram>,
    /// Which sockets may have more.
    ready: [bool; 2],
    cut: u64,
}

impl Receiver {
    /// Receives from the pair number `queue`, which must be below [`Udp::queues`].
    pub fn new(udp: Arc<Udp>, queue: usize) -> Self {
        Self {
            udp,
            queue,
            slots: sys::Slots::new(SLOTS),
            count: SLOTS,
            buffer: vec![0; SLOTS * STRIDE],
            found: Vec::with_capacity(SLOTS),
            ready: [true; 2],
            cut: 0,
        }
    }

    /// Waits for datagrams, or until `stop` is readable. An error is told once and not fatal: call again.
    pub fn receive(&mut self, stop: BorrowedFd<'_>) -> io::Result<Wake> {
        self.receive_until(stop, [None, None], None)
    }

    /// As [`Self::receive`], but waits for `calls` too, and no longer than `timeout`. Datagrams that are there already
    /// come first.
    pub fn receive_until(
        &mut self,
        stop: BorrowedFd<'_>,
        calls: [Option<BorrowedFd<'_>>; 2],
        timeout: Option<Duration>,
    ) -> io::Result<Wake> {
        self.found.clear();
        loop {
            for family in 0..2 {
                if self.ready[family] && self.take(family)? {
                    // The other one is asked first next time.
                    return Ok(Wake::Datagrams);
                }
            }
            if let Some(wake) = self.wait(stop, calls, timeout)? {
                return Ok(wake);
            }
        }
    }

    /// The buffer and what is in it.
    #[inline]
    pub fn parts(&mut self) -> (&mut [u8], &[Datagram]) {
        (&mut self.buffer, &self.found)
    }

    /// Datagrams that were longer than the longest IP packet allows, and dropped.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Datagrams of one socket; false if there are none.
    fn take(&mut self, family: usize) -> io::Result<bool> {
        let pair = self.udp.pairs.get(self.queue);
        let fd = pair.and_then(|pair| if family == 0 { pair.v4.as_ref() } else { pair.v6.as_ref() });
        let Some(fd) = fd else {
            self.ready[family] = false;
            return Ok(false);
        };
        let received =
            match self.slots.receive(fd.as_fd(), &mut self.buffer[..self.count * STRIDE], STRIDE, SLOT) {
                Ok(received) => received,
                Err(error) => {
                    return match error.raw_os_error() {
                        Some(libc::EAGAIN) => {
                            self.ready[family] = false;
                            Ok(false)
                        }
                        // What ICMP said of a datagram sent earlier.
                        Some(libc::EINTR | libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::EMSGSIZE) => {
                            Ok(false)
                        }
                        _ => {
                            self.ready[family] = false;
                            Err(error)
                        }
                    };
                }
            };
        // Fewer than asked for: it is empty, and polled before the next call.
        self.ready[family] = received == self.count;
        let mut bytes = 0;
        for slot in 0..received {
            match self.slots.arrival(slot) {
                Some(arrival) if !arrival.cut => {
                    bytes += arrival.len;
                    self.found.push(Datagram {
                        from: arrival.from,
                        ecn: arrival.ecn,
                        start: slot * STRIDE,
                        len: arrival.len.min(SLOT),
                        segment: arrival.segment.unwrap_or(SLOT),
                    });
                }
                _ => self.cut += 1,
            }
        }
        self.count = if bytes > received * BULKY { BULKY_SLOTS } else { SLOTS };
        Ok(!self.found.is_empty())
    }

    /// Waits; why not to look for datagrams now.
    fn wait(
        &mut self,
        stop: BorrowedFd<'_>,
        calls: [Option<BorrowedFd<'_>>; 2],
        timeout: Option<Duration>,
    ) -> io::Result<Option<Wake>> {
        let Some(pair) = self.udp.pairs.get(self.queue) else { return Ok(Some(Wake::Stop)) };
        // What is not there stands for `stop` and is asked for nothing.
        let entry = |fd: Option<BorrowedFd<'_>>| match fd {
            Some(_) => PollFlags::IN,
            None => PollFlags::empty(),
        };
        let (v4, v6) = (pair.v4.as_ref().map(|fd| fd.as_fd()), pair.v6.as_ref().map(|fd| fd.as_fd()));
        let mut fds = [
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
            PollFd::from_borrowed_fd(v4.unwrap_or(stop), entry(v4)),
            PollFd::from_borrowed_fd(v6.unwrap_or(stop), entry(v6)),
            PollFd::from_borrowed_fd(calls[0].unwrap_or(stop), entry(calls[0])),
            PollFd::from_borrowed_fd(calls[1].unwrap_or(stop), entry(calls[1])),
        ];
        let limit = timeout.and_then(|time| Timespec::try_from(time).ok());
        let ready = match poll(&mut fds, limit.as_ref()) {
            Ok(ready) => ready,
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let [stop, v4, v6, one, two] = fds.map(|fd| !fd.revents().is_empty());
        self.ready = [v4, v6];
        Ok(match (stop, v4 || v6, one || two) {
            (true, ..) => Some(Wake::Stop),
            (_, true, _) => None,
            (.., true) => Some(Wake::Called),
            _ if ready == 0 => Some(Wake::Timeout),
            _ => None,
        })
    }
}
