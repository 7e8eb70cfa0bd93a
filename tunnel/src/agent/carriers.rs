//! TLS to peers, and the port that accepts TLS connections: from settings to running parts.

use std::{path::PathBuf, sync::Arc};

use warren_path::carrier::Mode;
use warren_transport::tls::{Identity, IdentityError, ListenLimits, Listener, Proxy, Streams, Target, Trust};
use warren_wire::config::{Config, Host, Peer, TlsEndpoint};

use super::args::{AgentArgs, CarrierChoice};
use crate::runtime::{
    control::{TlsCarrier, TlsPort},
    log,
    problem::{Problem, Result},
};

/// How peers are reached.
#[derive(Debug, Clone)]
pub struct Carriers {
    choice: CarrierChoice,
    /// TLS connections to a peer.
    connections: u8,
    proxy: Option<Proxy>,
    /// Hosts that bypass the proxy: names with their subdomains, addresses, `*`.
    direct: Vec<String>,
    /// File with the certificate, and with the key unless `key` names another.
    certificate: PathBuf,
    key: Option<PathBuf>,
}

/// Flags and environment variables that override the file's `# warren:` settings.
#[derive(Debug, Clone, Default)]
pub struct TlsOverrides {
    listen: Option<std::net::SocketAddr>,
    endpoint: Option<warren_wire::config::Endpoint>,
    pins: Option<warren_wire::Pins>,
    name: Option<String>,
}

impl TlsOverrides {
    pub(super) fn of(args: &AgentArgs) -> Self {
        Self {
            listen: args.listen_tls,
            endpoint: args.tls_endpoint.clone(),
            pins: args.tls_pin.clone(),
            name: args.tls_name.clone(),
        }
    }

    /// Applies the overrides to a configuration.
    pub(super) fn apply(&self, config: &mut Config) -> Result<()> {
        config.interface.listen_tls = self.listen.or(config.interface.listen_tls);
        if self.endpoint.is_none() && self.pins.is_none() && self.name.is_none() {
            return Ok(());
        }
        let [peer] = config.peers.as_mut_slice() else {
            return Err(Problem::new(format!(
                "--tls-endpoint, --tls-pin and --tls-name need a configuration with exactly one peer; this one has {}",
                config.peers.len()
            ))
            .hint("add `# warren: TLSEndpoint = host:443` to the [Peer] section of the peer instead"));
        };
        let before = peer.tls.take();
        let endpoint = self.endpoint.clone().or(before.as_ref().map(|tls| tls.endpoint.clone()));
        let Some(endpoint) = endpoint else {
            return Err(Problem::new("--tls-pin and --tls-name need a TLS endpoint, and none is set")
                .hint("add --tls-endpoint host:443, or `# warren: TLSEndpoint = host:443` in the file"));
        };
        peer.tls = Some(TlsEndpoint {
            endpoint,
            pins: self.pins.clone().or_else(|| before.as_ref().and_then(|tls| tls.pins.clone())),
            name: self.name.clone().or(before.and_then(|tls| tls.name)),
        });
        Ok(())
    }
}

impl Carriers {
    /// Reads flags and environment. `certificate` is the path of the certificate unless `--tls-certificate` is given.
    pub(super) fn load(args: &AgentArgs, certificate: PathBuf) -> Self {
        Self {
            choice: args.carrier,
            connections: args.tls_connections,
            certificate: args.tls_certificate.clone().unwrap_or(certificate),
            key: args.tls_key.clone(),
            ..Self::of_environment()
        }
    }

