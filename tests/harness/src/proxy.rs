//! The loopback proxy between a client and the emulator: it records, validates, refuses, delays, forgets and cuts.
//!
//! A call passes these stations in this order, each in a file of its own:
//!
//! ```text
//! record -> kill (before) -> fault -> model check -> stale reads -> client token -> normalise -> rules -> dry run
//!        -> [ emulator ] -> lifecycle states -> stale lists -> filters -> paging -> kill (after) -> cut -> answer
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::emulator::SharedModels;
use crate::moto::MotoApi;

mod config;
mod consistency;
mod fault;
mod filters;
mod idempotency;
mod kill;
mod lifecycle;
mod normalise;
mod paging;
mod peer;
mod pipeline;
mod reply;
mod request;
mod rules;

pub use config::{Consistency, ProxyConfig};
pub use fault::{Effect, Fault};
pub use kill::{KillSwitch, Phase};
pub use request::{Call, Service, Violation};

use reply::Outcome;

/// The proxy of a running emulator. All methods act at once and may be called while calls are under way.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    emulator: MotoApi,
    models: SharedModels,
    state: Mutex<State>,
    /// Held from the check of a rule until the emulator has answered, so that two writes cannot both pass a check
    /// that only one of them may pass.
    writes: tokio::sync::Mutex<()>,
    /// Counts connections and kills on one scale: a connection older than a kill belongs to the killed process.
    clock: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    config: ProxyConfig,
    sequence: u64,
    calls: Vec<Call>,
    violations: Vec<Violation>,
    faults: Vec<Fault>,
    kill: kill::Kills,
    lifecycle: lifecycle::Lifecycle,
    stale: consistency::Stale,
    tokens: idempotency::Tokens,
    pages: paging::Pages,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    pub(crate) async fn start(config: ProxyConfig, emulator: MotoApi, models: SharedModels) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            emulator,
            models,
            state: Mutex::new(State { config, ..State::default() }),
            writes: tokio::sync::Mutex::new(()),
            clock: AtomicU64::new(0),
        });
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { port, shared })
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Every call so far, in the order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.state().calls.clone()
    }

    /// The calls of one action so far.
    pub fn calls_of(&self, action: &str) -> Vec<Call> {
        self.shared.state().calls.iter().filter(|call| call.action == action).cloned().collect()
    }

    /// Forgets the recorded calls; sequence numbers go on.
    pub fn clear_calls(&self) {
        self.shared.state().calls.clear();
    }

    /// Requests that AWS would not understand, and requests that the emulator does not implement.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.state().violations.clone()
    }

    /// Fails the test if there are violations.
    ///
    /// # Panics
    /// There are some; the message lists them.
    pub fn assert_valid(&self) {
        let found: Vec<String> = self.violations().iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "requests that AWS would refuse:\n{}", found.join("\n"));
    }

    /// Changes the configuration for the calls to come.
    pub fn configure(&self, change: impl FnOnce(&mut ProxyConfig)) {
        change(&mut self.shared.state().config);
    }

    /// Adds a fault. Where several match a call, the oldest acts.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().faults.push(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.state().faults.clear();
    }

    /// Arms a kill point; calls are counted from here. An older kill point that has not fired is replaced.
    pub fn arm(&self, switch: KillSwitch) {
        self.shared.state().kill.arm(switch);
    }

    /// Takes the kill point away and returns the call at which it fired, where it did.
    pub fn disarm(&self) -> Option<Call> {
        self.shared.state().kill.disarm()
    }

    /// The call at which the armed kill point fired, where it did.
    pub fn tripped(&self) -> Option<Call> {
        self.shared.state().kill.tripped()
    }

    /// Forgets calls, violations, faults and states in progress, as after a reset of the emulator.
    pub(crate) fn forget(&self) {
        let mut state = self.shared.state();
        *state = State { config: state.config.clone(), sequence: state.sequence, ..State::default() };
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, peer)) = listener.accept().await {
        let born = shared.clock.fetch_add(1, Ordering::SeqCst);
        let connection = Connection { peer: peer.port(), born };
        tokio::spawn(serve(stream, connection, Arc::clone(&shared)));
    }
}

/// The connection a call came on.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The client's port.
    peer: u16,
    /// When it was accepted, on the scale of [`Shared::clock`].
    born: u64,
}

async fn serve(stream: TcpStream, connection: Connection, shared: Arc<Shared>) {
    // Small answers to small requests: waiting to fill a segment only adds delay.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: http::Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (parts, body) = request.into_parts();
            let body: Bytes = body.collect().await.map_err(|_| Cut)?.to_bytes();
            // A task of its own: like AWS, the emulator finishes a request whose client has died.
            let request = http::Request::from_parts(parts, body);
            let handled = tokio::spawn(async move { pipeline::handle(&shared, connection, request).await });
            match handled.await {
                Ok(Outcome::Answer(reply)) => Ok(reply.map(Full::new)),
                Ok(Outcome::Cut) | Err(_) => Err(Cut),
            }
        }
    });
    // An error here is a client that went away or a connection that was cut on purpose.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Returned to the server to make it drop the connection without an answer.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection cut")
    }
}

impl std::error::Error for Cut {}
