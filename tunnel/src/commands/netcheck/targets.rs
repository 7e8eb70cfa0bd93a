//! What `netcheck` measures: the gateways of a token, the peers of a configuration file, or those of a running agent.

use std::path::Path;

use warren_wire::{
    PublicKey, Token,
    config::{Config, Peer},
};

use super::probe::Target;
use crate::{
    agent,
    cli::NetcheckArgs,
    commands::doctor,
    runtime::{
        host::InterfaceName,
        problem::{Problem, Result},
        status::{self, Status},
        uapi::{self, Gateway},
    },
};

/// Peers of a file or an agent that are measured.
const MAX_PEERS: usize = 16;

/// Where the list of gateways is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    /// An enrolment token.
    Token,
    /// A configuration file.
    Configuration,
    /// A running agent.
    Agent,
}

/// The gateways to measure.
pub(super) struct Targets {
    pub(super) source: Source,
    pub(super) gateways: Vec<Named>,
    /// Peers of a large configuration that are left out.
    pub(super) omitted: usize,
}

/// One of them.
pub(super) struct Named {
    /// The name of a gateway, else the public key.
    pub(super) name: String,
    pub(super) target: Target,
    /// The running agent that knows it.
    pub(super) used: Option<Used>,
}

/// How a running agent uses a gateway.
#[derive(Debug, Clone)]
pub(super) struct Used {
    pub(super) interface: InterfaceName,
    /// Whether it carries traffic, rather than standing by.
    pub(super) active: bool,
    pub(super) carrier: &'static str,
    pub(super) why: String,
    pub(super) mtu: u32,
    /// Seconds since the last handshake, if there was one.
    pub(super) handshake_age: Option<f64>,
}

/// A running agent.
struct Agent {
    interface: InterfaceName,
    status: Status,
    gateways: Vec<Gateway>,
}

/// Collects the gateways: an interface in the arguments first, then a file or token, then the only running agent.
///
/// # Errors
/// When there is none of these, or it cannot be read.
pub(super) fn collect(args: &NetcheckArgs) -> Result<Targets> {
    if let Some(interface) = &args.interface {
        return Ok(of_agent(&Agent::read(interface)?));
    }
    // Those of other versions or of other WireGuard implementations list no gateways.
    let agents: Vec<Agent> = uapi::running().iter().filter_map(|name| Agent::read(name).ok()).collect();
    if let Some(path) = &args.config {
        return of_file(path, &agents);
    }
    if let Some(token) = agent::token_of(args.token_file.as_deref())? {
        return of_token(&token, &agents);
    }
    match &agents[..] {
        [only] => Ok(of_agent(only)),
        [] => Err(Problem::new(
            "no gateways to check: no agent is running for this user, and there is no token",
        )
        .hint("set WARREN_TOKEN, pass --token-file or --config FILE, or use sudo if the agent runs as root")),
        several => {
            let names: Vec<&str> = several.iter().map(|agent| agent.interface.as_str()).collect();
            Err(Problem::new(format!("several agents are running: {}", names.join(", ")))
                .hint("choose one: `warren-tunnel netcheck INTERFACE`"))
        }
    }
}

/// The gateways of a token.
pub(in crate::commands) fn of_claims(claims: &warren_wire::token::Claims) -> Vec<(String, Target)> {
    let gateways = claims.gateways.as_slice().iter();
    gateways
        .map(|gateway| {
            let target = Target {
                key: gateway.key,
                udp: gateway.udp.clone(),
                tls: Some(warren_wire::config::TlsEndpoint {
                    endpoint: gateway.tls.clone(),
                    pins: Some(gateway.pins.clone()),
                    name: None,
                }),
                own: None,
                fwmark: None,
            };
            (gateway.name.to_string(), target)
        })
        .collect()
}

fn of_token(token: &Token, agents: &[Agent]) -> Result<Targets> {
    let claims = token.peek().map_err(|error| Problem::new(format!("enrolment token: {error}")))?;
    let named = of_claims(&claims).into_iter().map(|(name, target)| {
        let (used, fwmark) = used(agents, &target.key);
        Named { name, target: Target { fwmark, ..target }, used }
    });
    Ok(Targets { source: Source::Token, gateways: named.collect(), omitted: 0 })
}

fn of_agent(agent: &Agent) -> Targets {
    let gateways = agent.gateways.iter().take(MAX_PEERS).map(|gateway| Named {
        name: gateway.name.as_ref().map_or_else(|| gateway.key.to_string(), ToString::to_string),
        target: Target {
            key: gateway.key,
            udp: gateway.udp.clone(),
            tls: gateway.tls(),
            own: None,
            fwmark: agent.status.fwmark,
        },
        used: agent.used(&gateway.key),
    });
    Targets {
        source: Source::Agent,
        gateways: gateways.collect(),
        omitted: agent.gateways.len().saturating_sub(MAX_PEERS),
    }
}

fn of_file(path: &Path, agents: &[Agent]) -> Result<Targets> {
    let config = doctor::config(path)?;
    let reachable = |peer: &&Peer| peer.endpoint.is_some() || peer.tls.is_some();
    let peers: Vec<&Peer> = config.peers.iter().filter(reachable).collect();
    let gateways = peers.iter().take(MAX_PEERS).map(|peer| {
        let (used, fwmark) = used(agents, &peer.public_key);
        let own = own_key(&config, agents).map(|key| (key, peer.preshared_key.clone()));
        let (udp, tls) = (peer.endpoint.clone(), peer.tls.clone());
        let target = Target { key: peer.public_key, udp, tls, own, fwmark };
        Named { name: peer.public_key.to_string(), target, used }
    });
    Ok(Targets {
        source: Source::Configuration,
        gateways: gateways.collect(),
        omitted: peers.len().saturating_sub(MAX_PEERS),
    })
}

/// The file's key, by which its peers know us, unless an agent uses it: its sessions would end.
fn own_key(config: &Config, agents: &[Agent]) -> Option<warren_wire::PrivateKey> {
    let key = config.interface.private_key.clone()?;
    let public = key.public().to_string();
    let in_use = agents.iter().any(|agent| agent.status.public_key.as_deref() == Some(&public));
    (!in_use).then_some(key)
}

fn used(agents: &[Agent], key: &PublicKey) -> (Option<Used>, Option<u32>) {
    let found = agents.iter().find_map(|agent| Some((agent.used(key)?, agent.status.fwmark)));
    let (used, fwmark) = found.unzip();
    (used, fwmark.flatten())
}

impl Agent {
    fn read(interface: &InterfaceName) -> Result<Self> {
        Ok(Self {
            interface: interface.clone(),
            status: uapi::status_of(interface)?,
            gateways: uapi::gateways_of(interface)?,
        })
    }

    fn used(&self, key: &PublicKey) -> Option<Used> {
        let text = key.to_string();
        let peer: &status::Peer = self.status.peers.iter().find(|peer| peer.public_key == text)?;
        let tls = peer.carrier.as_ref().is_some_and(|carrier| carrier.kind == "tls");
        Some(Used {
            interface: self.interface.clone(),
            active: !peer.allowed_ips.is_empty(),
            carrier: if tls { "tls" } else { "udp" },
            why: peer
                .carrier
                .as_ref()
                .map_or_else(|| "it has only UDP".into(), |carrier| carrier.why.clone()),
            mtu: self.status.mtu,
            handshake_age: peer.last_handshake.map(|then| self.status.at - then),
        })
    }
}