    /// With the proxy of the environment.
    pub fn of_environment() -> Self {
        let variable = |names: &[&str]| {
            names.iter().find_map(|name| std::env::var(name).ok()).filter(|value| !value.is_empty())
        };
        let proxy = variable(&["HTTPS_PROXY", "https_proxy"]).and_then(|url| match url.parse::<Proxy>() {
            Ok(proxy) => Some(proxy),
            Err(error) => {
                log::warn(
                    &Problem::new(format!("ignoring HTTPS_PROXY: {error}"))
                        .hint("set it to a URL such as http://proxy.example.net:3128"),
                );
                None
            }
        });
        let direct = variable(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
        Self {
            choice: CarrierChoice::Auto,
            connections: 1,
            proxy,
            direct: direct.split(',').map(|host| host.trim().to_owned()).filter(|h| !h.is_empty()).collect(),
            certificate: PathBuf::new(),
            key: None,
        }
    }

    /// The carriers of the kernel's WireGuard: UDP only.
    pub(super) fn udp_only() -> Self {
        Self {
            choice: CarrierChoice::Udp,
            connections: 1,
            proxy: None,
            direct: Vec::new(),
            certificate: PathBuf::new(),
            key: None,
        }
    }

    /// Whether a configuration uses TLS, as client or as server.
    pub(super) fn wanted(&self, config: &Config) -> bool {
        let tls = self.choice != CarrierChoice::Udp && config.peers.iter().any(|peer| peer.tls.is_some());
        tls || config.interface.listen_tls.is_some()
    }

    /// Whether UDP is used at all.
    pub(super) fn udp(&self) -> bool {
        self.choice != CarrierChoice::Tls
    }

    /// TLS to a peer, if it has a TLS endpoint and `--carrier` permits it.
    pub(super) fn tls(&self, peer: &Peer, fwmark: Option<u32>) -> Option<TlsCarrier> {
        let mode = match self.choice {
            CarrierChoice::Udp => return None,
            CarrierChoice::Auto => Mode::Auto,
            CarrierChoice::Tls => Mode::Stream,
        };
        // Without UDP in the file there is nothing to choose.
        let mode = if peer.endpoint.is_none() { Mode::Stream } else { mode };
        let target = self.target(peer.tls.as_ref()?, fwmark);
        Some(TlsCarrier { target, mode, connections: self.connections.into() })
    }

    /// The dial target for a TLS endpoint.
    pub fn target(&self, tls: &TlsEndpoint, fwmark: Option<u32>) -> Target {
        let host = match &tls.endpoint.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        };
        Target {
            proxy: self.proxy.clone().filter(|_| !self.is_direct(&host)),
            host,
            port: tls.endpoint.port,
            server_name: tls.name.clone(),
            trust: tls.pins.clone().map_or(Trust::System, Trust::Pins),
            fwmark,
        }
    }

    fn is_direct(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.direct.iter().any(|direct| {
            let direct = direct.trim_start_matches('.').to_ascii_lowercase();
            let below = host.strip_suffix(&direct).is_some_and(|rest| rest.ends_with('.'));
            direct == "*" || host == direct || below
        })
    }

    /// Opens the configured TLS port.
    ///
    /// # Errors
    /// When the certificate cannot be read or created, or the port is in use.
    pub(super) fn listen(&self, config: &Config, streams: &Arc<Streams>) -> Result<Option<TlsPort>> {
        let Some(address) = config.interface.listen_tls else { return Ok(None) };
        let identity = match &self.key {
            Some(key) => Identity::read(&self.certificate, key),
            None => Identity::load_or_make(&self.certificate),
        };
        let identity = identity.map_err(|error| identity_problem(&error))?;
        let pin = identity.pin();
        let tls = identity.server_config().map_err(|error| identity_problem(&error))?;
        let listener = Listener::start(address, tls, Arc::clone(streams), None, ListenLimits::default())
            .map_err(|error| port_problem(address, &error))?;
        tracing::info!(address = %listener.address(), %pin, "accepting TLS connections");
        Ok(Some(TlsPort { listener: Arc::new(listener), pin }))
    }

    /// Rejects settings that cannot work together.
    pub(super) fn check(&self, config: &Config) -> Result<()> {
        if !self.udp()
            && let Some(peer) = config.peers.iter().find(|peer| peer.endpoint.is_some() && peer.tls.is_none())
        {
            return Err(Problem::new(format!(
                "peer {} has no TLS endpoint, which `--carrier tls` needs",
                peer.public_key
            ))
            .hint(
                "add --tls-endpoint host:443, or `# warren: TLSEndpoint = host:443` in its [Peer] section",
            ));
        }
        Ok(())
    }
}

fn identity_problem(error: &IdentityError) -> Problem {
    let problem = Problem::new(format!("TLS certificate: {error}"));
    match error {
        IdentityError::Exposed { path, .. } => problem.hint(format!("run `chmod 600 {}`", path.display())),
        IdentityError::File { .. } => problem.hint(
            "pass --tls-certificate with a path that can be written, or, together with --tls-key, an existing file",
        ),
        _ => problem.hint(
            "the file must be PEM; without --tls-key it must hold both certificate and key, and is created if missing",
        ),
    }
}

fn port_problem(address: std::net::SocketAddr, error: &std::io::Error) -> Problem {
    let problem = Problem::new(format!("TLS port {address}: {error}"));
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => {
            problem.hint(format!("find the process that uses it: ss -ltnp sport = :{}", address.port()))
        }
        Some(libc::EACCES) => {
            problem.hint("ports below 1024 need CAP_NET_BIND_SERVICE: grant it, or use a higher port")
        }
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_proxy() {
        let direct = ["localhost", ".corp.example", "10.0.0.1"].map(String::from).to_vec();
        let carriers = Carriers {
            choice: CarrierChoice::Auto,
            connections: 1,
            proxy: None,
            direct,
            certificate: PathBuf::new(),
            key: None,
        };
        let direct = ["localhost", "GW.corp.example", "corp.example", "10.0.0.1"];
        assert!(direct.iter().all(|host| carriers.is_direct(host)));
        assert!(!["gw.example", "notcorp.example", "10.0.0.11"].iter().any(|host| carriers.is_direct(host)));
    }
}
