//! The plugin process, from its start until the client ends.

mod connection;
mod host;
mod network;
mod signals;
#[cfg(unix)]
mod socket_dir;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tower::layer::util::Stack;

use crate::handshake::{self, Identity, Refusal, Start};
use crate::log;
use crate::log::rpc::LogCalls;
use crate::proto::health::health_server::HealthServer;
use crate::proto::plugin::grpc_broker_server::GrpcBrokerServer;
use crate::proto::plugin::grpc_controller_server::GrpcControllerServer;
use crate::proto::plugin::grpc_stdio_server::GrpcStdioServer;
use crate::proto::tfplugin6::provider_server::ProviderServer;
use crate::provider::Provider;
use crate::server::Service;
use crate::tls::{self, TlsError};
use connection::Connections;
use host::Host;
use signals::Signals;

/// Terraform's limit on messages, in bytes.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;

/// Flow-control window in bytes. HTTP/2's default of 64 KiB would slow down messages of many megabytes.
const WINDOW: u32 = 4 << 20;

/// Time for running calls to finish after the process was asked to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How long the process keeps running after its last connection was closed.
const ORPHAN: Duration = Duration::from_secs(5);

/// Seconds to wait for a client of which the process does not know whether it still runs.
const NEVER_CONNECTED: u32 = 60;

/// An error that ends the process.
#[derive(Debug, Error)]
enum ServeError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
    #[error("cannot serve: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves `provider` until its client ends. This is the whole `main` of a provider.
///
/// `address` is the address of the provider in a registry, such as `registry.terraform.io/acme/notes`, and `version`
/// is the version of the provider. If a person starts the process, it prints an explanation to standard error and
/// returns 1. With `--debug` it serves without TLS, on a socket that only the current user can access, and prints the
/// `TF_REATTACH_PROVIDERS` variable that attaches Terraform to it.
///
/// On Windows it listens on loopback TCP, as Go providers do. `TF_PROVIDER_NETWORK=tcp` selects that elsewhere.
pub fn run(provider: impl Provider, address: &str, version: &str) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&ServeError::Io(error)),
    };
    let code = runtime.block_on(serve(provider, address, version));
    // Calls that still run have been cancelled and had time to finish.
    runtime.shutdown_timeout(Duration::from_millis(100));
    code
}

/// Same as [`run`], on an existing runtime.
pub async fn serve(provider: impl Provider, address: &str, version: &str) -> ExitCode {
    match try_serve(provider, Identity { address, version }).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &ServeError) -> ExitCode {
    let _nobody_to_tell = writeln!(std::io::stderr(), "{error}");
    ExitCode::FAILURE
}

async fn try_serve(provider: impl Provider, identity: Identity<'_>) -> Result<(), ServeError> {
    let environment = |name: &str| std::env::var(name).ok();
    let start = handshake::start(identity, std::env::args_os().skip(1), environment)?;
    log::install(identity.name(), environment);

    let (listener, address, _guard) = network::listen(start == Start::Debug, environment).await?;
    let (acceptor, greeting) = match &start {
        Start::Plugin { client_certificate } => {
            let tls = tls::server(client_certificate)?;
            (Some(tls.acceptor), handshake::line(&address, &tls.certificate))
        }
        Start::Debug => (None, handshake::reattach(identity.address, &address, std::process::id())),
    };
    let service = Service::new(provider);
    let stop = CancellationToken::new();
    let connections = Connections::accept(listener, acceptor, stop.clone());
    let debug = start == Start::Debug;
    let mut life = Life { debug, connections: connections.open() };
    // Before the greeting: from then on Terraform may pass on the user's Ctrl-C.
    let signals = Signals::register()?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(greeting.as_bytes())?;
    stdout.flush()?;
    drop(stdout);
    tracing::debug!(version = identity.version, network = address.parts().0, "serving");

    let serving = server(&service, identity.address, &stop)
        .serve_with_incoming_shutdown(connections.into_stream(), stop.clone().cancelled_owned());
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = stop.cancelled() => {}
        () = life.over() => {}
        () = signals.end(debug) => {}
    }
    service.cancel();
    stop.cancel();
    match tokio::time::timeout(GRACE, serving).await {
        Ok(served) => Ok(served?),
        // Calls that ignore cancellation end when the process exits.
        Err(_) => Ok(()),
    }
}

fn server(
    service: &Service,
    address: &str,
    stop: &CancellationToken,
) -> tonic::transport::server::Router<Stack<LogCalls, tower::layer::util::Identity>> {
    let host = Host::new(stop.clone());
    Server::builder()
        .layer(LogCalls::of(address))
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .add_service(
            ProviderServer::new(service.clone())
                .max_decoding_message_size(MAX_MESSAGE)
                .max_encoding_message_size(MAX_MESSAGE),
        )
        .add_service(GrpcControllerServer::new(host.clone()))
        .add_service(GrpcStdioServer::new(host.clone()))
        .add_service(GrpcBrokerServer::new(host.clone()))
        .add_service(HealthServer::new(host))
}

/// Detects when the process is no longer needed.
struct Life {
    debug: bool,
    connections: tokio::sync::watch::Receiver<connection::Open>,
}

impl Life {
    /// Returns when the client has ended without a shutdown: it was killed, or it never connected.
    async fn over(&mut self) {
        if self.debug {
            return std::future::pending().await;
        }
        let parent = parent();
        let mut seconds = 0;
        loop {
            let open = *self.connections.borrow_and_update();
            let change = self.connections.changed();
            if open.now > 0 {
                let _the_accept_loop_lives_as_long = change.await;
            } else if open.ever > 0 {
                if tokio::time::timeout(ORPHAN, change).await.is_err() {
                    tracing::warn!("client disconnected without a shutdown, exiting");
                    return;
                }
            } else if tokio::time::timeout(Duration::from_secs(1), change).await.is_err() {
                seconds += 1;
                if parent.is_none() && seconds == NEVER_CONNECTED || self::parent() != parent {
                    tracing::warn!("client ended before it connected, exiting");
                    return;
                }
            }
        }
    }
}

/// The process that started this one. Another process is the parent once it has ended.
#[cfg(unix)]
fn parent() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

/// On other systems a process does not learn that its parent has ended.
#[cfg(not(unix))]
fn parent() -> Option<u32> {
    None
}
