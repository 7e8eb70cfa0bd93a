//! The state of the control thread, and the parts that it starts with.

use std::{
    collections::HashMap,
    net::SocketAddr,
    os::fd::BorrowedFd,
    sync::{Arc, mpsc::SyncSender},
};

use warren_proto::{
    Now,
    engine::Engine,
    plane::{Peer, PeerId},
};
use warren_transport::{tls::Streams, udp::Udp};
use warren_wire::key::{PrivateKey, PublicKey};

use super::{Commands, Facts, Handle, Lookup, carriers::PeerCarriers, direct::DirectPaths, model::Model};
use crate::runtime::{
    datapath::{Clock, Control as Message},
    problem::Result,
    supervise::Supervisor,
};

/// The data path as used by the control thread.
pub trait DatapathHandle: Send {
    /// The next event that the data path cannot handle itself.
    fn next(&mut self) -> Option<Message>;
    /// Readable when there may be one.
    fn readable(&self) -> BorrowedFd<'_>;
    /// Call this after it was readable, before [`DatapathHandle::next`].
    fn acknowledge(&mut self);
    /// Sends the packets of a peer that waited for a session.
    fn flush(&self, peer: &Arc<Peer>);
    /// A session was established.
    fn established(&self);
    /// The socket in use.
    fn udp(&self) -> &Arc<Udp>;
    /// The TLS connections.
    fn streams(&self) -> &Arc<Streams>;
    /// Switches to another socket.
    ///
    /// # Errors
    /// When the data path cannot be restarted with it.
    fn rebind(&mut self, udp: Arc<Udp>) -> Result<()>;
    /// The device's MTU has changed.
    fn set_mtu(&mut self, mtu: usize);
    /// Handshake messages dropped because this thread was overloaded.
    fn overrun(&self) -> u64;
    /// Threads of the data path that ended unexpectedly.
    fn failed(&self) -> u64;
    /// Ends the data path's threads.
    fn stop(self: Box<Self>);
}

/// The parts of the control thread.
pub struct Parts {
    /// The protocol.
    pub engine: Engine,
    /// Our key.
    pub private_key: PrivateKey,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    /// The data path.
    pub datapath: Box<dyn DatapathHandle>,
    /// Commands to it.
    pub commands: Commands,
    /// Names to resolve.
    pub lookups: SyncSender<Lookup>,
    /// Learns of an unexpected end of the data path.
    pub supervisor: Supervisor,
    /// For its status.
    pub facts: Facts,
}

/// Handshake attempts of a peer since its last completed handshake.
#[derive(Debug, Default)]
pub(super) struct HandshakeAttempts {
    pub(super) initiations: u32,
    pub(super) warned: bool,
    pub(super) up: bool,
    pub(super) remote: Option<SocketAddr>,
}

/// The state of the control thread.
pub(super) struct Control {
    pub(super) engine: Engine,
    pub(super) model: Model,
    pub(super) carriers: PeerCarriers,
    pub(super) direct: DirectPaths,
    pub(super) datapath: Box<dyn DatapathHandle>,
    pub(super) commands: Commands,
    pub(super) lookups: SyncSender<Lookup>,
    /// `None` when the end of the data path has been reported.
    pub(super) supervisor: Option<Supervisor>,
    pub(super) facts: Facts,
    pub(super) attempts: HashMap<PeerId, HandshakeAttempts>,
    /// Overrun already reported to the engine.
    pub(super) overrun: u64,
    /// Peers that have come here since somebody asked.
    pub(super) arrived: Vec<PublicKey>,
    pub(super) stop: bool,
}

impl Control {
    pub(super) fn new(parts: Parts, handle: Handle) -> Self {
        let mut model = Model::default();
        model.private_key = Some(parts.private_key);
        model.fwmark = parts.fwmark;
        Self {
            engine: parts.engine,
            model,
            carriers: PeerCarriers::new(Arc::clone(parts.datapath.streams()), handle),
            direct: DirectPaths::default(),
            datapath: parts.datapath,
            commands: parts.commands,
            lookups: parts.lookups,
            supervisor: Some(parts.supervisor),
            facts: parts.facts,
            attempts: HashMap::new(),
            overrun: 0,
            arrived: Vec::new(),
            stop: false,
        }
    }
}

/// The time now.
pub(super) fn now() -> Now {
    Clock.now()
}
