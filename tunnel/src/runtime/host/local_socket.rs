//! The local control socket of an agent or gateway, accessible only to its owner, with one thread that accepts connections.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::Mode;

use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::supervise::Supervisor;

/// The properties of a socket.
pub struct SocketOptions {
    /// The name of the thread that accepts.
    pub thread: &'static str,
    /// Timeout for reading and writing on a connection.
    pub timeout: Duration,
    /// The hint when another process answers there.
    pub in_use_hint: &'static str,
}

/// The bound socket. Dropping it closes and removes it.
pub struct LocalSocket {
    path: PathBuf,
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

impl LocalSocket {
    /// Binds the socket with mode 0600 and serves one connection after the other. Replaces a socket that an ended process left
    /// at `path`.
    ///
    /// # Errors
    /// When another process answers there, or the folder cannot be written.
    pub fn bind(
        path: PathBuf,
        options: &SocketOptions,
        supervisor: &Supervisor,
        serve: impl FnMut(UnixStream) + Send + 'static,
    ) -> Result<Self> {
        if UnixStream::connect(&path).is_ok() {
            return Err(Problem::new(format!(
                "control socket {}: in use by another process",
                path.display()
            ))
            .hint(options.in_use_hint));
        }
        _ = fs::remove_file(&path);
        let doing = || format!("control socket {}", path.display());
        let listener = Arc::new(bind_private(&path).while_doing(doing)?);
        let accepting = Arc::clone(&listener);
        let timeout = options.timeout;
        let thread = supervisor
            .thread(options.thread, 512 << 10, move || accept(&accepting, timeout, serve))
            .while_doing(doing)?;
        Ok(Self { path, listener, thread: Some(thread) })
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
        _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// Creates the file with its final mode, so that other users can never connect.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    let listener = bound?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn accept(listener: &UnixListener, timeout: Duration, mut serve: impl FnMut(UnixStream)) {
    loop {
        let stream = match listener.accept() {
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
        _ = stream.set_read_timeout(Some(timeout));
        _ = stream.set_write_timeout(Some(timeout));
        serve(stream);
    }
}
