//! An agent with a token instead of a file: it generates a key, enrols, and receives its configuration.
//!
//! ```text
//! token --> join: any of its gateways, over TLS --> answer --> configuration: one gateway active, the others standby
//!                                                                  ^
//! watch: signs of life of all gateways --> failover --> another ---+
//!                                             +--> no gateway answers: enrol again
//! ```

mod join;
mod refusal;
mod state;
mod watch;

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use warren_wire::config::{Config, Interface, Peer, TlsEndpoint};
use warren_wire::enrolment::{
    Answer, ChannelBinding, CredentialService, DirectService, HostInfo, Proof, Purpose,
};
use warren_wire::gateway::peer_name;
use warren_wire::token::Claims;
use warren_wire::{Name, PrivateKey, PublicKey, Token};

use self::join::Request;
use self::refusal::{Deferred, Refusals};
use super::args::AgentArgs;
use super::carriers::Carriers;
use super::overrides::Overrides;
use crate::runtime::host::{environment, secret};
use crate::runtime::problem::{Problem, Result};
use crate::runtime::random;

pub(super) use watch::start as watch;

/// An enrolment. Cheap to share; the latest answer is behind a lock.
pub struct Enrolled {
    token: Token,
    claims: Claims,
    key: PrivateKey,
    host: HostInfo,
    carriers: Carriers,
    over: Overrides,
    lease: Mutex<Lease>,
}

/// The lease as the gateways granted it last, and the gateway in use.
struct Lease {
    answer: Answer,
    active: PublicKey,
}

impl fmt::Debug for Enrolled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enrolled").field("token", &self.claims.id).finish_non_exhaustive()
    }
}

/// The enrolment token, if one was given.
///
/// # Errors
/// When it cannot be read or is not a token.
pub(super) fn token(args: &AgentArgs) -> Result<Option<Token>> {
    if args.config.is_some() {
        return Ok(None);
    }
    token_of(args.token_file.as_deref())
}

/// The token in a file, else in the environment.
///
/// # Errors
/// When it cannot be read or is not a token.
pub fn token_of(file: Option<&Path>) -> Result<Option<Token>> {
    let text = match file {
        Some(path) => secret::read(path, "token")?,
        None => match environment::get("WARREN_TOKEN") {
            Some(text) if !text.trim().is_empty() => text,
            _ => return Ok(None),
        },
    };
    Token::parse(&text).map(Some).map_err(|error| Problem::new(format!("enrolment token: {error}")))
}

/// Enrols at a gateway of the token. `patience` limits the time for it; zero is one attempt.
///
/// # Errors
/// When no gateway of the token accepts it.
pub(super) fn enrol(
    args: &AgentArgs,
    token: Token,
    carriers: Carriers,
    over: Overrides,
    patience: Option<Duration>,
) -> Result<Enrolled> {
    let claims = token.peek().map_err(|error| Problem::new(format!("enrolment token: {error}")))?;
    let key = match &args.state {
        Some(folder) => state::key(folder)?,
        None => PrivateKey::from_random(*random()?),
    };
    let name = args
        .host_name
        .clone()
        .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let host = HostInfo::new(name, std::collections::BTreeMap::new())
        .map_err(|error| Problem::new(format!("--host-name: {error}")))?;
    let request = Request { claims: &claims, token: &token, key: &key, host: &host, carriers: &carriers };
    let (answer, active) = join::at_start(&request, patience)?;
    Ok(Enrolled { token, claims, key, host, carriers, over, lease: Mutex::new(Lease { answer, active }) })
}

