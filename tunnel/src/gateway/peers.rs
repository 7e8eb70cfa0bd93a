//! The peers of the gateway: turns leases into peers of the interface and members.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use ipnet::IpNet;
use parking_lot::RwLock;
use tokio::sync::{mpsc, oneshot, watch};
use warren_proto::engine::PeerConfig;
use warren_wire::gateway::SitePeer;
use warren_wire::{Name, PublicKey};

use super::access::{Access, Shares};
use super::forward::Forward;
use crate::enrolment::leases::PeerEvent;
use crate::runtime::control::{Command, FilePeer, Handle};

/// Changes that are made in one step.
const STEP: usize = 1024;
/// Time for what flows say when they end.
const FAREWELL: Duration = Duration::from_millis(50);

/// A peer, as whoever forwards sees it.
pub(super) struct Member {
    /// The public key of the peer.
    pub(super) key: PublicKey,
    /// What it may send from.
    pub(super) addresses: Vec<IpAddr>,
    /// What it may reach.
    pub(super) group: Name,
    /// Its limits.
    pub(super) shares: ArcSwap<Shares>,
    /// Networks behind it, if it is the gateway of another site; whoever holds a lease has none.
    pub(super) site: Option<Vec<IpNet>>,
    /// Flows of it now.
    pub(super) flows: AtomicU64,
    gone: watch::Sender<bool>,
}

impl Member {
    fn new(key: PublicKey, addresses: Vec<IpAddr>, group: Name, access: &Access) -> Self {
        Self {
            key,
            shares: ArcSwap::from_pointee(access.shares(&group, &Shares::default())),
            addresses,
            group,
            site: None,
            flows: AtomicU64::new(0),
            gone: watch::Sender::new(false),
        }
    }

    /// The gateway of another site.
    pub(super) fn site(site: &SitePeer, access: &Access) -> Self {
        let member = Self::new(site.key, site.addresses.clone(), site.group.clone(), access);
        Self { site: Some(site.prefixes.clone()), ..member }
    }

