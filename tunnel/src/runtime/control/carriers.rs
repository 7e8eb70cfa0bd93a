//! The carrier of each peer that has both UDP and TLS: the choice, and the actions it requires.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    thread,
    time::Duration,
};

use warren_path::carrier::{Action, Mode, Reason, Selector};
use warren_proto::{
    Now,
    engine::Engine,
    plane::{Carrier, Endpoint, PeerId, StreamId},
};
use warren_transport::tls::{Closed, DialError, Opened, Role, Streams, Target, dial, dial_another};
use warren_wire::key::PublicKey;

use super::{Command, FilePeer, Handle};
use crate::runtime::{random, status::PeerCarrier};

/// Unanswered UDP probes after which the endpoint name is resolved again.
const PROBES_BEFORE_LOOKUP: u32 = 3;

/// TLS to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsCarrier {
    /// The dial target.
    pub target: Target,
    /// Whether UDP is used as well.
    pub mode: Mode,
    /// Connections on a long path, if the other end accepts so many.
    pub connections: usize,
}

/// The result of a connection attempt.
pub type Dialled = Result<Endpoint, DialError>;

/// The result of an attempt to add connections.
pub type Joined = Result<(), DialError>;

struct CarrierState {
    tls: TlsCarrier,
    others: Others,
    choice: Selector,
    /// The UDP address of the peer, if known.
    udp: Option<SocketAddr>,
    /// Distinguishes attempts of this entry from those of an entry it replaced.
    generation: u64,
    probes: u32,
    /// The failure to connect has been logged.
    logged: bool,
    /// When a choice was last logged, and how many have not been since.
    told: Option<Duration>,
    untold: u32,
}

/// The connections beyond the first.
#[derive(Debug, Clone, Copy)]
enum Others {
    /// None is tried before then.
    Wait(Duration),
    Connecting,
}

/// Round trip from which on a peer gets several connections: on a shorter path a lost packet is repeated soon.
const LONG_PATH: Duration = Duration::from_millis(5);
/// Time until one of several that was lost is connected again.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(3);
/// Time until other connections are tried again after a failure.
const OTHERS_INTERVAL: Duration = Duration::from_secs(30);
/// Between two log lines about the carrier of a peer.
const TOLD_EVERY: Duration = Duration::from_secs(30);

/// All of them.
pub(super) struct PeerCarriers {
    streams: Arc<Streams>,
    handle: Handle,
    states: HashMap<PublicKey, CarrierState>,
    generation: u64,
}

/// Further work for the control thread.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Names to resolve again.
    pub lookups: Vec<PeerId>,
}

impl PeerCarriers {
    pub(super) fn new(streams: Arc<Streams>, handle: Handle) -> Self {
        Self { streams, handle, states: HashMap::new(), generation: 0 }
    }

    /// Adds or updates the entries of peers that are already in the engine.
    pub(super) fn put(
        &mut self,
        engine: &mut Engine,
        peers: &[(PublicKey, Option<TlsCarrier>, Option<SocketAddr>)],
    ) {
        for (key, tls, udp) in peers {
            let Some(tls) = tls else {
                self.remove(key);
                continue;
            };
            if self.states.get(key).is_some_and(|state| state.tls == *tls) {
                self.note_udp(key, *udp);
                continue;
            }
            self.remove(key);
            self.generation += 1;
            let seed = random().map_or(self.generation, |bytes| {
                bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
            });
            let choice = Selector::new(tls.mode, seed);
            if tls.mode == Mode::Stream
                && let Some(id) = engine.find_peer(key)
            {
                // Packets wait for the connection instead of being refused.
                engine.hold(id, nowhere());
            }
            let state = CarrierState {
                tls: tls.clone(),
                others: Others::Wait(Duration::ZERO),
                choice,
                udp: *udp,
                generation: self.generation,
                probes: 0,
                logged: false,
                told: None,
                untold: 0,
            };
            self.states.insert(*key, state);
        }
    }

    /// Removes the entry of a peer and closes its connection.
    pub(super) fn remove(&mut self, key: &PublicKey) {
        if let Some(state) = self.states.remove(key)
            && let (Carrier::Stream(id), _) = state.choice.carrier()
        {
            self.streams.close(id);
        }
    }

    /// Removes the entries of peers that no longer exist.
    pub(super) fn sweep(&mut self, engine: &Engine) {
        let gone: Vec<PublicKey> =
            self.states.keys().filter(|key| engine.find_peer(key).is_none()).copied().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    /// When [`PeerCarriers::poll`] is due.
    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        self.states.values().map(|state| state.choice.poll_timeout()).min()
    }

