//! The loop of the control thread.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    os::fd::BorrowedFd,
    sync::{Arc, mpsc::SyncSender},
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use warren_proto::{
    Now,
    engine::{Engine, Output},
    plane::{Carrier, Endpoint, Peer, PeerId, StreamId},
};
use warren_transport::tls::Streams;
use warren_transport::udp::Udp;
use warren_wire::key::{PrivateKey, PublicKey};

use super::{
    BATCH, Command, Commands, Facts, FilePeer, Handle, Lookup, carriers::Ways, model::Model, report,
};
use crate::runtime::{
    datapath::{Clock, Control as Message},
    problem::{Context, Result},
    random,
    status::Offload,
    uapi::Set,
};

/// An unanswered initiation is repeated every 5 s, the very first one sooner. After this many the name is resolved again.
const TRIES_BEFORE_LOOKUP: u32 = 3;

/// After this many a warning is logged: 10 to 16 s without an answer.
const TRIES_BEFORE_WARNING: u32 = 4;

/// The data path as used by the control thread.
pub trait Traffic: Send {
    /// The next event that the data path cannot handle itself.
    fn next(&mut self) -> Option<Message>;
    /// Readable when there may be one.
    fn readable(&self) -> BorrowedFd<'_>;
    /// Call this after it was readable, before [`Traffic::next`].
    fn acknowledge(&mut self);
    /// Sends the packets of a peer that waited for a session.
    fn flush(&self, peer: &Arc<Peer>);
    /// A session was established.
    fn established(&self);
    /// The socket in use.
    fn udp(&self) -> &Arc<Udp>;
    /// The TLS connections.
    fn streams(&self) -> &Arc<Streams>;
    /// Switches to another socket.
    ///
    /// # Errors
    /// When the data path cannot be restarted with it.
    fn rebind(&mut self, udp: Arc<Udp>) -> Result<()>;
    /// The device's MTU has changed.
    fn set_mtu(&mut self, mtu: usize);
    /// Handshake messages dropped because this thread was overloaded.
    fn overrun(&self) -> u64;
    /// Threads of the data path that ended unexpectedly.
    fn failed(&self) -> u64;
    /// Ends the data path's threads.
    fn stop(self: Box<Self>);
}

/// The parts of the control thread.
pub struct Parts {
    /// The protocol.
    pub engine: Engine,
    /// Our key.
    pub private_key: PrivateKey,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    /// The data path.
    pub traffic: Box<dyn Traffic>,
    /// Commands to it.
    pub commands: Commands,
    /// Names to resolve.
    pub lookups: SyncSender<Lookup>,
    /// Called once when the data path ends unexpectedly.
    pub on_failure: Box<dyn Fn() + Send>,
    /// For its status.
    pub facts: Facts,
}

/// The running control thread.
pub struct Thread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Starts the control thread.
///
/// # Errors
/// When no thread can be started.
pub fn start(parts: Parts, handle: Handle) -> Result<Thread> {
    let thread = thread::Builder::new()
        .name("control".into())
        .spawn({
            let handle = handle.clone();
            move || Control::new(parts, handle).run()
        })
        .while_doing(|| "cannot start the control thread".into())?;
    Ok(Thread { handle, thread: Some(thread) })
}

