//! The peers of the gateway and their addresses, as forwarding sees them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use warren_lease::Peer;
use warren_lease::policy::{Denial, Flow};
use warren_wire::gateway::{PEER_DOMAIN, SitePeer, peer_label};
use warren_wire::{Name, PublicKey};

use super::access::{Access, RateLimits};
use super::credentials;
use super::name_server::Share;
use crate::runtime::control::{Command, Handle};

/// A peer whose packets this gateway forwards.
pub(super) struct Member {
    /// The public key of the peer.
    pub(super) key: PublicKey,
    /// Its addresses; packets from other sources are dropped.
    pub(super) addresses: Vec<IpAddr>,
    /// Its group, whose rules apply to it.
    pub(super) group: Name,
    /// The label of its name, if its host has a name.
    pub(super) label: Option<String>,
    /// Its rate limits.
    pub(super) rate_limits: ArcSwap<RateLimits>,
    /// Its share of the name server.
    pub(super) dns: Share,
    /// Its share of the credential service.
    pub(super) credentials: Arc<credentials::Share>,
    /// Networks behind it, if it is the gateway of another site; `None` for a peer with a lease.
    pub(super) site: Option<Vec<IpNet>>,
    /// Another gateway that it is at, as far as known.
    pub(super) elsewhere: Mutex<Option<PublicKey>>,
    /// Its current flows.
    pub(super) flows: AtomicU64,
    /// Its flows that no rule allowed, since it is a member.
    pub(super) denied: AtomicU64,
    gone: watch::Sender<bool>,
}

impl Member {
    pub(super) fn new(
        key: PublicKey,
        addresses: Vec<IpAddr>,
        group: Name,
        host: &str,
        access: &Access,
    ) -> Self {
        Self {
            key,
            rate_limits: ArcSwap::from_pointee(access.rate_limits(&group, &RateLimits::default())),
            addresses,
            group,
            label: peer_label(host),
            dns: Share::new(access.dns_queries_per_second(), false),
            credentials: Arc::new(credentials::Share::new(access.credential_requests_per_minute())),
            site: None,
            elsewhere: Mutex::new(None),
            flows: AtomicU64::new(0),
            denied: AtomicU64::new(0),
            gone: watch::Sender::new(false),
        }
    }

    /// The gateway of another site.
    pub(super) fn site(site: &SitePeer, access: &Access) -> Self {
        let member = Self::new(site.key, site.addresses.clone(), site.group.clone(), "", access);
        let dns = Share::new(access.dns_queries_per_second(), true);
        Self { site: Some(site.prefixes.clone()), dns, ..member }
    }

    /// A copy without flows: those of the original end when it is removed.
    pub(super) fn without_flows(&self, access: &Access) -> Self {
        let member = Self::new(self.key, self.addresses.clone(), self.group.clone(), "", access);
        let elsewhere = Mutex::new(*self.elsewhere.lock());
        let denied = AtomicU64::new(self.denied.load(Ordering::Relaxed));
        let (label, credentials) = (self.label.clone(), Arc::clone(&self.credentials));
        Self { site: self.site.clone(), label, credentials, elsewhere, denied, ..member }
    }

    /// Whether it is a member as a lease has it, wherever it is.
    pub(super) fn is_of(&self, lease: &Peer) -> bool {
        self.key == lease.key
            && self.addresses == lease.addresses
            && self.group == lease.group
            && self.label == peer_label(lease.host.name())
    }

    /// Checks whether a flow of it may pass; `to` is the peer with the destination address, if there is one.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub(super) fn check(&self, access: &Access, to: Option<&Self>, flow: &Flow) -> Result<(), Denial> {
        let to = to.map(|to| &to.group);
        access.check(&self.group, &self.addresses, self.site.as_deref(), to, flow)
    }

    /// Waits until it is removed.
    pub(super) async fn gone(&self) {
        // The sender lives as long as the member.
        _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Counts a flow until the guard is dropped.
    pub(super) fn flow(self: &Arc<Self>) -> FlowGuard {
        self.flows.fetch_add(1, Ordering::Relaxed);
        FlowGuard(Arc::clone(self))
    }
}

/// Counts one flow of a member.
pub(super) struct FlowGuard(Arc<Member>);

