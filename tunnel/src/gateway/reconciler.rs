//! Turns leases into members and into peers of the interface.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{mpsc, oneshot};
use warren_proto::engine::PeerConfig;
use warren_wire::PublicKey;

use super::access::Access;
use super::events::Events;
use super::forward::Forward;
use super::peers::{Member, PeerTable};
use crate::enrolment::leases::PeerEvent;
use crate::runtime::control::{Command, FilePeer, Handle};
use crate::runtime::log;
use crate::runtime::supervise::Supervisor;

/// Changes applied in one step.
const MAX_BATCH: usize = 1024;
/// Time for the resets of ended flows to be sent.
const RESET_GRACE: Duration = Duration::from_millis(50);

/// Turns leases into members and into peers of the interface.
pub(super) struct PeerReconciler {
    /// The members.
    pub(super) peer_table: Arc<PeerTable>,
    /// The rules of groups and sites.
    pub(super) access: Arc<Access>,
    /// Forwards their packets.
    pub(super) forward: Arc<dyn Forward>,
    /// The interface.
    pub(super) interface: Handle,
    /// This gateway's own addresses in the pool.
    pub(super) own: Vec<IpAddr>,
    /// What happens to peers.
    pub(super) events: Arc<Events>,
}

/// Requests to the reconciler, which handles them in order.
enum Action {
    /// Apply all changes of leases so far.
    Sync,
    /// Send the peers to other gateways, or accept them again.
    Drain(bool),
}

/// A handle to the reconciler; cheap to clone. The reconciler lives as long as the gateway.
#[derive(Clone)]
pub(super) struct ReconcilerHandle(mpsc::UnboundedSender<ReconcilerRequest>);

/// A request, and the channel to acknowledge it.
type ReconcilerRequest = (Action, oneshot::Sender<()>);

impl ReconcilerHandle {
    /// Waits until all changes of leases so far are applied to the interface.
    pub(super) async fn synced(&self) {
        self.request(Action::Sync).await;
    }

    /// Ends all flows of peers and removes them from the interface, so that they fail over to other gateways; or adds them
    /// again. Their leases do not change.
    pub(super) async fn drain(&self, draining: bool) {
        self.request(Action::Drain(draining)).await;
    }

    async fn request(&self, what: Action) {
        let (done, answered) = oneshot::channel();
        if self.0.send((what, done)).is_ok() {
            _ = answered.await;
        }
    }
}

impl PeerReconciler {
    /// Follows the changes of leases until the lease service ends.
    pub(super) fn start(
        self,
        mut events: mpsc::UnboundedReceiver<PeerEvent>,
        runtime: &Runtime,
        supervisor: &Supervisor,
    ) -> ReconcilerHandle {
        let (requests, mut received) = mpsc::unbounded_channel::<ReconcilerRequest>();
        supervisor.task(runtime, "reconciler of peers", async move {
            let reconciler = Arc::new(self);
            let mut batch: Vec<PeerEvent> = Vec::new();
            let mut draining = false;
            loop {
                let mut waiter = None;
                tokio::select! {
                    count = events.recv_many(&mut batch, MAX_BATCH) => if count == 0 {
                        // Nobody says any more who may stay.
                        _ = tokio::task::spawn_blocking(move || reconciler.remove_all()).await;
                        return;
                    },
                    Some(requests) = received.recv() => waiter = Some(requests),
                }
                // A request waits for the events before it: apply all of them before acknowledging it.
                while let Ok(event) = events.try_recv() {
                    batch.push(event);
                }
                let change = match &waiter {
                    Some((Action::Drain(to), _)) if *to != draining => Some(*to),
                    _ => None,
                };
                if !batch.is_empty() || change.is_some() {
                    let (reconciler, events) = (Arc::clone(&reconciler), std::mem::take(&mut batch));
                    let done = tokio::task::spawn_blocking(move || {
                        reconciler.follow(events, draining);
                        if let Some(draining) = change {
                            reconciler.set_draining(draining);
                        }
                    });
                    if let Err(error) = done.await {
                        tracing::error!(%error, "the task that follows peers has failed");
                        return;
                    }
                    draining = change.unwrap_or(draining);
                }
                if let Some((_, waiter)) = waiter {
                    // The requester may have given up.
                    _ = waiter.send(());
                }
            }
        });
        ReconcilerHandle(requests)
    }