impl Drop for Thread {
    /// Ends the thread, and the data path with it.
    fn drop(&mut self) {
        self.handle.tell(Command::Stop);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// Handshake attempts of a peer since its last completed handshake.
#[derive(Debug, Default)]
struct Trying {
    initiations: u32,
    told: bool,
    up: bool,
    remote: Option<std::net::SocketAddr>,
}

fn trying_is_vain(trying: Option<&Trying>) -> bool {
    trying.is_some_and(|trying| trying.initiations >= TRIES_BEFORE_WARNING && !trying.told)
}

struct Control {
    engine: Engine,
    model: Model,
    ways: Ways,
    traffic: Box<dyn Traffic>,
    commands: Commands,
    lookups: SyncSender<Lookup>,
    on_failure: Option<Box<dyn Fn() + Send>>,
    facts: Facts,
    trying: HashMap<PeerId, Trying>,
    /// Overrun already reported to the engine.
    overrun: u64,
    stop: bool,
}

impl Control {
    fn new(parts: Parts, handle: Handle) -> Self {
        let mut model = Model::default();
        model.private_key = Some(parts.private_key);
        model.fwmark = parts.fwmark;
        Self {
            engine: parts.engine,
            model,
            ways: Ways::new(Arc::clone(parts.traffic.streams()), handle),
            traffic: parts.traffic,
            commands: parts.commands,
            lookups: parts.lookups,
            on_failure: Some(parts.on_failure),
            facts: parts.facts,
            trying: HashMap::new(),
            overrun: 0,
            stop: false,
        }
    }

    fn run(mut self) {
        let mut busy = true;
        while !self.stop {
            let patience = if busy { Some(Duration::ZERO) } else { self.until_timer() };
            let (commanded, asked) = self.wait(patience);
            if commanded {
                self.commands.acknowledge();
            }
            while let Some(command) = self.commands.next() {
                self.command(command);
                self.outputs();
            }
            if asked {
                self.traffic.acknowledge();
            }
            busy = self.events();
            let now = now();
            self.note_overrun(now);
            if self.traffic.failed() > 0
                && let Some(tell) = self.on_failure.take()
            {
                tell();
            }
            if self.engine.poll_timeout().is_some_and(|due| due <= now.mono) {
                self.engine.handle_timeout(now);
                self.outputs();
            }
            self.choose(now);
        }
        self.traffic.stop();
    }

    /// Runs the carrier choice of peers with two carriers.
    fn choose(&mut self, now: Now) {
        self.ways.closed(now);
        if self.ways.poll_timeout().is_some_and(|due| due <= now.mono) {
            let wanted = self.ways.poll(&mut self.engine, now);
            self.outputs();
            wanted.lookups.into_iter().for_each(|id| self.look_up(id));
        }
    }

    /// Counts dropped messages as load: the engine then requires cookies.
    fn note_overrun(&mut self, now: Now) {
        let overrun = self.traffic.overrun();
        let more = overrun.saturating_sub(self.overrun);
        if more > 0 {
            self.overrun = overrun;
            self.engine.note_dropped(now, u32::try_from(more).unwrap_or(u32::MAX));
        }
    }

    fn drops(&self) -> BTreeMap<String, u64> {
        let plane = self.engine.plane();
        let mut drops: BTreeMap<String, u64> =
            plane.drops().list().into_iter().map(|(reason, n)| (reason.name().to_owned(), n)).collect();
        if self.overrun > 0 {
            drops.insert("handshake_overrun".into(), self.overrun);
        }
        drops
    }

    fn until_timer(&self) -> Option<Duration> {
        let due = [self.engine.poll_timeout(), self.ways.poll_timeout()].into_iter().flatten().min();
        due.map(|due| due.saturating_sub(now().mono))
    }

    /// Sleeps until a command, an event or a timer.
    fn wait(&self, patience: Option<Duration>) -> (bool, bool) {
        let traffic = self.traffic.readable();
        let mut fds =
            [PollFd::new(&*self.commands.wake, PollFlags::IN), PollFd::new(&traffic, PollFlags::IN)];
        let patience = patience.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        match poll(&mut fds, patience.as_ref()) {
            Ok(_) => (!fds[0].revents().is_empty(), !fds[1].revents().is_empty()),
            // Interrupted by a signal: check everything.
            Err(_) => (true, true),
        }
    }

    /// Handles at most one batch of events of the data path. True if there may be more.
    fn events(&mut self) -> bool {
        for _ in 0..BATCH {
            let Some(message) = self.traffic.next() else { return false };
            match message {
                Message::Datagram { from, mut bytes } => self.engine.handle(now(), from, &mut bytes),
                Message::Attention => self.engine.attend(now()),
            }
            self.outputs();
        }
        true
    }

    fn outputs(&mut self) {
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::Transmit { to, peer, bytes } => self.transmit(&to, peer, &bytes),
                Output::Flush(id) => {
                    if let Some(peer) = self.engine.plane().peer(id) {
                        self.traffic.flush(&peer);
                    }
                }
                Output::Established(id) => {
                    self.traffic.established();
                    self.established(id);
                }
                Output::Expired(id) => self.expired(id),
            }
        }
    }

    fn transmit(&mut self, to: &Endpoint, peer: Option<PeerId>, bytes: &[u8]) {
        match to.carrier {
            Carrier::Udp => {
                if let Err(error) = self.traffic.udp().send_one(to, bytes) {
                    tracing::debug!(to = %to.remote, %error, "handshake not sent");
                }
            }
            Carrier::Stream(id) => {
                if !self.traffic.streams().send_one(id, bytes) {
                    tracing::debug!(to = %to.remote, "handshake not sent: no TLS connection");
                }
            }
        }
        // Type 1 is an initiation (whitepaper section 5.4.2).
        let (Some(id), Some(1)) = (peer, bytes.first()) else { return };
        let trying = self.trying.entry(id).or_default();
        trying.initiations += 1;
        if trying.initiations.is_multiple_of(TRIES_BEFORE_LOOKUP) {
            self.look_up(id);
        }
        if trying_is_vain(self.trying.get(&id)) {
            self.silent(id);
        }
    }