impl Drop for FlowGuard {
    fn drop(&mut self) {
        self.0.flows.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All members, by address and by key.
#[derive(Default)]
pub(super) struct PeerTable {
    known: RwLock<Known>,
    draining: AtomicBool,
    /// Held while the gateways of members are sent to the interface, so that older ones never follow newer ones.
    reporting: Mutex<()>,
}

#[derive(Default)]
struct Known {
    by_address: HashMap<IpAddr, Arc<Member>>,
    by_key: HashMap<PublicKey, Arc<Member>>,
}

impl PeerTable {
    /// The member with an address.
    pub(super) fn of(&self, address: IpAddr) -> Option<Arc<Member>> {
        self.known.read().by_address.get(&address).cloned()
    }

    /// The member with a lease that has an address.
    pub(super) fn leased_at(&self, address: IpAddr) -> Option<Arc<Member>> {
        self.of(address).filter(|member| member.site.is_none())
    }

    /// The addresses of a name, for a member: `HOST.GROUP.warren.internal` has those of the peers with that host, and
    /// `GROUP.warren.internal` those of the group. A member sees itself, and the groups that its rules are about. `None` if the
    /// name is in another domain.
    pub(super) fn addresses(&self, asks: &Member, name: &str, access: &Access) -> Option<Vec<IpAddr>> {
        let labels = match name.strip_suffix(PEER_DOMAIN)? {
            "" => return Some(Vec::new()),
            before => before.strip_suffix('.')?,
        };
        let (host, group) = match labels.rsplit_once('.') {
            Some((host, group)) => (Some(host), group),
            None => (None, labels),
        };
        let visible = asks.site.is_none() && access.is_about(&asks.group, group);
        let is_meant = |member: &&Arc<Member>| {
            member.site.is_none()
                && member.group.as_str() == group
                && (visible || member.key == asks.key)
                && host.is_none_or(|host| member.label.as_deref() == Some(host))
        };
        let known = self.known.read();
        let mut addresses: Vec<IpAddr> =
            known.by_key.values().filter(is_meant).flat_map(|member| member.addresses.clone()).collect();
        addresses.sort_unstable();
        Some(addresses)
    }

    /// The member with a lease of this key.
    pub(super) fn of_key(&self, key: &PublicKey) -> Option<Arc<Member>> {
        self.known.read().by_key.get(key).filter(|member| member.site.is_none()).cloned()
    }

    /// Sends to the interface at which gateways members are. A gateway that it does not know counts as this one: call this again
    /// when there is a link to it.
    pub(super) fn report_gateways(&self, interface: &Handle, members: &[Arc<Member>]) {
        if members.is_empty() {
            return;
        }
        let _reporting = self.reporting.lock();
        let gateways = members.iter().map(|member| (member.key, *member.elsewhere.lock()));
        interface.send(Command::Through(gateways.collect()));
    }

    /// All members.
    pub(super) fn all(&self) -> Vec<Arc<Member>> {
        self.known.read().by_key.values().cloned().collect()
    }

    /// The members with leases.
    pub(super) fn leased(&self) -> Vec<Arc<Member>> {
        self.known.read().by_key.values().filter(|member| member.site.is_none()).cloned().collect()
    }

    /// Whether members with leases are being sent to other gateways: a connection that they open now would end at once.
    pub(super) fn draining(&self, member: &Member) -> bool {
        member.site.is_none() && self.draining.load(Ordering::Relaxed)
    }

    /// Starts or stops sending members with leases to other gateways.
    pub(super) fn set_draining(&self, draining: bool) {
        self.draining.store(draining, Ordering::Relaxed);
    }

    /// Applies the rate limits of a new configuration.
    pub(super) fn update_rate_limits(&self, access: &Access) {
        for member in self.all() {
            let rate_limits = access.rate_limits(&member.group, &member.rate_limits.load());
            member.rate_limits.store(Arc::new(rate_limits));
            member.dns.set_rate(access.dns_queries_per_second(), member.site.is_some());
            member.credentials.set_rate(access.credential_requests_per_minute());
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

    /// Removes a member and ends its flows.
    pub(super) fn take(&self, key: &PublicKey) -> Option<Arc<Member>> {
        let mut known = self.known.write();
        let found = known.by_key.remove(key)?;
        for address in &found.addresses {
            // It may belong to another member by now.
            if known.by_address.get(address).is_some_and(|member| member.key == *key) {
                known.by_address.remove(address);
            }
        }
        drop(known);
        found.gone.send_replace(true);
        Some(found)
    }
}
