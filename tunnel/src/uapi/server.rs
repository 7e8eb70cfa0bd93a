//! The socket itself: one thread that accepts, one a connection.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::fs::Mode;

use super::{MAX_REQUEST, Refusal, Request, errno, parse};
use crate::problem::{Context, Problem, Result};

/// More at once are told to come again: whoever opens the socket is root, but not always careful.
const MAX_CONNECTIONS: usize = 16;
/// A connection that says nothing for so long is closed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers one request. The answer ends with `errno=` and an empty line.
pub(super) type Handler = dyn Fn(Request) -> Vec<u8> + Send + Sync;

/// The bound socket. Dropping it closes and removes it.
pub struct Server {
    path: PathBuf,
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds the socket, readable by its owner alone, and answers from now on.
    ///
    /// # Errors
    /// When someone else answers there already, or the folder cannot be written.
    pub fn bind(path: PathBuf, handler: Arc<Handler>) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(folder)
                .while_doing(|| format!("folder {}", folder.display()))?;
        }
        if UnixStream::connect(&path).is_ok() {
            return Err(Problem::new(format!("{} is answered by another process", path.display())).hint(
                "another WireGuard runs this interface: stop it, or choose another name with --interface",
            ));
        }
        _ = fs::remove_file(&path);
        let listener = bind_private(&path).while_doing(|| format!("control socket {}", path.display()))?;
        let listener = Arc::new(listener);
        let accepting = Arc::clone(&listener);
        let thread = thread::Builder::new()
            .name("uapi".into())
            .stack_size(256 << 10)
            .spawn(move || accept(&accepting, &handler))
            .while_doing(|| "thread of the control socket".into())?;
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

/// There is no moment at which others could connect: the file is made with its final mode.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    let listener = bound?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn accept(listener: &UnixListener, handler: &Arc<Handler>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // Out of descriptors: wait for one. Anything else is the shutdown.
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM)) =>
            {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::ECONNABORTED)) => continue,
            Err(_) => return,
        };
        _ = stream.set_read_timeout(Some(PATIENCE));
        _ = stream.set_write_timeout(Some(PATIENCE));
        if open.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::AcqRel);
            _ = stream.write_all(errno(libc::EAGAIN).as_bytes());
            continue;
        }
        let (handler, counter) = (Arc::clone(handler), Arc::clone(&open));
        let spawned =
            thread::Builder::new().name("uapi-peer".into()).stack_size(512 << 10).spawn(move || {
                serve(stream, handler.as_ref());
                counter.fetch_sub(1, Ordering::AcqRel);
            });
        if spawned.is_err() {
            open.fetch_sub(1, Ordering::AcqRel);
        }
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

/// Reads up to the empty line; gives where the request ends, `None` when the other side is done.
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