    fn look_up(&mut self, id: PeerId) {
        let Some(status) = self.engine.peer(now(), id) else { return };
        let Some(name) = self.model.name(&status.public_key) else { return };
        let udp = status.endpoint.filter(|endpoint| endpoint.carrier == Carrier::Udp);
        let not = udp.map(|endpoint| endpoint.remote);
        // If the queue is full, later initiations request the lookup again.
        _ = self.lookups.try_send(Lookup { peer: status.public_key, name: name.clone(), not });
    }

    fn established(&mut self, id: PeerId) {
        let Some(peer) = self.engine.peer(now(), id) else { return };
        let trying = self.trying.entry(id).or_default();
        let remote = peer.endpoint.map(|endpoint| endpoint.remote);
        let moved = trying.up && trying.remote != remote;
        let first = !trying.up || trying.told;
        *trying = Trying { initiations: 0, told: false, up: true, remote };
        let rtt = peer.handshake_rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
        let at = remote.map(tracing::field::display);
        if first {
            tracing::info!(peer = %peer.public_key, endpoint = at, rtt_ms = rtt, "handshake completed");
        } else {
            tracing::debug!(peer = %peer.public_key, endpoint = at, rtt_ms = rtt, "session renewed");
        }
        if moved {
            tracing::info!(peer = %peer.public_key, endpoint = at, "peer endpoint changed");
        }
    }

    fn expired(&mut self, id: PeerId) {
        if self.engine.plane().peer(id).is_none() {
            self.trying.remove(&id);
            return;
        }
        let trying = self.trying.entry(id).or_default();
        trying.up = false;
        if trying.initiations > 0 && !trying.told {
            self.silent(id);
        }
    }

    /// Warns that a peer does not answer, once until its next handshake.
    fn silent(&mut self, id: PeerId) {
        self.trying.entry(id).or_default().told = true;
        let Some(peer) = self.engine.peer(now(), id) else { return };
        tracing::warn!(
            peer = %peer.public_key,
            endpoint = peer.endpoint.map(|endpoint| tracing::field::display(endpoint.remote)),
            hint = "check that UDP passes in both directions, that public keys and preshared key match at both ends, and that the clock is right",
            "the peer does not answer handshakes"
        );
    }

    fn command(&mut self, command: Command) {
        match command {
            // A tunnel whose data path has ended is not alive, even though this thread is.
            Command::Ping(done) if self.traffic.failed() == 0 => _ = done.try_send(()),
            Command::Ping(_) => {}
            Command::Greet => {
                for peer in self.engine.peers(now()) {
                    if peer.endpoint.is_some() && peer.last_handshake.is_none() {
                        self.engine.want_session(now(), peer.id);
                    }
                }
            }
            Command::Get(answer) => {
                let device = self.model.device(self.traffic.udp().port(), self.engine.peers(now()));
                _ = answer.try_send(device);
            }
            Command::Set(set, answer) => _ = answer.try_send(self.set(*set)),
            Command::Status(answer) => {
                let now = now();
                let status = report::status(
                    &self.facts,
                    &self.model,
                    now,
                    (self.traffic.udp().port(), socket_offloads(self.traffic.udp())),
                    self.drops(),
                    (self.engine.peers(now), self.engine.departed()),
                    (&self.ways, self.traffic.streams().count()),
                );
                _ = answer.try_send(status);
            }
            Command::Handshakes(answer) => {
                let peers = self.engine.peers(now()).into_iter();
                let seen = peers.filter_map(|peer| Some((peer.public_key, peer.last_handshake?))).collect();
                _ = answer.try_send(seen);
            }
            Command::Signs(keys, answer) => {
                let now = now();
                let signs = keys.into_iter().filter_map(|key| {
                    let id = self.engine.find_peer(&key)?;
                    Some((key, self.engine.signs(now, id)?))
                });
                _ = answer.try_send((now.mono, signs.collect()));
            }
            Command::Probe(key) => self.probe(&key),
            Command::Endpoint(peer, remote) => self.endpoint(&peer, remote),
            Command::Dialled(peer, attempt, dialled) => {
                self.ways.dialled(now(), &peer, attempt, *dialled);
            }
            Command::Peers { gone, changed, done } => {
                let now = now();
                for key in &gone {
                    self.model.remove(&mut self.engine, key);
                }
                let ways: Vec<_> = changed.iter().map(FilePeer::way).collect();
                self.model.put(&mut self.engine, now, changed);
                self.ways.put(&mut self.engine, &ways);
                self.sweep();
                _ = done.try_send(());
            }
            Command::PrivateKey(key) => self.private_key(Some(key)),
            Command::Listen { port, fwmark, done } => _ = done.try_send(self.listen(port, fwmark)),
            Command::Facts(facts) => {
                self.traffic.set_mtu(facts.mtu as usize);
                self.facts = *facts;
            }
            Command::PlannedRate(mbit) => self.facts.planned_rate_mbit = mbit,
            Command::Stop => self.stop = true,
        }
    }