    /// Records a UDP address that was resolved or set. True if the peer is on a TLS connection and must stay there.
    pub(super) fn note_udp(&mut self, key: &PublicKey, udp: Option<SocketAddr>) -> bool {
        let Some(state) = self.states.get_mut(key) else { return false };
        state.udp = udp.or(state.udp);
        state.choice.carrier().0 != Carrier::Udp
    }

    /// Handles the result of a connection attempt.
    pub(super) fn dialled(&mut self, now: Now, key: &PublicKey, generation: u64, result: Dialled) {
        let state = self.states.get_mut(key).filter(|state| state.generation == generation);
        match (state, result) {
            (Some(state), Ok(endpoint)) => {
                state.logged = false;
                state.choice.connected(endpoint.carrier.stream().unwrap_or(StreamId::NONE));
            }
            (Some(state), Err(error)) => {
                state.choice.refused(now.mono);
                // Logged once per series of attempts.
                if !std::mem::replace(&mut state.logged, true) {
                    tracing::warn!(peer = %key, hint = error.hint(), "no TLS connection, retrying: {error}");
                }
            }
            (None, Ok(endpoint)) => {
                if let Some(id) = endpoint.carrier.stream() {
                    self.streams.close(id);
                }
            }
            (None, Err(_)) => {}
        }
    }

    /// Handles the result of an attempt to add connections.
    pub(super) fn joined(&mut self, now: Now, key: &PublicKey, generation: u64, result: Joined) {
        let Some(state) = self.states.get_mut(key).filter(|state| state.generation == generation) else {
            return;
        };
        let pause = match result {
            Ok(()) => RECONNECT_INTERVAL,
            Err(error) => {
                tracing::debug!(peer = %key, "no further TLS connection: {error}");
                OTHERS_INTERVAL
            }
        };
        state.others = Others::Wait(now.mono + pause);
    }

    /// Handles connections that have ended.
    pub(super) fn closed(&mut self, now: Now) {
        for Closed { id, remote, role, why, proven } in self.streams.take_closed() {
            match role {
                Role::Client => {
                    tracing::info!(%remote, why, "TLS connection lost");
                    self.states.values_mut().for_each(|state| state.choice.lost(now.mono, id, proven));
                }
                Role::Server if proven => tracing::debug!(%remote, why, "TLS connection ended"),
                Role::Server => tracing::debug!(%remote, why, "unauthenticated TLS connection ended"),
            }
        }
    }

    /// Runs the choices that are due.
    pub(super) fn poll(&mut self, engine: &mut Engine, now: Now) -> Wanted {
        let mut wanted = Wanted::default();
        for (key, state) in &mut self.states {
            if state.choice.poll_timeout() > now.mono {
                continue;
            }
            let Some(id) = engine.find_peer(key) else { continue };
            let Some(signs) = engine.liveness(now, id) else { continue };
            if let Some(endpoint) = signs.endpoint.filter(|endpoint| endpoint.carrier == Carrier::Udp) {
                state.udp = Some(endpoint.remote);
            }
            let actions = state.choice.poll(now.mono, &signs);
            if let (Carrier::Stream(stream), _) = state.choice.carrier() {
                state.widen(now, &self.streams, &self.handle, *key, stream);
            }
            for action in actions {
                match action {
                    Action::Connect => connect(&self.streams, &self.handle, *key, state),
                    Action::Close(stream) => self.streams.close(stream),
                    Action::Probe => {
                        state.probes += 1;
                        if state.udp.is_none() || state.probes.is_multiple_of(PROBES_BEFORE_LOOKUP) {
                            wanted.lookups.push(id);
                        }
                        if let Some(udp) = state.udp {
                            engine.probe(now, id, Endpoint::new(udp));
                        }
                    }
                    Action::Move(Carrier::Udp, why) => {
                        state.changed(now, key, Carrier::Udp, why);
                        match state.udp {
                            Some(udp) => engine.relocate(now, id, Endpoint::new(udp)),
                            None => wanted.lookups.push(id),
                        }
                    }
                    Action::Move(carrier @ Carrier::Stream(stream), why) => {
                        state.changed(now, key, carrier, why);
                        if let Some(endpoint) = endpoint(&self.streams, stream) {
                            engine.relocate(now, id, endpoint);
                        }
                    }
                    Action::Returned => {
                        state.probes = 0;
                        state.changed(now, key, Carrier::Udp, Reason::UdpAnswers);
                    }
                    Action::Hold(stream) => {
                        if let Some(endpoint) = endpoint(&self.streams, stream) {
                            engine.hold(id, endpoint);
                        }
                    }
                }
            }
        }
        wanted
    }

