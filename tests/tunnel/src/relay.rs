//! A long and lossy way: datagrams are passed on after a delay, at a rate, and some of them not at all.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::event::{EventfdFlags, eventfd};
use warren_proto::plane::Endpoint;
use warren_transport::udp::{MAX_BYTES, MAX_SEGMENTS, Receiver, Udp, Wake};

use crate::Namespace;

/// What waits in front of the line at most, as time.
const BUFFER: Duration = Duration::from_millis(50);
/// The relay sleeps at least so long, and moves what is due meanwhile at once.
pub(crate) const TICK: Duration = Duration::from_micros(100);

/// What the way does.
#[derive(Clone, Copy, Debug)]
pub struct Impairment {
    /// From the one end to the other.
    pub delay: Duration,
    /// Mbit/s in each direction.
    pub rate: u32,
    /// Share of the datagrams that are lost, between 0 and 1, in each direction.
    pub loss: f64,
}

/// A relay at work between one client and a server.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Result<()>>>,
    port: u16,
}

impl Relay {
    /// Passes datagrams on between whoever sends to it and `server`.
    ///
    /// # Errors
    /// The host is gone.
    pub fn start(host: &Namespace, server: SocketAddr, impairment: Impairment) -> Result<Relay> {
        let udp = Arc::new(host.inside(|| Ok(Udp::bind(0, None)?))?);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let port = udp.port();
        let told = Arc::clone(&stop);
        let thread = host.thread(move || Way::new(udp, server, impairment).run(&told))?;
        Ok(Relay { stop, thread: Some(thread), port })
    }

    /// Where the client sends to, on its host.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Way {
    udp: Arc<Udp>,
    server: SocketAddr,
    client: Option<SocketAddr>,
    lines: [Line; 2],
}

/// One direction.
pub(crate) struct Line {
    impairment: Impairment,
    /// When each arrives.
    flying: VecDeque<(Duration, Vec<u8>)>,
    /// When the last one has left the sender.
    free: Duration,
    random: u64,
}

impl Line {
    /// Both directions. They lose independently of each other.
    pub(crate) fn pair(impairment: Impairment) -> [Line; 2] {
        [0x9e37_79b9_7f4a_7c15, 0x2545_f491_4f6c_dd1d].map(|random| Line {
            impairment,
            flying: VecDeque::new(),
            free: Duration::ZERO,
            random,
        })
    }

    /// Something is sent, with headers of so many bytes that the line has too.
    pub(crate) fn take(&mut self, now: Duration, bytes: &[u8], headers: usize) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        #[expect(clippy::cast_precision_loss, reason = "a share of 2^53 values")]
        let drawn = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        let free = self.free.max(now);
        if drawn < self.impairment.loss || free - now > BUFFER {
            return;
        }
        let bits = (bytes.len() + headers) as u64 * 8;
        self.free = free + Duration::from_nanos(bits * 1_000 / u64::from(self.impairment.rate));
        self.flying.push_back((self.free + self.impairment.delay, bytes.to_vec()));
    }

    /// When something arrives.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.flying.front().map(|(at, _)| *at)
    }

    /// What has arrived.
    pub(crate) fn arrived(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.flying.pop_front_if(|(at, _)| *at <= now).map(|(_, bytes)| bytes)
    }
}

impl Way {
    fn new(udp: Arc<Udp>, server: SocketAddr, impairment: Impairment) -> Self {
        Self { udp, server, client: None, lines: Line::pair(impairment) }
    }

    fn run(mut self, stop: &OwnedFd) -> Result<()> {
        let origin = Instant::now();
        let mut receiver = Receiver::new(Arc::clone(&self.udp), 0);
        let mut buffer = Vec::with_capacity(MAX_BYTES);
        loop {
            let now = origin.elapsed();
            let due = self.lines.iter().filter_map(Line::due).min();
            let patience = due.map(|at| at.saturating_sub(now).max(TICK));
            if receiver.receive_until(stop.as_fd(), [None, None], patience).context("relay")? == Wake::Stop {
                return Ok(());
            }
            let now = origin.elapsed();
            let (bytes, found) = receiver.parts();
            for datagram in found {
                let back = datagram.from.remote == self.server;
                if !back {
                    self.client = Some(datagram.from.remote);
                }
                for place in datagram.places() {
                    // The headers of UDP, IPv4 and Ethernet.
                    self.lines[usize::from(back)].take(now, &bytes[place], 42);
                }
            }
            self.pass(now, &mut buffer);
        }
    }

    /// Sends what has arrived, in runs of one size.
    fn pass(&mut self, now: Duration, buffer: &mut Vec<u8>) {
        for (direction, line) in self.lines.iter_mut().enumerate() {
            let Some(to) = (if direction == 0 { Some(self.server) } else { self.client }) else { continue };
            while line.flying.front().is_some_and(|(at, _)| *at <= now) {
                buffer.clear();
                let (mut size, mut count) = (0, 0);
                while let Some((at, datagram)) = line.flying.front() {
                    let last = count > 0 && !buffer.len().is_multiple_of(size);
                    let fits = count == 0
                        || (datagram.len() <= size
                            && count < MAX_SEGMENTS
                            && buffer.len() + datagram.len() <= MAX_BYTES);
                    if *at > now || last || !fits {
                        break;
                    }
                    size = size.max(datagram.len());
                    count += 1;
                    buffer.extend_from_slice(datagram);
                    line.flying.pop_front();
                }
                // A full queue loses datagrams, as lines do.
                let _ = self.udp.send_segments(0, &Endpoint::new(to), buffer, size, 0);
            }
        }
    }
}
