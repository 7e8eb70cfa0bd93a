//! An unprivileged network namespace: a helper process enters a user namespace and a network namespace, and creates sockets
//! there for the process that started it.
//!
//! ```text
//!  this process                                     helper: the same program, in namespaces of its own
//!  Namespace::socket ── family, type, protocol ──►  socket(2)
//!                    ◄── error, or a descriptor ──  (SCM_RIGHTS)
//! ```
//!
//! A process with several threads cannot enter a user namespace (user_namespaces(7)), and a process that has entered one
//! cannot leave it: its children would lose their other users and groups. So only the helper enters. A socket belongs to
//! the network in which it was created, no matter which process uses it. This process has all capabilities over that
//! network, because its user created the namespace (capabilities(7)): it configures the interfaces through a netlink
//! socket from there.
//!
//! The helper ends when its channel closes, that is, at the latest when this process ends. The network ends with its last
//! socket.

mod helper;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, SendFlags, Shutdown, SocketFlags, SocketType, send, shutdown, socketpair,
};

pub use helper::serve;

/// A helper that takes longer is stuck.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An own network namespace. Dropping it ends the helper; its sockets keep working.
#[derive(Debug)]
pub struct Namespace {
    channel: Mutex<OwnedFd>,
    helper: Child,
}

impl Namespace {
    /// Starts `helper`, which is to call [`serve`] with its standard input, and waits until it has entered its namespaces.
    ///
    /// # Errors
    /// The helper cannot be started, or the kernel refuses it the namespaces.
    pub fn start(mut helper: Command) -> io::Result<Self> {
        let (channel, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&channel, Timeout::Recv, Some(TIMEOUT))?;
        // Secrets of the environment are not for it, nor is what a terminal sends to our process group.
        helper.env_clear().current_dir("/").process_group(0);
        helper.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = helper.spawn()?;
        // It holds the other end, and else nobody would see that a helper has died.
        drop(helper);
        let namespace = Self { channel: Mutex::new(channel), helper: child };
        helper::answer(&namespace.channel.lock())?;
        Ok(namespace)
    }

    /// The process that is in the namespaces, for programs that enter them too.
    pub fn helper(&self) -> u32 {
        self.helper.id()
    }

    /// A socket in that network. It does not block, and programs that are started do not get it.
    ///
    /// # Errors
    /// What socket(2) says there; kind `BrokenPipe` when the helper has gone.
    pub fn socket(
        &self,
        family: AddressFamily,
        kind: SocketType,
        protocol: Option<Protocol>,
    ) -> io::Result<OwnedFd> {
        // One at a time: the next answer is ours.
        let channel = self.channel.lock();
        let request = helper::request(family, kind, protocol);
        send(&*channel, &request, SendFlags::NOSIGNAL)?;
        let answered = helper::answer(&channel);
        if let Err(error) = &answered
            && error.kind() == io::ErrorKind::WouldBlock
        {
            // An answer that came late would be taken for that to another request.
            _ = shutdown(&*channel, Shutdown::Both);
        }
        answered?.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A sandbox may forbid signals to a process that is older than it. The helper also ends with its channel.
        _ = shutdown(&*self.channel.get_mut(), Shutdown::Both);
        // It has nothing to put in order.
        _ = self.helper.kill();
        _ = self.helper.wait();
    }
}