    /// The same without flows: those of the old one end when that is taken out.
    fn anew(&self, access: &Access) -> Self {
        let member = Self::new(self.key, self.addresses.clone(), self.group.clone(), access);
        Self { site: self.site.clone(), ..member }
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
pub(super) struct Roster {
    known: RwLock<Known>,
    leaving: AtomicBool,
}

#[derive(Default)]
struct Known {
    by_address: HashMap<IpAddr, Arc<Member>>,
    by_key: HashMap<PublicKey, Arc<Member>>,
}

impl Roster {
    /// Whose address that is.
    pub(super) fn of(&self, address: IpAddr) -> Option<Arc<Member>> {
        self.known.read().by_address.get(&address).cloned()
    }

    /// Every member.
    pub(super) fn all(&self) -> Vec<Arc<Member>> {
        self.known.read().by_key.values().cloned().collect()
    }

    /// Those that hold leases.
    pub(super) fn leased(&self) -> Vec<Arc<Member>> {
        self.known.read().by_key.values().filter(|member| member.site.is_none()).cloned().collect()
    }

    /// Whether those that hold leases are being sent away: what they begin now they would lose in a moment.
    pub(super) fn leaving(&self, member: &Member) -> bool {
        member.site.is_none() && self.leaving.load(Ordering::Relaxed)
    }

    /// Takes the limits of a new configuration.
    pub(super) fn reshare(&self, access: &Access) {
        for member in self.all() {
            let shares = access.shares(&member.group, &member.shares.load());
            member.shares.store(Arc::new(shares));
        }
    }

    /// Adds a member.
    pub(super) fn put(&self, member: &Arc<Member>) {
        let mut known = self.known.write();
        for address in &member.addresses {
            known.by_address.insert(*address, Arc::clone(member));
        }
        known.by_key.insert(member.key, Arc::clone(member));
    }

    /// Takes a member out, and tells its flows.
    pub(super) fn take(&self, key: &PublicKey) -> Option<Arc<Member>> {
        let mut known = self.known.write();
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

/// What the keeper is asked, in the order in which it is asked.
enum Asked {
    /// To have done what leases have said so far.
    Settled,
    /// To send the peers away, or to take them back.
    Away(bool),
}

/// Asks the keeper; cheap to clone. When it has ended, so has the gateway.
#[derive(Clone)]
pub(super) struct Keeping(mpsc::UnboundedSender<Question>);

/// What is asked, and who waits for it.
type Question = (Asked, oneshot::Sender<()>);

impl Keeping {
    /// Waits until the interface has what leases have said so far.
    pub(super) async fn settled(&self) {
        self.ask(Asked::Settled).await;
    }

    /// Ends all flows of peers and answers peers no more, so that they go on with other gateways; or answers them again.
    /// Leases stay as they are.
    pub(super) async fn away(&self, away: bool) {
        self.ask(Asked::Away(away)).await;
    }

    async fn ask(&self, what: Asked) {
        let (done, answered) = oneshot::channel();
        if self.0.send((what, done)).is_ok() {
            _ = answered.await;
        }
    }
}

impl Keeper {
    /// Follows what leases say, until they end.
    pub(super) fn start(self, mut events: mpsc::UnboundedReceiver<PeerEvent>) -> Keeping {
        let (asking, mut asked) = mpsc::unbounded_channel::<Question>();
        tokio::spawn(async move {
            let keeper = Arc::new(self);
            let mut told: Vec<PeerEvent> = Vec::new();
            let mut away = false;
            loop {
                let mut waiter = None;
                tokio::select! {
                    count = events.recv_many(&mut told, STEP) => if count == 0 {
                        return;
                    },
                    Some(asking) = asked.recv() => waiter = Some(asking),
                }
                // Whoever waits came after what it waits for: all that is there now is done before it is answered.
                while let Ok(event) = events.try_recv() {
                    told.push(event);
                }
                let turn = match &waiter {
                    Some((Asked::Away(to), _)) if *to != away => Some(*to),
                    _ => None,
                };
                if !told.is_empty() || turn.is_some() {
                    let (keeper, step) = (Arc::clone(&keeper), std::mem::take(&mut told));
                    let done = tokio::task::spawn_blocking(move || {
                        keeper.follow(step, away);
                        if let Some(away) = turn {
                            keeper.turn(away);
                        }
                    });
                    if let Err(error) = done.await {
                        tracing::error!(%error, "the task that follows peers has failed");
                        return;
                    }
                    away = turn.unwrap_or(away);
                }
                if let Some((_, waiter)) = waiter {
                    // It may have given up.
                    _ = waiter.send(());
                }
            }
        });
        Keeping(asking)
    }

    fn follow(&self, events: Vec<PeerEvent>, away: bool) {
        let mut gone: Vec<PublicKey> = Vec::new();
        let mut changed: HashMap<PublicKey, FilePeer> = HashMap::new();
        for event in events {
            match event {
                PeerEvent::Install(peer) => {
                    gone.retain(|key| *key != peer.key);
                    self.take(&peer.key);
                    let member = Member::new(peer.key, peer.addresses, peer.group, &self.access);
                    changed.insert(peer.key, interface_peer(&member));
                    self.put(member, away);
                }
                PeerEvent::Remove(key) => {
                    changed.remove(&key);
                    gone.push(key);
                    self.take(&key);
                }
            }
        }
        // Rules come before the packets that they are about.
        self.forward.settle();
        if !away {
            self.tell(gone, changed.into_values().collect());
        }
    }

    /// Sends all peers to other gateways, or accepts them again.
    fn turn(&self, away: bool) {
        let members = self.roster.leased();
        self.roster.leaving.store(away, Ordering::Relaxed);
        if !away {
            members.iter().for_each(|member| self.forward.install(member));
            self.forward.settle();
            return self.tell(Vec::new(), members.iter().map(|member| interface_peer(member)).collect());
        }
        self.end_flows(&members);
        // Their resets are on their way to the peers before there is none any more.
        std::thread::sleep(FAREWELL);
        self.tell(members.iter().map(|member| member.key).collect(), Vec::new());
        self.end_flows(&members);
    }

    fn end_flows(&self, members: &[Arc<Member>]) {
        for member in members {
            self.take(&member.key);
            self.put(member.anew(&self.access), true);
        }
        self.forward.settle();
    }

    fn put(&self, member: Member, away: bool) {
        let member = Arc::new(member);
        if away {
            self.forward.send_away(&member);
        } else {
            self.forward.install(&member);
        }
        self.roster.put(&member);
    }

    fn take(&self, key: &PublicKey) {
        if let Some(before) = self.roster.take(key) {
            self.forward.remove(&before);
        }
    }

    fn tell(&self, gone: Vec<PublicKey>, changed: Vec<FilePeer>) {
        if gone.is_empty() && changed.is_empty() {
            return;
        }
        if let Err(problem) = self.interface.ask(|done| Command::Peers { gone, changed, done }) {
            crate::runtime::log::warn(&problem);
        }
    }
}

fn interface_peer(member: &Member) -> FilePeer {
    let mut config = PeerConfig::new(member.key);
    config.allowed_ips = member.addresses.iter().map(|address| IpNet::from(*address)).collect();
    FilePeer { config, name: None, tls: None }
}