    fn follow(&self, events: Vec<PeerEvent>, draining: bool) {
        let mut gone: Vec<PublicKey> = Vec::new();
        let mut changed: HashMap<PublicKey, FilePeer> = HashMap::new();
        let mut moved: Vec<PublicKey> = Vec::new();
        let mut happened = Vec::new();
        for event in events {
            match event {
                // From before the address was the gateway's. Its agent gets no answer, and enrols again for another address.
                PeerEvent::Install(peer)
                    if peer.addresses.iter().any(|address| self.own.contains(address)) =>
                {
                    tracing::info!(peer = %peer.key, addresses = ?peer.addresses, "not installed: the address is this gateway's own now");
                    changed.remove(&peer.key);
                    gone.push(peer.key);
                    self.take(&peer.key);
                }
                PeerEvent::Install(peer) => {
                    moved.push(peer.key);
                    // A member that is only at another gateway now keeps its flows.
                    if let Some(member) = self.peer_table.of_key(&peer.key).filter(|it| it.is_of(&peer)) {
                        let before = std::mem::replace(&mut *member.elsewhere.lock(), peer.elsewhere);
                        if before.is_some() && peer.elsewhere.is_none() {
                            happened.push(format!("{} came from another gateway", named(&member)));
                        }
                        continue;
                    }
                    gone.retain(|key| *key != peer.key);
                    self.take(&peer.key);
                    let host = peer.host.name();
                    let member = Member::new(peer.key, peer.addresses, peer.group, host, &self.access);
                    *member.elsewhere.lock() = peer.elsewhere;
                    if peer.elsewhere.is_none() {
                        happened.push(format!("{} joined", named(&member)));
                    }
                    changed.insert(peer.key, interface_peer(&member));
                    self.put(member, draining);
                }
                PeerEvent::Remove(key) => {
                    changed.remove(&key);
                    gone.push(key);
                    let member = self.peer_table.of_key(&key);
                    if let Some(member) = member.filter(|member| member.elsewhere.lock().is_none()) {
                        happened.push(format!("{} left", named(&member)));
                    }
                    self.take(&key);
                }
            }
        }
        self.events.add_of_pods(happened);
        // Rules must be in place before packets arrive.
        self.forward.flush();
        if !draining {
            self.update_interface(gone, changed.into_values().collect());
            let moved: Vec<_> = moved.iter().filter_map(|key| self.peer_table.of_key(key)).collect();
            self.peer_table.report_gateways(&self.interface, &moved);
        }
    }

    /// Removes all peers with leases.
    fn remove_all(&self) {
        let keys: Vec<PublicKey> = self.peer_table.leased().iter().map(|member| member.key).collect();
        tracing::error!(peers = keys.len(), "leases are no longer known: all peers are removed");
        keys.iter().for_each(|key| self.take(key));
        self.forward.flush();
        self.update_interface(keys, Vec::new());
    }

    /// Sends all peers to other gateways, or accepts them again.
    fn set_draining(&self, draining: bool) {
        let members = self.peer_table.leased();
        self.peer_table.set_draining(draining);
        if !draining {
            members.iter().for_each(|member| self.forward.install(member));
            self.forward.flush();
            self.update_interface(Vec::new(), members.iter().map(|member| interface_peer(member)).collect());
            return self.peer_table.report_gateways(&self.interface, &members);
        }
        self.end_flows(&members);
        // Time for the resets to reach the peers before these are removed from the interface.
        std::thread::sleep(RESET_GRACE);
        self.update_interface(members.iter().map(|member| member.key).collect(), Vec::new());
        self.end_flows(&members);
    }