    /// The status of a peer's carrier; `None` if it has only UDP.
    pub(super) fn status(&self, key: &PublicKey, endpoint: Option<Endpoint>) -> Option<PeerCarrier> {
        let state = self.states.get(key);
        let stream = endpoint.and_then(|endpoint| endpoint.carrier.stream());
        if state.is_none() && stream.is_none() {
            return None;
        }
        let stats = stream.and_then(|id| self.streams.get(id)).map(|stream| stream.stats());
        let why = match state {
            None => "the peer connected this way",
            Some(_) if stream == Some(StreamId::NONE) => "not connected",
            Some(state) => state.choice.carrier().1.text(),
        };
        Some(PeerCarrier {
            kind: if stream.is_some() { "tls" } else { "udp" }.into(),
            why: why.into(),
            rtt: stats.as_ref().and_then(|stats| stats.rtt).map(|rtt| rtt.as_secs_f64()),
            dropped: stats.as_ref().map(|stats| stats.dropped),
            connections: state.map(|state| state.choice.connects()),
            open: stats.as_ref().map(|stats| stats.connections as u64),
            congestion: stats.and_then(|stats| stats.congestion),
            tls_endpoint: state.map(|state| state.tls.target.name()),
        })
    }
}

/// The endpoint of a peer that is reached only by TLS, while there is no connection.
fn nowhere() -> Endpoint {
    Endpoint::stream(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0), StreamId::NONE)
}

fn endpoint(streams: &Streams, id: StreamId) -> Option<Endpoint> {
    streams.get(id).map(|bundle| bundle.endpoint())
}

impl CarrierState {
    /// Logs a choice: on a bad path there may be one every few seconds.
    fn changed(&mut self, now: Now, key: &PublicKey, carrier: Carrier, why: Reason) {
        let carrier = if carrier == Carrier::Udp { "udp" } else { "tls" };
        if self.told.is_some_and(|at| now.mono.saturating_sub(at) < TOLD_EVERY) {
            self.untold += 1;
            return tracing::debug!(peer = %key, carrier, why = why.text(), "carrier chosen");
        }
        self.told = Some(now.mono);
        let unlogged = std::mem::take(&mut self.untold);
        tracing::info!(peer = %key, carrier, why = why.text(), unlogged, "carrier chosen");
    }

    /// Adds connections to that in use, once its round trip is known to be long.
    fn widen(&mut self, now: Now, streams: &Arc<Streams>, handle: &Handle, key: PublicKey, id: StreamId) {
        let due = matches!(self.others, Others::Wait(until) if until <= now.mono);
        let Some(bundle) = streams.get(id).filter(|_| due) else { return };
        let wanted = self.tls.connections.min(bundle.most());
        if bundle.count() >= wanted || bundle.stats().rtt.is_none_or(|rtt| rtt < LONG_PATH) {
            return;
        }
        self.others = Others::Connecting;
        let (streams, generation) = (Arc::clone(streams), self.generation);
        let work = move |target: &Target| {
            let another = || adopt(&streams, target, dial_another(target, &bundle)?).map(drop);
            (bundle.count()..wanted).try_for_each(|_| another())
        };
        let done = move |joined: Joined| Command::Joined(key, generation, Box::new(joined));
        spawn(handle, self.tls.target.clone(), work, done);
    }
}

/// Connects on a separate thread, since name resolution and handshakes take time.
fn connect(streams: &Arc<Streams>, handle: &Handle, key: PublicKey, state: &CarrierState) {
    let (streams, generation) = (Arc::clone(streams), state.generation);
    let work = move |target: &Target| adopt(&streams, target, dial(target)?);
    let done = move |dialled: Dialled| Command::Dialled(key, generation, Box::new(dialled));
    spawn(handle, state.tls.target.clone(), work, done);
}

fn adopt(streams: &Streams, target: &Target, opened: Opened) -> Dialled {
    streams.adopt(opened).map_err(|error| DialError::Cut { name: target.name(), error })
}

/// Runs `work` on a thread, and sends its result as a command.
fn spawn<T>(
    handle: &Handle,
    target: Target,
    work: impl FnOnce(&Target) -> Result<T, DialError> + Send + 'static,
    done: impl Fn(Result<T, DialError>) -> Command + Copy + Send + 'static,
) {
    let (sender, name) = (handle.clone(), target.name());
    let body = move || sender.send(done(work(&target)));
    let spawned = thread::Builder::new().name("tls-dial".into()).stack_size(512 << 10).spawn(body);
    if let Err(error) = spawned {
        handle.try_send(done(Err(DialError::Cut { name, error })));
    }
}

impl FilePeer {
    /// The arguments for [`PeerCarriers::put`].
    pub(super) fn carrier(&self) -> (PublicKey, Option<TlsCarrier>, Option<SocketAddr>) {
        (self.config.public_key, self.tls.clone(), self.config.endpoint)
    }
}
