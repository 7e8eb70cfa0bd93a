//! The addresses and ports of a gateway.

use std::net::SocketAddr;
use std::sync::Arc;

use warren_transport::tls::{ListenLimits, Listener};
use warren_transport::udp::Udp;
use warren_wire::gateway::{GatewayConfig, Limits};

use super::answers::Answers;
use super::running::Inner;
use crate::runtime::ListenAddress;
use crate::runtime::control::{TlsPort, Traffic as _};
use crate::runtime::metrics;
use crate::runtime::problem::{Problem, Result};
use crate::runtime::traffic::Moving;

/// The TLS port: enrolment, and peers without UDP.
///
/// # Errors
/// It cannot be had, or the certificate is of no use.
pub(super) fn listen(
    config: &GatewayConfig,
    identity: warren_transport::tls::Identity,
    traffic: &Moving,
    answers: Answers,
) -> Result<TlsPort> {
    let at = config.listen.tls;
    let pin = identity.pin();
    let tls = identity.server_config().map_err(|error| Problem::new(format!("TLS certificate: {error}")))?;
    let (streams, answers) = (Arc::clone(traffic.streams()), Arc::new(answers));
    let listener = Listener::start(at, tls, streams, Some(answers), listen_limits(&config.limits))
        .map_err(|error| port_problem("TLS", at, &error))?;
    tracing::info!(address = %listener.address(), %pin, "accepting TLS connections");
    Ok(TlsPort { listener: Arc::new(listener), pin })
}

/// The part of the limits that the TLS port keeps.
pub(super) fn listen_limits(limits: &Limits) -> ListenLimits {
    let connections = limits.connections as usize;
    ListenLimits {
        handshakes: connections,
        handshakes_of_one: connections.div_ceil(8).max(64),
        rate: limits.requests_per_second,
        requests: connections,
        patience: limits.request_timeout.get(),
    }
}

/// The UDP port.
///
/// # Errors
/// It cannot be had.
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

/// Where metrics are served: where the command line says, else the file, else by default; `None` is nowhere.
///
/// # Errors
/// A port that was asked for cannot be had.
pub(super) fn serve_metrics(
    inner: &Arc<Inner>,
    configured: Option<SocketAddr>,
    asked: Option<ListenAddress>,
) -> Result<Option<metrics::Server>> {
    let source = Arc::clone(inner) as Arc<dyn metrics::Source>;
    match (asked, configured) {
        (Some(ListenAddress::Off), _) => Ok(None),
        (Some(ListenAddress::At(at)), _) | (None, Some(at)) => metrics::Server::start(at, source).map(Some),
        // A default address that is taken is no reason not to run.
        (None, None) => Ok(metrics::Server::start(metrics::DEFAULT_ADDRESS, source)
            .map_err(|problem| crate::runtime::log::warn(&problem))
            .ok()),
    }
}
