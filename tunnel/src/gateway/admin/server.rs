//! The gateway's end of the socket.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::Mode;

use super::{Ask, Said, socket};
use crate::folders;
use crate::gateway::running::Inner;
use crate::problem::{Context as _, Problem, Result};

/// The longest request.
const LONGEST: u64 = 16 << 10;
/// A connection that says nothing for so long is closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bound socket. Dropping it closes and removes it.
pub(in crate::gateway) struct Server {
    path: PathBuf,
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds the socket and answers from now on, one connection after the other: they are operators'.
    pub(in crate::gateway) fn start(inner: Arc<Inner>) -> Result<Self> {
        let path = socket(&folders::own()?, &inner.name());
        if UnixStream::connect(&path).is_ok() {
            return Err(Problem::new(format!("{} is answered by another process", path.display()))
                .hint("a gateway of this name is running already"));
        }
        _ = fs::remove_file(&path);
        let told = || format!("control socket {}", path.display());
        // There is no moment at which others could connect: the file is made with its final mode.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(&path);
        rustix::process::umask(before);
        let listener = Arc::new(bound.while_doing(told)?);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).while_doing(told)?;
        let accepting = Arc::clone(&listener);
        let thread = thread::Builder::new()
            .name("gateway-admin".into())
            .spawn(move || {
                while let Ok((stream, _)) = accepting.accept() {
                    if let Err(problem) = serve(&stream, &inner) {
                        tracing::debug!("{}", problem.what());
                    }
                }
            })
            .while_doing(told)?;
        Ok(Self { path, listener, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
        _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

fn serve(stream: &UnixStream, inner: &Inner) -> Result<()> {
    let told = || "control socket".into();
    stream.set_read_timeout(Some(PATIENCE)).while_doing(told)?;
    stream.set_write_timeout(Some(PATIENCE)).while_doing(told)?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line).while_doing(told)?;
    let said = match serde_json::from_str::<Ask>(&line) {
        Ok(ask) => answer(&ask, inner).unwrap_or_else(|problem| Said::Problem {
            what: problem.what().to_owned(),
            hint: problem.advice().map(str::to_owned),
        }),
        Err(error) => Said::Problem {
            what: format!("the request is not understood: {error}"),
            hint: Some("gateway and command are of different versions: restart the gateway".into()),
        },
    };
    let mut text = serde_json::to_string(&said).while_doing(told)?;
    text.push('\n');
    let mut stream = stream;
    stream.write_all(text.as_bytes()).while_doing(told)
}

fn answer(ask: &Ask, inner: &Inner) -> Result<Said> {
    let refused = |refusal: warren_proto::lease::Refusal| Problem::new(refusal.to_string());
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
            let rest = if peers { "its peers are ended" } else { "its peers stay" };
            Said::Done(format!("token {token} is revoked, {rest}"))
        }
        Ask::Reload => Said::Done(format!("reloaded: {}", inner.reload()?)),
    })
}
