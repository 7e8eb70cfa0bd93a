//! The addresses and ports of a gateway.

use std::net::SocketAddr;
use std::sync::Arc;

use warren_transport::tls::{ListenLimits, Listener};
use warren_transport::udp::Udp;
use warren_wire::gateway::{GatewayConfig, Limits, Unprotected};

use super::enrolment_handler::EnrolmentHandler;
use super::page::{Credential, Page};
use crate::runtime::ListenAddress;
use crate::runtime::control::{DatapathHandle as _, TlsPort};
use crate::runtime::datapath_runner::DatapathRunner;
use crate::runtime::metrics;
use crate::runtime::problem::{Problem, Result};

/// The TLS port: enrolment, and peers without UDP.
///
/// # Errors
/// The port is not available, or the certificate is not valid.
pub(super) fn listen(
    config: &GatewayConfig,
    identity: warren_transport::tls::Identity,
    datapath: &DatapathRunner,
    handler: EnrolmentHandler,
) -> Result<TlsPort> {
    let at = config.listen.tls;
    let pin = identity.pin();
    let tls = identity.server_config().map_err(|error| Problem::new(format!("TLS certificate: {error}")))?;
    let (streams, handler) = (Arc::clone(datapath.streams()), Arc::new(handler));
    let listener = Listener::start(at, tls, streams, Some(handler), listen_limits(&config.limits))
        .map_err(|error| port_problem("TLS", at, &error))?;
    tracing::info!(address = %listener.address(), %pin, "accepting TLS connections");
    Ok(TlsPort { listener: Arc::new(listener), pin })
}

/// The limits of the TLS port.
pub(super) fn listen_limits(limits: &Limits) -> ListenLimits {
    let connections = limits.connections as usize;
    ListenLimits {
        handshakes: connections,
        handshakes_of_one: connections.div_ceil(8).max(64),
        rate: limits.requests_per_second,
        rate_of_one: limits.connections_per_second_and_source,
        tunnels_of_one: limits.tunnels_per_source as usize,
        requests: connections,
        request_timeout: limits.request_timeout.get(),
    }
}

/// The UDP port.
///
/// # Errors
/// The port is not available.
pub(super) fn bind(port: u16) -> Result<Udp> {
    Udp::bind(port, None).map_err(|error| port_problem("UDP", SocketAddr::from(([0, 0, 0, 0], port)), &error))
}

fn port_problem(kind: &str, at: SocketAddr, error: &std::io::Error) -> Problem {
    let problem = Problem::new(format!("{kind} port {at}: {error}"));
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => {
            problem.hint(format!("`ss -lntup sport = :{}` shows the process that uses it", at.port()))
        }
        Some(libc::EACCES) => problem.hint("ports below 1024 need CAP_NET_BIND_SERVICE; or use another port"),
        _ => problem,
    }
}

/// The address of the metrics: that of the command line, else of the file, else the default; `None` if they are off.
pub(super) fn metrics_address(
    configured: Option<SocketAddr>,
    requested: Option<ListenAddress>,
) -> Option<SocketAddr> {
    match requested {
        Some(ListenAddress::Off) => None,
        Some(ListenAddress::At(at)) => Some(at),
        None => Some(configured.unwrap_or(metrics::DEFAULT_ADDRESS)),
    }
}

/// The page for operators at the address of the metrics; `None` if it is not served there.
///
/// # Errors
/// It should be served there, but not without a password; or the password cannot be read.
pub(super) fn page(config: &GatewayConfig, at: Option<SocketAddr>) -> Result<Option<Page>> {
    let Some(at) = at else { return Ok(None) };
    let served = config.page.is_served_at(at);
    if !served.map_err(|error| Problem::new(error.to_string()).hint(Unprotected::HINT))? {
        return Ok(None);
    }
    let credential = config.page.password_file.as_deref().map(Credential::read).transpose()?;
    Ok(Some(Page::new(credential)))
}

/// Serves metrics at [`metrics_address`].
///
/// # Errors
/// A requested address is not available.
pub(super) fn serve_metrics(
    source: Arc<dyn metrics::Source>,
    configured: Option<SocketAddr>,
    requested: Option<ListenAddress>,
) -> Result<Option<metrics::Server>> {
    match (requested, configured) {
        (Some(ListenAddress::Off), _) => Ok(None),
        (Some(ListenAddress::At(at)), _) | (None, Some(at)) => metrics::Server::start(at, source).map(Some),
        // If the default address is in use, the gateway runs without metrics.
        (None, None) => Ok(metrics::Server::start(metrics::DEFAULT_ADDRESS, source)
            .map_err(|problem| crate::runtime::log::warn(&problem))
            .ok()),
    }
}
