//! The control thread: it alone owns the engine.
//!
//! ```text
//! data path threads --bounded queue + eventfd--+
//! UAPI, agent, metrics --commands + eventfd----+--> poll --> engine --> UDP, flush, log
//! next timer ----------------------------------+
//! TLS connections made and lost ---------------+
//! ```
//!
//! It sleeps until one of them has something. A flood of handshakes cannot keep commands waiting: after each
//! [`BATCH`] of datagrams it looks at the commands and at the timers. It cannot keep data waiting at all, for data
//! never comes by here.

mod carriers;
mod model;
mod report;
mod run;
#[cfg(test)]
mod tests;

use std::{
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc,
        mpsc::{self, Receiver, SyncSender},
    },
    time::Duration,
};

use rustix::event::EventfdFlags;
use warren_proto::engine::Signs;
use warren_wire::key::{PrivateKey, PublicKey};

pub use carriers::{Dialled, TlsWay};
pub use model::{FilePeer, difference};
pub use report::{Facts, TlsPort};
pub use run::{Parts, Thread, Traffic, start};

use crate::{
    problem::{Context, Problem, Result},
    status::Status,
    uapi::{Device, Set},
};

/// Datagrams between two looks at commands and timers.
const BATCH: usize = 64;
/// Commands that may wait.
const COMMANDS: usize = 256;
/// How long an asker waits for the control thread.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the control thread is asked to do.
pub enum Command {
    /// Answer, to show that the thread is alive.
    Ping(SyncSender<()>),
    /// Begin a handshake with every peer whose address is known and that has no session.
    Greet,
    /// `get=1`
    Get(SyncSender<Device>),
    /// `set=1`; the answer is an errno.
    Set(Box<Set>, SyncSender<i32>),
    /// All figures.
    Status(SyncSender<Status>),
    /// When each peer that ever did made its last handshake, since the UNIX epoch.
    Handshakes(SyncSender<Vec<(PublicKey, Duration)>>),
    /// How the ways to these peers do, and what time it is for them; without those that there are not.
    Signs(Vec<PublicKey>, SyncSender<(Duration, Vec<(PublicKey, Signs)>)>),
    /// Begin a handshake with a peer, whether there is a session or not.
    Probe(PublicKey),
    /// A name was looked up.
    Endpoint(PublicKey, SocketAddr),
    /// A TLS connection that was asked for, by an attempt of this number.
    Dialled(PublicKey, u64, Box<Dialled>),
    /// Peers of a configuration file.
    Peers {
        /// To be removed.
        gone: Vec<PublicKey>,
        /// To be added or changed.
        changed: Vec<FilePeer>,
        /// When it is done.
        done: SyncSender<()>,
    },
    /// Another key of ours.
    PrivateKey(PrivateKey),
    /// Another port or mark; an error when the port is taken: all stays then.
    Listen {
        /// UDP port; 0 is any.
        port: Option<u16>,
        /// Mark; 0 is none.
        fwmark: Option<u32>,
        /// When it is done.
        done: SyncSender<std::io::Result<()>>,
    },
    /// Facts that changed.
    Facts(Box<Facts>),
    /// Another planned rate, in Mbit/s, or none.
    PlannedRate(Option<u32>),
    /// End.
    Stop,
}

/// Names that the control thread wants looked up.
pub struct Lookup {
    /// Whose endpoint.
    pub peer: PublicKey,
    /// What to look up.
    pub name: warren_wire::config::Endpoint,
    /// The address that does not answer.
    pub not: Option<SocketAddr>,
}

/// Asks the control thread; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    commands: SyncSender<Command>,
    wake: Arc<OwnedFd>,
}

impl Handle {
    /// A handle and the end that the control thread reads.
    ///
    /// # Errors
    /// When the kernel gives no eventfd.
    pub fn new() -> Result<(Self, Commands)> {
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .while_doing(|| "eventfd".into())?;
        let wake = Arc::new(wake);
        let (commands, received) = mpsc::sync_channel(COMMANDS);
        Ok((Self { commands, wake: Arc::clone(&wake) }, Commands { received, wake }))
    }

    /// Sends a command; false when the thread has ended.
    pub fn tell(&self, command: Command) -> bool {
        let sent = self.commands.send(command).is_ok();
        _ = rustix::io::write(self.wake.as_fd(), &1_u64.to_ne_bytes());
        sent
    }

    /// Sends a command unless too many wait, for the control thread itself.
    fn hint(&self, command: Command) {
        _ = self.commands.try_send(command);
        _ = rustix::io::write(self.wake.as_fd(), &1_u64.to_ne_bytes());
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// When the thread has ended or does not answer in time.
    pub fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.tell(command(answer));
        answered.recv_timeout(PATIENCE).map_err(|_| {
            Problem::new("the control thread does not answer").hint("restart the agent; its log says more")
        })
    }
}

/// The control thread's end of a [`Handle`].
pub struct Commands {
    received: Receiver<Command>,
    wake: Arc<OwnedFd>,
}

impl Commands {
    fn next(&self) -> Option<Command> {
        self.received.try_recv().ok()
    }

    fn acknowledge(&self) {
        drain(&self.wake);
    }
}

/// Takes an eventfd back to zero.
fn drain(eventfd: &impl AsFd) {
    let mut count = [0; 8];
    _ = rustix::io::read(eventfd, &mut count);
}
