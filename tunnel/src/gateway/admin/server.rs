//! The gateway's end of the control socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::{Ask, Said, socket};
use crate::gateway::running::Inner;
use crate::runtime::host::folders;
use crate::runtime::host::local_socket::{LocalSocket, Manner};
use crate::runtime::problem::{Context as _, Problem, Result};

/// The longest request.
const LONGEST: u64 = 16 << 10;
const MANNER: Manner = Manner {
    thread: "gateway-admin",
    patience: Duration::from_secs(10),
    taken: "a gateway with this name is already running",
};

/// The bound socket. Dropping it closes and removes it.
pub(in crate::gateway) struct Server {
    _socket: LocalSocket,
}

impl Server {
    /// Binds the socket and answers from now on, one connection after the other: they are operators'.
    pub(in crate::gateway) fn start(inner: Arc<Inner>) -> Result<Self> {
        let path = socket(&folders::own()?, &inner.name());
        let socket = LocalSocket::bind(path, &MANNER, move |stream| {
            if let Err(problem) = serve(&stream, &inner) {
                tracing::debug!("{}", problem.what());
            }
        })?;
        Ok(Self { _socket: socket })
    }
}

fn serve(stream: &UnixStream, inner: &Inner) -> Result<()> {
    let told = || "control socket".into();
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line).while_doing(told)?;
    let said = match serde_json::from_str::<Ask>(&line) {
        Ok(ask) => answer(&ask, inner).unwrap_or_else(|problem| Said::Problem {
            what: problem.what().to_owned(),
            hint: problem.advice().map(str::to_owned),
        }),
        Err(error) => Said::Problem {
            what: format!("the request is not valid: {error}"),
            hint: Some("the gateway and this command have different versions: restart the gateway".into()),
        },
    };
    let mut text = serde_json::to_string(&said).while_doing(told)?;
    text.push('\n');
    let mut stream = stream;
    stream.write_all(text.as_bytes()).while_doing(told)
}

fn answer(ask: &Ask, inner: &Inner) -> Result<Said> {
    let refused = |refusal: warren_lease::Refusal| Problem::new(refusal.to_string());
    let leases = inner.leases.clone();
    Ok(match *ask {
        Ask::Status => Said::Status(Box::new(inner.status()?)),
        Ask::Peers => Said::Peers(inner.peers()?),
        Ask::Evict { key, until } => {
            inner.wait(async move { leases.evict(key, until).await })?.map_err(refused)?;
            tracing::info!(peer = %key, %until, "evicted");
            Said::Done(format!("{key} is evicted until {until}"))
        }
        Ask::Readmit { key } => {
            inner.wait(async move { leases.readmit(key).await })?.map_err(refused)?;
            tracing::info!(peer = %key, "readmitted");
            Said::Done(format!("{key} may enrol again"))
        }
        Ask::Drain { draining, stay } => Said::Done(inner.drain(draining, stay)?),
        Ask::Revoke { token, until, peers } => {
            inner.wait(async move { leases.revoke(token, until, peers).await })?.map_err(refused)?;
            tracing::info!(%token, peers, "revoked");
            let rest = if peers { "its leases are ended" } else { "its leases stay" };
            Said::Done(format!("token {token} is revoked; {rest}"))
        }
        Ask::Reload => Said::Done(format!("reloaded: {}", inner.reload()?)),
    })
}
