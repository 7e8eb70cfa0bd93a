//! The control socket: one thread accepts, and each connection has its own thread.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::{fs::DirBuilderExt, net::UnixStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::{MAX_REQUEST, Refusal, Request, errno, parse};
use crate::runtime::host::local_socket::{LocalSocket, SocketOptions};
use crate::runtime::problem::{Context, Result};
use crate::runtime::supervise::Supervisor;

/// Connections at the same time; more are refused.
const MAX_CONNECTIONS: usize = 16;
const OPTIONS: SocketOptions = SocketOptions {
    thread: "uapi",
    timeout: Duration::from_secs(30),
    in_use_hint: "another WireGuard uses this interface name: stop it, or choose another name with --interface",
};

/// Handles one request. The answer ends with `errno=` and an empty line.
pub(super) type Handler = dyn Fn(Request) -> Vec<u8> + Send + Sync;

/// The bound socket. Dropping it closes and removes it.
pub struct Server {
    _socket: LocalSocket,
}

impl Server {
    /// Binds the socket, accessible only to its owner, and serves it.
    ///
    /// # Errors
    /// When another process already answers there, or the folder cannot be written.
    pub fn bind(path: PathBuf, handler: Arc<Handler>, supervisor: &Supervisor) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(folder)
                .while_doing(|| format!("folder {}", folder.display()))?;
        }
        let open = Arc::new(AtomicUsize::new(0));
        let socket =
            LocalSocket::bind(path, &OPTIONS, supervisor, move |stream| spawn(stream, &handler, &open))?;
        Ok(Self { _socket: socket })
    }
}

fn spawn(mut stream: UnixStream, handler: &Arc<Handler>, open: &Arc<AtomicUsize>) {
    if open.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS {
        open.fetch_sub(1, Ordering::AcqRel);
        _ = stream.write_all(errno(libc::EAGAIN).as_bytes());
        return;
    }
    let (handler, counter) = (Arc::clone(handler), Arc::clone(open));
    let spawned = thread::Builder::new().name("uapi-peer".into()).stack_size(512 << 10).spawn(move || {
        serve(stream, handler.as_ref());
        counter.fetch_sub(1, Ordering::AcqRel);
    });
    if spawned.is_err() {
        open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Several requests may follow each other on one connection.
fn serve(mut stream: UnixStream, handler: &Handler) {
    let mut pending = zeroize::Zeroizing::new(Vec::new());
    loop {
        let end = match read_request(&mut stream, &mut pending) {
            Ok(Some(end)) => end,
            Ok(None) => return,
            Err(_) => {
                _ = stream.write_all(errno(Refusal::TooLong.errno()).as_bytes());
                return;
            }
        };
        let answer = match parse(&pending[..end]) {
            Ok(request) => zeroize::Zeroizing::new(handler(request)),
            Err(refusal) => {
                tracing::debug!(%refusal, "control request refused");
                zeroize::Zeroizing::new(errno(refusal.errno()).into_bytes())
            }
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
        pending.drain(..end);
    }
}

/// Reads up to the empty line and returns the end of the request; `None` when the client has finished.
fn read_request(stream: &mut UnixStream, pending: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut looked = 0;
    let mut chunk = [0; 16 << 10];
    loop {
        let from = looked.min(pending.len()).saturating_sub(1);
        if let Some(at) = pending[from..].windows(2).position(|pair| pair == b"\n\n") {
            return Ok(Some(from + at + 2));
        }
        looked = pending.len();
        if pending.len() > MAX_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return Ok(None),
            Ok(n) => pending.extend_from_slice(&chunk[..n]),
        }
    }
}
