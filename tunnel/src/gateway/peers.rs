//! The peers of the gateway: what leases say becomes peers of the interface and members that may send.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use parking_lot::RwLock;
use tokio::sync::{mpsc, oneshot, watch};
use warren_proto::engine::PeerConfig;
use warren_proto::lease::Peer;
use warren_wire::{Name, PublicKey};

use super::access::{Access, Shares};
use super::forward::Forward;
use crate::control::{Command, FilePeer, Handle};
use crate::enrolment::leases::PeerEvent;

/// Changes that are made in one step.
const STEP: usize = 1024;

/// A peer, as whoever forwards sees it.
pub(super) struct Member {
    /// Who.
    pub(super) key: PublicKey,
    /// What it may send from.
    pub(super) addresses: Vec<IpAddr>,
    /// What it may reach.
    pub(super) group: Name,
    /// Its limits.
    pub(super) shares: ArcSwap<Shares>,
    /// Flows of it now.
    pub(super) flows: AtomicU64,
    gone: watch::Sender<bool>,
}

impl Member {
    fn new(peer: Peer, access: &Access) -> Self {
        Self {
            key: peer.key,
            shares: ArcSwap::from_pointee(access.shares(&peer.group)),
            addresses: peer.addresses,
            group: peer.group,
            flows: AtomicU64::new(0),
            gone: watch::Sender::new(false),
        }
    }

    /// Waits until it is no member any more.
    pub(super) async fn gone(&self) {
        // The sender lives as long as the member.
        _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Counts a flow of it for as long as the value lives.
    pub(super) fn flow(self: &Arc<Self>) -> FlowOf {
        self.flows.fetch_add(1, Ordering::Relaxed);
        FlowOf(Arc::clone(self))
    }
}

/// A flow of a member.
pub(super) struct FlowOf(Arc<Member>);

impl Drop for FlowOf {
    fn drop(&mut self) {
        self.0.flows.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All members.
#[derive(Default)]
pub(super) struct Roster(RwLock<Known>);

#[derive(Default)]
struct Known {
    by_address: HashMap<IpAddr, Arc<Member>>,
    by_key: HashMap<PublicKey, Arc<Member>>,
}

impl Roster {
    /// Whose address that is.
    pub(super) fn of(&self, address: IpAddr) -> Option<Arc<Member>> {
        self.0.read().by_address.get(&address).cloned()
    }

    /// Every member.
    pub(super) fn all(&self) -> Vec<Arc<Member>> {
        self.0.read().by_key.values().cloned().collect()
    }

    /// Takes the limits of a new configuration.
    pub(super) fn reshare(&self, access: &Access) {
        for member in self.all() {
            member.shares.store(Arc::new(access.shares(&member.group)));
        }
    }

    fn put(&self, member: &Arc<Member>) {
        let mut known = self.0.write();
        for address in &member.addresses {
            known.by_address.insert(*address, Arc::clone(member));
        }
        known.by_key.insert(member.key, Arc::clone(member));
    }

    fn take(&self, key: &PublicKey) -> Option<Arc<Member>> {
        let mut known = self.0.write();
        let found = known.by_key.remove(key)?;
        for address in &found.addresses {
            // It may be another's by now.
            if known.by_address.get(address).is_some_and(|member| member.key == *key) {
                known.by_address.remove(address);
            }
        }
        drop(known);
        found.gone.send_replace(true);
        Some(found)
    }
}

/// Makes peers of leases.
pub(super) struct Keeper {
    /// Members.
    pub(super) roster: Arc<Roster>,
    /// Their rules.
    pub(super) access: Arc<Access>,
    /// What carries their packets.
    pub(super) forward: Arc<dyn Forward>,
    /// The interface.
    pub(super) interface: Handle,
}

/// Waits until the interface has what leases have said so far.
#[derive(Clone)]
pub(super) struct Settled(mpsc::UnboundedSender<oneshot::Sender<()>>);

impl Settled {
    /// Waits. When the keeper has ended, so has the gateway.
    pub(super) async fn wait(&self) {
        let (done, settled) = oneshot::channel();
        if self.0.send(done).is_ok() {
            _ = settled.await;
        }
    }
}

impl Keeper {
    /// Follows what leases say, until they end.
    pub(super) fn start(self, mut events: mpsc::UnboundedReceiver<PeerEvent>) -> Settled {
        let (settled, mut waiting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let keeper = Arc::new(self);
            let mut told: Vec<PeerEvent> = Vec::new();
            let mut waiters: Vec<oneshot::Sender<()>> = Vec::new();
            loop {
                tokio::select! {
                    count = events.recv_many(&mut told, STEP) => if count == 0 {
                        return;
                    },
                    Some(waiter) = waiting.recv() => waiters.push(waiter),
                }
                // Whoever waits came after what it waits for: all that is there now is done before it is answered.
                while let Ok(event) = events.try_recv() {
                    told.push(event);
                }
                if !told.is_empty() {
                    let (keeper, step) = (Arc::clone(&keeper), std::mem::take(&mut told));
                    if let Err(error) = tokio::task::spawn_blocking(move || keeper.follow(step)).await {
                        tracing::error!(%error, "peers are no longer followed");
                        return;
                    }
                }
                for waiter in waiters.drain(..) {
                    // It may have given up.
                    _ = waiter.send(());
                }
            }
        });
        Settled(settled)
    }

    fn follow(&self, events: Vec<PeerEvent>) {
        let mut gone: Vec<PublicKey> = Vec::new();
        let mut changed: HashMap<PublicKey, FilePeer> = HashMap::new();
        for event in events {
            match event {
                PeerEvent::Install(peer) => {
                    gone.retain(|key| *key != peer.key);
                    changed.insert(peer.key, interface_peer(&peer));
                    if let Some(before) = self.roster.take(&peer.key) {
                        self.forward.remove(&before);
                    }
                    let member = Arc::new(Member::new(peer, &self.access));
                    self.forward.install(&member);
                    self.roster.put(&member);
                }
                PeerEvent::Remove(key) => {
                    changed.remove(&key);
                    gone.push(key);
                    if let Some(before) = self.roster.take(&key) {
                        self.forward.remove(&before);
                    }
                }
            }
        }
        // Rules come before the packets that they are about.
        self.forward.settle();
        let changed: Vec<FilePeer> = changed.into_values().collect();
        if let Err(problem) = self.interface.ask(|done| Command::Peers { gone, changed, done }) {
            crate::log::warn(&problem);
        }
    }
}

fn interface_peer(peer: &Peer) -> FilePeer {
    let mut config = PeerConfig::new(peer.key);
    config.allowed_ips = peer.addresses.iter().map(|address| IpNet::from(*address)).collect();
    FilePeer { config, name: None, tls: None }
}
