//! Load on a device from a host of its own: honest handshakes of many clients, or forged ones.
//!
//! Clients are engines of our own protocol crate, one for each key. Each speaks from one of many source addresses, as
//! clients behind many networks do, so that a limit for each source is not what is measured.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use blake2::digest::consts::U16;
use blake2::digest::{Digest as _, Mac as _};
use blake2::{Blake2s256, Blake2sMac};
use rustix::event::epoll;
use warren_proto::Now;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::{Endpoint, PeerId};
use warren_tunnel_tests::Namespace;
use warren_wire::{PrivateKey, PublicKey};

/// Source addresses that clients share.
const SOURCES: usize = 1_000;

/// The network of the source addresses; all of it belongs to the host of the load.
pub(crate) const NETWORK: &str = "10.202.0.0/16";

/// What a load has done so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Initiations sent, repetitions included.
    pub(crate) sent: AtomicU64,
    /// Handshakes that a client saw completed.
    pub(crate) completed: AtomicU64,
    /// Cookie replies received.
    pub(crate) cookies: AtomicU64,
}

/// A load under way.
pub(crate) struct Load {
    pub(crate) counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<()>>,
}

impl Load {
    fn start(
        host: &Namespace,
        work: impl FnOnce(&Counts, &AtomicBool) -> Result<()> + Send + 'static,
    ) -> Result<Load> {
        let counts = Arc::new(Counts::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (counted, told) = (Arc::clone(&counts), Arc::clone(&stop));
        let thread = host.thread(move || work(&counted, &told))?;
        Ok(Load { counts, stop, thread })
    }

    /// `rate` new clients a second begin a handshake, until the load is stopped or there are no more clients.
    pub(crate) fn handshakes(
        host: &Namespace,
        clients: Vec<Client>,
        target: SocketAddr,
        rate: u32,
    ) -> Result<Load> {
        Load::start(host, move |counts, stop| Storm::new(clients, target)?.run(rate, counts, stop))
    }

    /// `rate` forged initiations a second.
    pub(crate) fn forged(
        host: &Namespace,
        packets: Vec<[u8; 148]>,
        target: SocketAddr,
        rate: u32,
    ) -> Result<Load> {
        Load::start(host, move |counts, stop| {
            let sockets = sockets(target)?;
            let mut pace = Pace::new(rate);
            while !stop.load(Ordering::Relaxed) {
                for number in pace.due() {
                    let number = usize::try_from(number)?;
                    // A full queue is a loss like any other.
                    let _ = sockets[number % sockets.len()].send(&packets[number % packets.len()]);
                    counts.sent.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        })
    }

    /// Ends it.
    pub(crate) fn stop(self) -> Result<Arc<Counts>> {
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.thread.join();
        outcome.map_err(|_| anyhow::anyhow!("the load panicked"))??;
        Ok(self.counts)
    }
}

/// A client that wants a session.
pub(crate) struct Client {
    engine: Engine,
    server: PeerId,
    /// What a public key is to the server.
    pub(crate) public: String,
    /// Real time at which its own clock began.
    begun: Option<Instant>,
}

impl Client {
    /// The n-th client of a run; the same numbers give the same keys.
    pub(crate) fn new(seed: u64, number: usize, server: &str, target: SocketAddr) -> Result<Client> {
        let mut random = [0; 32];
        random[..8].copy_from_slice(&seed.to_le_bytes());
        random[8..16].copy_from_slice(&(number as u64 + 1).to_le_bytes());
        // Keys must look random: a hash of the number does.
        let key: [u8; 32] = Blake2s256::digest(random).into();
        let key = PrivateKey::from_random(key);
        let public = key.public().to_string();
        let mut engine =
            Engine::new(EngineConfig::new(key), Blake2s256::digest([random, [1; 32]].concat()).into());
        let mut config = PeerConfig::new(PublicKey::from_base64(server)?);
        config.endpoint = Some(target);
        config.allowed_ips = vec!["0.0.0.0/0".parse()?];
        let server = engine.upsert_peer(at(Duration::ZERO), config);
        Ok(Client { engine, server, public, begun: None })
    }

    fn now(&self) -> Now {
        at(self.begun.map_or(Duration::ZERO, |begun| begun.elapsed()))
    }
}

fn at(mono: Duration) -> Now {
    Now::new(mono, SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Many clients at work.
struct Storm {
    clients: Vec<Client>,
    sockets: Vec<UdpSocket>,
    poll: rustix::fd::OwnedFd,
    target: SocketAddr,
    /// By socket and index of the session, as an answer names it.
    waiting: HashMap<(usize, u32), usize>,
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Storm {
    fn new(clients: Vec<Client>, target: SocketAddr) -> Result<Storm> {
        let sockets = sockets(target)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, socket) in sockets.iter().enumerate() {
            epoll::add(&poll, socket, epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN)?;
        }
        Ok(Storm { clients, sockets, poll, target, waiting: HashMap::new(), timers: BinaryHeap::new() })
    }

    fn run(mut self, rate: u32, counts: &Counts, stop: &AtomicBool) -> Result<()> {
        let mut pace = Pace::new(rate);
        let mut events = Vec::with_capacity(256);
        while !stop.load(Ordering::Relaxed) {
            for number in pace.due() {
                let number = usize::try_from(number)?;
                if number < self.clients.len() {
                    let client = &mut self.clients[number];
                    client.begun = Some(Instant::now());
                    let (now, server) = (client.now(), client.server);
                    client.engine.want_session(now, server);
                    self.flush(number, counts);
                }
            }
            while let Some(Reverse((due, number))) = self.timers.peek().copied() {
                if due > Instant::now() {
                    break;
                }
                self.timers.pop();
                let now = self.clients[number].now();
                self.clients[number].engine.handle_timeout(now);
                self.flush(number, counts);
            }
            let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            events.clear();
            epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), Some(&limit))?;
            for event in &events {
                self.receive(usize::try_from(event.data.u64())?, counts)?;
            }
        }
        Ok(())
    }

    /// Takes what has come to a socket to the client that it is for.
    fn receive(&mut self, socket: usize, counts: &Counts) -> Result<()> {
        let mut buffer = [0; 2048];
        loop {
            let length = match self.sockets[socket].recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The other end is not there.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error).context("a client's socket"),
            };
            let index = match buffer[0] {
                2 if length == 92 => 8,
                3 if length == 64 => 4,
                _ => continue,
            };
            if buffer[0] == 3 {
                counts.cookies.fetch_add(1, Ordering::Relaxed);
            }
            let index =
                u32::from_le_bytes([buffer[index], buffer[index + 1], buffer[index + 2], buffer[index + 3]]);
            let Some(number) = self.waiting.get(&(socket, index)).copied() else { continue };
            let now = self.clients[number].now();
            let from = Endpoint::new(self.target);
            self.clients[number].engine.handle(now, from, &mut buffer[..length]);
            self.flush(number, counts);
        }
    }

    /// Sends what a client has to say and notes when it wants to be asked again.
    fn flush(&mut self, number: usize, counts: &Counts) {
        let socket = number % self.sockets.len();
        let client = &mut self.clients[number];
        while let Some(output) = client.engine.poll_output() {
            match output {
                Output::Transmit { bytes, .. } => {
                    if bytes[0] == 1 {
                        let index = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
                        self.waiting.insert((socket, index), number);
                        counts.sent.fetch_add(1, Ordering::Relaxed);
                    }
                    let _ = self.sockets[socket].send(&bytes);
                }
                Output::Established(_) => {
                    counts.completed.fetch_add(1, Ordering::Relaxed);
                }
                Output::Flush(_) | Output::Arrived(_) | Output::Expired(_) => {}
            }
        }
        if let (Some(due), Some(begun)) = (client.engine.poll_timeout(), client.begun) {
            self.timers.push(Reverse((begun + due, number)));
        }
    }
}

/// Sockets with different source addresses, connected to `target`.
fn sockets(target: SocketAddr) -> Result<Vec<UdpSocket>> {
    let base = u32::from(Ipv4Addr::new(10, 202, 0, 1));
    let open = |number: usize| {
        let source = Ipv4Addr::from(base + u32::try_from(number)?);
        let socket = UdpSocket::bind((source, 0))?;
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    (0..SOURCES).map(open).collect()
}

/// Initiations that look right to anyone who knows only the server's public key, but hold nothing.
///
/// Their first MAC fits (whitepaper section 5.4.4), so the server must do the work of a key exchange to see through them.
pub(crate) fn forge(server: &str, count: usize) -> Result<Vec<[u8; 148]>> {
    let server = PublicKey::from_base64(server)?;
    let key = Blake2s256::digest([b"mac1----".as_slice(), server.as_bytes()].concat());
    let make = |number: usize| {
        let mut packet = [0; 148];
        for (part, chunk) in packet[..116].chunks_mut(32).enumerate() {
            let noise =
                Blake2s256::digest([(number as u64).to_le_bytes(), (part as u64).to_le_bytes()].concat());
            chunk.copy_from_slice(&noise[..chunk.len()]);
        }
        packet[..4].copy_from_slice(&[1, 0, 0, 0]);
        let mut mac = Blake2sMac::<U16>::new_from_slice(&key)?;
        mac.update(&packet[..116]);
        packet[116..132].copy_from_slice(&mac.finalize().into_bytes());
        Ok(packet)
    };
    (0..count).map(make).collect()
}

/// So many things a second, evenly.
struct Pace {
    rate: f64,
    begun: Instant,
    done: u64,
}

impl Pace {
    fn new(rate: u32) -> Pace {
        Pace { rate: f64::from(rate), begun: Instant::now(), done: 0 }
    }

    /// The numbers of those that are due.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of things within seconds"
    )]
    fn due(&mut self) -> std::ops::Range<u64> {
        let until = (self.begun.elapsed().as_secs_f64() * self.rate) as u64;
        let due = self.done..until;
        self.done = until;
        due
    }
}
