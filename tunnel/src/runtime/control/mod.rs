//! The control thread: it alone owns the engine.
//!
//! ```text
//! data path threads --bounded queue + eventfd--+
//! UAPI, agent, metrics --commands + eventfd----+--> poll --> engine --> UDP, flush, log
//! next timer ----------------------------------+
//! TLS connections made and lost ---------------+
//! ```
//!
//! It sleeps until one of them has work. A flood of handshakes cannot delay commands: after each batch of datagrams
//! the thread checks commands and timers. It cannot delay data at all, because data does not pass through here.

mod carriers;
mod commands;
mod direct;
mod handshakes;
mod model;
mod report;
mod run;
mod state;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    time::Duration,
};

use ipnet::IpNet;
use rustix::event::EventfdFlags;
use warren_proto::engine::Liveness;
use warren_wire::key::{PrivateKey, PublicKey};

pub use carriers::{Dialled, Joined, TlsCarrier};
pub use direct::DirectOffer;
pub use model::{FilePeer, difference};
pub use report::{Facts, ServiceCounters, TlsPort};
pub use run::{DATAPATH, Thread, start};
pub use state::{DatapathHandle, Parts};

use crate::runtime::{
    problem::{Context, Problem, Result},
    status::Status,
    uapi::{Device, Set},
};

/// Datagrams between two checks of commands and timers.
const BATCH: usize = 64;
/// Length of the command queue.
const COMMANDS: usize = 256;
/// Timeout for an answer of the control thread.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Commands to the control thread.
pub enum Command {
    /// Answer, to show that the thread is alive.
    Ping(SyncSender<()>),
    /// Start a handshake with every peer whose address is known and that has no session.
    StartHandshakes,
    /// `get=1`
    Get(SyncSender<Device>),
    /// `set=1`; the answer is an errno.
    Set(Box<Set>, SyncSender<i32>),
    /// The status.
    Status(SyncSender<Status>),
    /// The time of the last handshake of each peer that had one, since the UNIX epoch.
    Handshakes(SyncSender<Vec<(PublicKey, Duration)>>),
    /// The time in the last handshake stamp of a peer, since the UNIX epoch.
    LastStamp(PublicKey, SyncSender<Option<Duration>>),
    /// No handshake of this end has a stamp before this time, since the UNIX epoch.
    StampFloor(Duration),
    /// Signs of life of these peers, and the time on the same clock; unknown peers are skipped.
    Liveness(Vec<PublicKey>, SyncSender<(Duration, Vec<(PublicKey, Liveness)>)>),
    /// Start a handshake with a peer, even if it has a session.
    Probe(PublicKey),
    /// A name was resolved.
    Endpoint(PublicKey, SocketAddr),
    /// The result of TLS connection attempt number `u64`.
    Dialled(PublicKey, u64, Box<Dialled>),
    /// The result of an attempt to add TLS connections.
    Joined(PublicKey, u64, Box<Joined>),
    /// Peers of a configuration file.
    Peers {
        /// To be removed.
        gone: Vec<PublicKey>,
        /// To be added or changed.
        changed: Vec<FilePeer>,
        /// When it is done.
        done: SyncSender<()>,
    },
    /// Peers, and other peers through which they are reached at present.
    Through(Vec<(PublicKey, Option<PublicKey>)>),
    /// The peers that have ended this by a message of their own, since the last time.
    Arrived(SyncSender<Vec<PublicKey>>),
    /// All peers that may be reached directly from now on.
    Direct(Vec<DirectOffer>),
    /// Addresses in these ranges that packets were sent to since the last time, and this end's own UDP addresses as its peers see
    /// it, or as it sees itself.
    Destinations(Vec<IpNet>, SyncSender<(Vec<IpAddr>, Vec<SocketAddr>)>),
    /// A new private key.
    PrivateKey(PrivateKey),
    /// Another port or firewall mark. Fails without a change when the port is in use.
    Listen {
        /// UDP port; 0 lets the kernel choose.
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

/// A name that the control thread needs resolved.
pub struct Lookup {
    /// The peer of the endpoint.
    pub peer: PublicKey,
    /// The name.
    pub name: warren_wire::config::Endpoint,
    /// The address that does not answer.
    pub unresponsive: Option<SocketAddr>,
}

/// A handle to the control thread; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    commands: SyncSender<Command>,
    wake: Arc<OwnedFd>,
    ended: Arc<AtomicBool>,
}

impl Handle {
    /// Creates a handle and its receiving end.
    ///
    /// # Errors
    /// When the kernel refuses an eventfd.
    pub fn new() -> Result<(Self, Commands)> {
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .while_doing(|| "cannot create an eventfd".into())?;
        let wake = Arc::new(wake);
        let (commands, received) = mpsc::sync_channel(COMMANDS);
        let ended = Arc::new(AtomicBool::new(false));
        let handle = Self { commands, wake: Arc::clone(&wake), ended: Arc::clone(&ended) };
        Ok((handle, Commands { received, wake, ended }))
    }

    /// Whether the thread has ended. One that does not answer may still do so.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Sends a command; false when the thread has ended.
    pub fn send(&self, command: Command) -> bool {
        let sent = self.commands.send(command).is_ok();
        _ = rustix::io::write(self.wake.as_fd(), &1_u64.to_ne_bytes());
        sent
    }

    /// Sends a command unless the queue is full. For the control thread itself.
    fn try_send(&self, command: Command) {
        _ = self.commands.try_send(command);
        _ = rustix::io::write(self.wake.as_fd(), &1_u64.to_ne_bytes());
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// When the thread has ended or does not answer in time.
    pub fn request<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(command(answer));
        answered.recv_timeout(RESPONSE_TIMEOUT).map_err(|_| {
            Problem::new("the control thread does not answer")
                .hint("the machine may be overloaded; if this lasts, see the log, then restart the program")
        })
    }
}

/// The control thread's end of a [`Handle`].
pub struct Commands {
    received: Receiver<Command>,
    wake: Arc<OwnedFd>,
    ended: Arc<AtomicBool>,
}

impl Drop for Commands {
    /// Also when the thread panics.
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
    }
}

impl Commands {
    pub(crate) fn next(&self) -> Option<Command> {
        self.received.try_recv().ok()
    }

    fn acknowledge(&self) {
        drain(&self.wake);
    }
}

/// Resets an eventfd to zero.
fn drain(eventfd: &impl AsFd) {
    let mut count = [0; 8];
    _ = rustix::io::read(eventfd, &mut count);
}