    fn end_flows(&self, members: &[Arc<Member>]) {
        for member in members {
            self.take(&member.key);
            self.put(member.without_flows(&self.access), true);
        }
        self.forward.flush();
    }

    fn put(&self, member: Member, draining: bool) {
        let member = Arc::new(member);
        if draining {
            self.forward.send_away(&member);
        } else {
            self.forward.install(&member);
        }
        self.peer_table.put(&member);
    }

    fn take(&self, key: &PublicKey) {
        if let Some(before) = self.peer_table.take(key) {
            self.forward.remove(&before);
        }
    }

    fn update_interface(&self, gone: Vec<PublicKey>, changed: Vec<FilePeer>) {
        if gone.is_empty() && changed.is_empty() {
            return;
        }
        if let Err(problem) = self.interface.request(|done| Command::Peers { gone, changed, done }) {
            log::warn(&problem);
        }
    }
}

/// A member as operators know it.
fn named(member: &Member) -> String {
    let addresses: Vec<String> = member.addresses.iter().map(ToString::to_string).collect();
    let host = member.label.as_deref().unwrap_or("a pod without a name");
    format!("{host} ({}, {})", member.group, addresses.join(", "))
}

fn interface_peer(member: &Member) -> FilePeer {
    let mut config = PeerConfig::new(member.key);
    config.allowed_ips = member.addresses.iter().map(|address| IpNet::from(*address)).collect();
    FilePeer { config, name: None, tls: None }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as blocking;

    use warren_lease::Peer;
    use warren_wire::PrivateKey;

    use super::super::example;
    use super::super::forward::ForwardCounters;
    use super::*;

    struct Nothing;

    impl Forward for Nothing {
        fn name(&self) -> &'static str {
            "nothing"
        }
        fn install(&self, _: &Arc<Member>) {}
        fn send_away(&self, _: &Arc<Member>) {}
        fn remove(&self, _: &Arc<Member>) {}
        fn counters(&self) -> ForwardCounters {
            ForwardCounters::default()
        }
    }

    /// Without the lease task, an evicted pod would stay forever.
    #[test]
    fn the_end_of_the_lease_task_removes_all_peers_and_is_a_death() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let supervisor = Supervisor::default();
        let (sender, deaths) = blocking::channel();
        supervisor.on_death(move |name| _ = sender.send(name.to_owned()));
        let (interface, commands) = Handle::new().unwrap();
        let (told, changes) = blocking::channel();
        std::thread::spawn(move || {
            loop {
                match commands.next() {
                    Some(Command::Peers { gone, changed, done }) => {
                        _ = told.send((gone, changed.len()));
                        _ = done.send(());
                    }
                    _ => std::thread::sleep(Duration::from_millis(2)),
                }
            }
        });
        let peer_table = Arc::new(PeerTable::default());
        let reconciler = PeerReconciler {
            peer_table: Arc::clone(&peer_table),
            access: Arc::new(Access::new(&example::config("[groups.gpu]"))),
            forward: Arc::new(Nothing),
            interface,
            own: Vec::new(),
            events: Arc::default(),
        };
        let (events, received) = mpsc::unbounded_channel();
        let _handle = reconciler.start(received, runtime.handle(), &supervisor);
        let key = PrivateKey::from_random([7; 32]).public();
        let peer = Peer {
            key,
            addresses: vec!["10.100.0.9".parse().unwrap()],
            group: "gpu".parse().unwrap(),
            host: Default::default(),
            elsewhere: None,
        };
        events.send(PeerEvent::Install(peer)).unwrap();
        assert_eq!(changes.recv().unwrap(), (Vec::new(), 1));
        drop(events);
        assert_eq!(changes.recv().unwrap(), (vec![key], 0));
        assert_eq!(deaths.recv().unwrap(), "reconciler of peers");
        assert!(peer_table.all().is_empty());
    }
}