    fn probe(&mut self, key: &PublicKey) {
        let Some(id) = self.engine.find_peer(key) else { return };
        let Some(signs) = self.engine.signs(now(), id) else { return };
        match signs.endpoint.filter(|endpoint| endpoint.carrier != Carrier::Stream(StreamId::NONE)) {
            Some(endpoint) if signs.session => _ = self.engine.probe(now(), id, endpoint),
            Some(_) => self.engine.want_session(now(), id),
            None => self.look_up(id),
        }
    }

    /// Applies a resolved address, unless the peer has been seen at another one meanwhile.
    fn endpoint(&mut self, key: &PublicKey, remote: std::net::SocketAddr) {
        if self.ways.note_udp(key, Some(remote)) {
            return;
        }
        let Some(status) = self.engine.find_peer(key).and_then(|id| self.engine.peer(now(), id)) else {
            return;
        };
        let trying = self.trying.get(&status.id);
        if self.model.name(key).is_none() || trying.is_some_and(|trying| trying.up && trying.initiations == 0)
        {
            return;
        }
        if status.endpoint.map(|endpoint| endpoint.remote) == Some(remote) {
            return;
        }
        tracing::info!(peer = %key, endpoint = %remote, "endpoint resolved");
        let change = crate::runtime::uapi::PeerChange {
            endpoint: Some(remote),
            ..crate::runtime::uapi::PeerChange::of(*key)
        };
        let name = self.model.name(key).cloned();
        self.model.change(&mut self.engine, now(), &change);
        self.model.rename(key, name);
        let waiting = self.engine.plane().peer(status.id).is_some_and(|peer| peer.has_staged());
        if status.persistent_keepalive.is_some() || waiting {
            // A handshake that was due while the address was unknown starts now.
            self.engine.want_session(now(), status.id);
        }
    }

    fn private_key(&mut self, key: Option<PrivateKey>) {
        let engine_key = match &key {
            Some(key) => key.clone(),
            // No key: use a random one, which no peer knows.
            None => match random() {
                Ok(bytes) => PrivateKey::from_random(*bytes),
                Err(problem) => return crate::runtime::log::warn(&problem),
            },
        };
        let own = engine_key.public();
        self.model.private_key = key;
        self.engine.set_private_key(now(), engine_key);
        self.model.remove(&mut self.engine, &own);
        self.sweep();
    }

    fn set(&mut self, set: Set) -> i32 {
        if let Some(key) = set.private_key {
            self.private_key(key);
        }
        if (set.listen_port.is_some() || set.fwmark.is_some())
            && let Err(error) = self.listen(set.listen_port, set.fwmark)
        {
            tracing::warn!(%error, "control request refused: listen_port or fwmark");
            return error.raw_os_error().unwrap_or(libc::EIO);
        }
        let now = now();
        if set.replace_peers {
            self.model.clear(&mut self.engine, now);
        }
        for change in &set.peers {
            self.model.change(&mut self.engine, now, change);
        }
        self.sweep();
        0
    }

    fn listen(&mut self, port: Option<u16>, fwmark: Option<u32>) -> io::Result<()> {
        if let Some(mark) = fwmark {
            self.traffic.udp().set_fwmark(mark)?;
            self.model.fwmark = (mark != 0).then_some(mark);
        }
        let bound = self.traffic.udp().port();
        if let Some(port) = port.filter(|port| *port != bound) {
            let udp = Udp::bind(port, self.model.fwmark)?;
            self.traffic
                .rebind(Arc::new(udp))
                .map_err(|problem| io::Error::other(problem.what().to_owned()))?;
            tracing::info!(port = self.traffic.udp().port(), "listening on another port");
        }
        Ok(())
    }

    /// Removes the state of peers that no longer exist.
    fn sweep(&mut self) {
        let plane = self.engine.plane();
        self.trying.retain(|id, _| plane.peer(*id).is_some());
        self.ways.sweep(&self.engine);
    }
}

fn now() -> Now {
    Clock.now()
}

fn socket_offloads(udp: &Udp) -> Vec<Offload> {
    let offload = udp.capabilities();
    let families = udp.families();
    let one = |name: &str, on: bool, does: &str, why: &str| Offload {
        name: name.into(),
        on,
        why: if on { does } else { why }.into(),
    };
    vec![
        one(
            "udp_gso",
            offload.gso,
            "sends many datagrams per call",
            "UDP_SEGMENT needs Linux 4.18, or a network device refused it",
        ),
        one("udp_gro", offload.gro, "receives many datagrams per call", "UDP_GRO needs Linux 5.0"),
        one("udp_ipv6", families.v6, "outer IPv6", "this machine has no IPv6"),
    ]
}
