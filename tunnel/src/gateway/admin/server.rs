//! The gateway's end of the control socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::{AdminRequest, AdminResponse, socket};
use crate::gateway::running::Inner;
use crate::runtime::host::folders;
use crate::runtime::host::local_socket::{LocalSocket, SocketOptions};
use crate::runtime::problem::{Context as _, Problem, Result};

/// The longest request.
const MAX_REQUEST: u64 = 16 << 10;
const OPTIONS: SocketOptions = SocketOptions {
    thread: "gateway-admin",
    timeout: Duration::from_secs(10),
    in_use_hint: "a gateway with this name is already running",
};

/// The bound socket. Dropping it closes and removes it.
pub(in crate::gateway) struct Server {
    _socket: LocalSocket,
}

impl Server {
    /// Binds the socket and serves operators, one connection at a time.
    pub(in crate::gateway) fn start(inner: Arc<Inner>) -> Result<Self> {
        let path = socket(&folders::runtime_folder()?, &inner.name());
        let socket = LocalSocket::bind(path, &OPTIONS, move |stream| {
            if let Err(problem) = serve(&stream, &inner) {
                tracing::debug!("{}", problem.what());
            }
        })?;
        Ok(Self { _socket: socket })
    }
}

fn serve(stream: &UnixStream, inner: &Inner) -> Result<()> {
    let doing = || "control socket".into();
    let mut line = String::new();
    BufReader::new(stream.take(MAX_REQUEST)).read_line(&mut line).while_doing(doing)?;
    let response = match serde_json::from_str::<AdminRequest>(&line) {
        Ok(request) => answer(&request, inner).unwrap_or_else(|problem| AdminResponse::Problem {
            what: problem.what().to_owned(),
            hint: problem.advice().map(str::to_owned),
        }),
        Err(error) => AdminResponse::Problem {
            what: format!("the request is not valid: {error}"),
            hint: Some("the gateway and this command have different versions: restart the gateway".into()),
        },
    };
    let mut text = serde_json::to_string(&response).while_doing(doing)?;
    text.push('\n');
    let mut stream = stream;
    stream.write_all(text.as_bytes()).while_doing(doing)
}

fn answer(request: &AdminRequest, inner: &Inner) -> Result<AdminResponse> {
    let refused = |refusal: warren_lease::Refusal| Problem::new(refusal.to_string());
    let leases = inner.leases.clone();
    Ok(match *request {
        AdminRequest::Status => AdminResponse::Status(Box::new(inner.status()?)),
        AdminRequest::Peers => AdminResponse::Peers(inner.peers()?),
        AdminRequest::Evict { key, until } => {
            inner.wait(async move { leases.evict(key, until).await })?.map_err(refused)?;
            tracing::info!(peer = %key, %until, "evicted");
            AdminResponse::Done(format!("{key} is evicted until {until}"))
        }
        AdminRequest::Readmit { key } => {
            inner.wait(async move { leases.readmit(key).await })?.map_err(refused)?;
            tracing::info!(peer = %key, "readmitted");
            AdminResponse::Done(format!("{key} may enrol again"))
        }
        AdminRequest::Drain { draining, stay } => AdminResponse::Done(inner.drain(draining, stay)?),
        AdminRequest::Revoke { token, until, peers } => {
            inner.wait(async move { leases.revoke(token, until, peers).await })?.map_err(refused)?;
            tracing::info!(%token, peers, "revoked");
            let rest = if peers { "its leases are ended" } else { "its leases stay" };
            AdminResponse::Done(format!("token {token} is revoked; {rest}"))
        }
        AdminRequest::Reload => AdminResponse::Done(format!("reloaded: {}", inner.reload()?)),
    })
}