impl Enrolled {
    /// The configuration for the current gateway.
    pub(super) fn config(&self) -> Config {
        let lease = self.lease.lock();
        let Lease { answer, active } = &*lease;
        let mut interface = Interface {
            private_key: Some(self.key.clone()),
            addresses: answer.addresses.iter().map(|address| IpNet::from(*address)).collect(),
            dns: answer.dns.servers.clone(),
            dns_search: answer.dns.domains.iter().map(ToString::to_string).collect(),
            dns_zones: answer.zones.clone(),
            stamp_floor: answer.handshake_floor,
            mtu: Some(self.over.mtu.unwrap_or(answer.mtu)),
            ..Interface::default()
        };
        interface.listen_port = self.over.listen_port;
        let peers = answer.gateways.as_slice().iter().map(|gateway| {
            let in_use = gateway.key == *active;
            Peer {
                public_key: gateway.key,
                preshared_key: None,
                allowed_ips: if in_use { answer.routes.clone() } else { Vec::new() },
                endpoint: gateway.udp.clone(),
                persistent_keepalive: in_use.then_some(answer.keepalive_seconds),
                tls: Some(TlsEndpoint {
                    endpoint: gateway.tls.clone(),
                    pins: Some(gateway.pins.clone()),
                    name: None,
                }),
            }
        });
        Config { interface, peers: peers.collect() }
    }

    /// Enrols again at the gateway that answers first: the lease was lost, or the configuration may have changed. Returns
    /// the new configuration, or the refusal of each gateway.
    ///
    /// # Errors
    /// The system has no thread or no randomness to give.
    fn rejoin(&self, deferred: &mut Deferred) -> Result<std::result::Result<Config, Refusals>> {
        let Self { claims, token, key, host, carriers, .. } = self;
        let request = Request { claims, token, key, host, carriers };
        Ok(join::once(&request, deferred, 2 * join::TIMEOUT)?.map(|(answer, active)| {
            *self.lease.lock() = Lease { answer, active };
            self.config()
        }))
    }

    /// The same for an operator who reloads the agent: once, and without waiting.
    ///
    /// # Errors
    /// When no gateway accepts it.
    pub(super) fn reload(&self) -> Result<Config> {
        self.rejoin(&mut Deferred::default())?.map_err(|refusals| refusals.problem())
    }

    /// Releases the lease. Tries for at most a few seconds, since the lease would expire anyway.
    pub(super) fn release(&self) {
        let lease = self.lease.lock();
        let Lease { answer, active } = &*lease;
        match join::release(answer, *active, &self.key, &self.carriers) {
            Ok(()) => tracing::info!("lease released"),
            Err(problem) => {
                tracing::info!("lease not released, it will expire: {}", problem.what());
            }
        }
    }

    /// The credentials of clouds that the gateways give to this pod, as of the latest enrolment.
    pub(super) fn credentials(&self) -> Option<CredentialService> {
        self.lease.lock().answer.credentials.clone().filter(|service| service.aws || service.google)
    }

    /// Where the gateways offer direct paths, as of the latest enrolment.
    pub(super) fn direct(&self) -> Option<DirectService> {
        self.lease.lock().answer.direct.clone()
    }

    /// The addresses of this pod.
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.lease.lock().answer.addresses.clone()
    }

    /// A proof for the gateway in use that a request through the tunnel comes from this agent.
    pub(super) fn prove(&self, purpose: Purpose, challenge: &ChannelBinding) -> Option<Proof> {
        let active = self.lease.lock().active;
        Proof::make(purpose, &self.key, &active, challenge)
    }

    /// The keys of the gateways, and the index of the active one.
    fn gateways(&self) -> (Vec<PublicKey>, usize) {
        let lease = self.lease.lock();
        let keys: Vec<PublicKey> =
            lease.answer.gateways.as_slice().iter().map(|gateway| gateway.key).collect();
        let active = keys.iter().position(|key| *key == lease.active).unwrap_or(0);
        (keys, active)
    }

    /// The name under which other pods of its group reach it, if its host has a name.
    pub(super) fn peer_name(&self) -> Option<String> {
        peer_name(self.host.name(), &self.claims.group)
    }

    /// The names of the gateways by their keys.
    pub(super) fn names(&self) -> Vec<(PublicKey, Name)> {
        let lease = self.lease.lock();
        lease.answer.gateways.as_slice().iter().map(|gateway| (gateway.key, gateway.name.clone())).collect()
    }

    /// Switches to another gateway.
    fn turn_to(&self, key: PublicKey) -> Config {
        self.lease.lock().active = key;
        self.config()
    }
}
