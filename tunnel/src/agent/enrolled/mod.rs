//! An agent that has a token instead of a file: it makes its key, joins, and is told the rest.
//!
//! ```text
//! token --> join: any of its gateways, over TLS --> answer --> configuration: one gateway active, the others at hand
//!                                                                  ^
//! watch: signs of all gateways --> failover --> another active ----+
//!                                     +--> nobody knows us: join again
//! ```

mod join;
mod state;
mod watch;

use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;
use parking_lot::Mutex;
use warren_wire::config::{Config, Interface, Peer, TlsEndpoint};
use warren_wire::enrolment::{Answer, HostInfo};
use warren_wire::token::Claims;
use warren_wire::{PrivateKey, PublicKey, Token};
use zeroize::Zeroizing;

use self::join::Request;
use super::settings::{Overrides, Settings, Source};
use super::{Carriers, TlsOverrides};
use crate::cli::AgentArgs;
use crate::commands::keys::random;
use crate::folders;
use crate::problem::{Problem, Result};
use crate::secret;

pub(super) use watch::start as watch;

/// The name of an interface that no file names.
const INTERFACE: &str = "warren0";

/// A membership. Cheap to share; what it was told last is behind a lock.
pub struct Enrolled {
    token: Token,
    claims: Claims,
    key: PrivateKey,
    host: HostInfo,
    carriers: Carriers,
    over: Overrides,
    told: Mutex<Told>,
}

/// What the gateways said last.
struct Told {
    answer: Answer,
    active: PublicKey,
}

impl fmt::Debug for Enrolled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enrolled").field("token", &self.claims.id).finish_non_exhaustive()
    }
}

/// The token that was given, if one was.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) fn token(args: &AgentArgs) -> Result<Option<Token>> {
    if args.config.is_some() {
        return Ok(None);
    }
    let text = match &args.token_file {
        Some(path) => secret::read(path, "token")?,
        None => match std::env::var("WARREN_TOKEN") {
            Ok(text) if !text.trim().is_empty() => Zeroizing::new(text),
            _ => return Ok(None),
        },
    };
    Token::parse(&text).map(Some).map_err(|error| Problem::new(format!("the enrolment token: {error}")))
}

/// Joins, and makes the agent's settings of what it is told.
///
/// # Errors
/// No gateway of the token let it in.
pub(super) fn settings(args: &AgentArgs, token: Token) -> Result<Settings> {
    let interface = match &args.interface {
        Some(name) => name.clone(),
        None => INTERFACE.parse()?,
    };
    let claims = token.peek().map_err(|error| Problem::new(format!("the enrolment token: {error}")))?;
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
    let carriers = Carriers::gather(args, interface.config().with_extension("tls.pem"));
    let over = Overrides {
        mtu: args.mtu,
        listen_port: args.listen_port,
        private_key: None,
        tls: TlsOverrides::default(),
    };
    let request = Request { claims: &claims, token: &token, key: &key, host: &host, carriers: &carriers };
    let (answer, active) = join::patiently(&request)?;
    let enrolled = Arc::new(Enrolled {
        token,
        claims,
        key,
        host,
        carriers: carriers.clone(),
        over: over.clone(),
        told: Mutex::new(Told { answer, active }),
    });
    Ok(Settings {
        interface,
        source: Source::Token(Arc::clone(&enrolled)),
        config: enrolled.config(),
        device: args.device,
        planned_rate: args.planned_rate,
        folder: folders::own()?,
        services: args.services.clone(),
        carriers,
        over,
    })
}

impl Enrolled {
    /// What the agent is to run with now.
    pub(super) fn config(&self) -> Config {
        let told = self.told.lock();
        let Told { answer, active } = &*told;
        let mut interface = Interface {
            private_key: Some(self.key.clone()),
            addresses: answer.addresses.iter().map(|address| IpNet::from(*address)).collect(),
            dns: answer.dns.servers.clone(),
            dns_search: answer.dns.domains.iter().map(ToString::to_string).collect(),
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

    /// Joins again, at whichever gateway answers first: the lease was lost, or what peers are told may have changed.
    ///
    /// # Errors
    /// None let it in.
    pub(super) fn rejoin(&self) -> Result<Config> {
        let Self { claims, token, key, host, carriers, .. } = self;
        let request = Request { claims, token, key, host, carriers };
        let (answer, active) = join::first(&request).map_err(|(problem, _)| problem)?;
        *self.told.lock() = Told { answer, active };
        Ok(self.config())
    }

    /// Gives the lease back, for at most a few seconds: it would end by itself.
    pub(super) fn release(&self) {
        let told = self.told.lock();
        let Told { answer, active } = &*told;
        match join::release(answer, *active, &self.key, &self.carriers) {
            Ok(()) => tracing::info!("the lease was given back"),
            Err(problem) => {
                tracing::info!("the lease was not given back, and ends by itself: {}", problem.what());
            }
        }
    }

    /// The gateways by key, and which is active.
    fn gateways(&self) -> (Vec<PublicKey>, usize) {
        let told = self.told.lock();
        let keys: Vec<PublicKey> =
            told.answer.gateways.as_slice().iter().map(|gateway| gateway.key).collect();
        let active = keys.iter().position(|key| *key == told.active).unwrap_or(0);
        (keys, active)
    }

    /// Makes another gateway the active one.
    fn turn_to(&self, key: PublicKey) -> Config {
        self.told.lock().active = key;
        self.config()
    }
}
