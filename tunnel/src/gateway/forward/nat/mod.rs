//! Forwarding through sockets of this process: without interfaces, rules or privileges.
//!
//! ```text
//! peer --TCP--> netstack (BBR) --bytes--> socket --TCP--> host       two connections: loss on either side stays there
//! peer --UDP--> netstack --datagram-----> socket, one a flow ------> host
//! peer --echo-> netstack ---------------> ping socket -------------> host
//! peer --------> netstack --------------> netstack, site's gateway -> host      TCP and UDP for another site's prefixes
//! peer --------> netstack --------------> netstack --> peer                     with the address of the peer that sends
//! ```
//!
//! A peer's connection is accepted once the one to the host is up; a refusal or an unreachable host is passed on to the peer.
//! Ends, resets and backpressure pass through.

mod echo;
mod outside;
mod shaped;
mod tcp;
mod udp;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use warren_budget::{ShareLimits, Shares};
use warren_device::user::{Forwarded, Net, Unreachable};
use warren_lease::policy::{Denial, Flow};
use warren_proxy::net::DialError;
use warren_proxy::relay::Pool;
use warren_wire::PublicKey;

use super::{Forward, ForwardContext, ForwardCounters};
use crate::gateway::access::{Access, Direction};
use crate::gateway::audit::{Audit, Entry};
use crate::gateway::peers::{Member, PeerTable};
use crate::runtime::datapath::Clock;
use crate::runtime::net::Netlink;
use crate::runtime::problem::{Context as _, Result};
use outside::Outside;

/// Concurrent TCP connections, in total.
pub(super) const STREAMS: usize = 65_536;
/// What peers have of them.
const STREAM_SHARES: ShareLimits = ShareLimits { share: 128, each: 16_384, total: STREAMS };
/// How long an answer about an address holds: interfaces can get others at any time.
const OWN_FOR: Duration = Duration::from_secs(1);
/// Answers that are remembered.
const OWN_KNOWN: usize = 4096;
/// The least time between two log lines about answers that did not come.
const OWN_LOGGED: Duration = Duration::from_secs(10);
/// Bytes in large copy buffers.
const BUFFERS: usize = 16 << 20;
/// Interval between reports of transferred bytes to the audit log.
const REPORT: Duration = Duration::from_secs(10);

/// Forwarding by sockets.
pub(in crate::gateway) struct Nat {
    inside: Forwarded,
    outside: Outside,
    own: Mutex<Own>,
    peer_table: Arc<PeerTable>,
    access: Arc<Access>,
    audit: Arc<Audit>,
    buffers: Arc<Pool>,
    streams: Shares<PublicKey>,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    tcp_now: AtomicU64,
    tcp: AtomicU64,
    udp_now: AtomicU64,
    udp: AtomicU64,
    echo: AtomicU64,
    bytes_out: AtomicU64,
    bytes_in: AtomicU64,
    denied: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

/// Counts a current flow until it is dropped.
struct Now<'a>(&'a AtomicU64);

impl<'a> Now<'a> {
    fn count(now: &'a AtomicU64) -> Self {
        now.fetch_add(1, Ordering::Relaxed);
        Self(now)
    }
}

impl Drop for Now<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Nat {
    /// Starts to forward; `addresses` are the source addresses towards other sites.
    ///
    /// # Errors
    /// The tunnel has ended, or its flows are forwarded already.
    pub(in crate::gateway) fn start(
        context: &ForwardContext,
        net: &Net,
        addresses: Vec<IpAddr>,
    ) -> Result<Arc<Self>> {
        let inside = net.forward().while_doing(|| "forwarding".into())?;
        let nat = Arc::new(Self {
            inside,
            outside: Outside::new(net.clone(), addresses),
            own: Mutex::new(Own::new()?),
            peer_table: Arc::clone(&context.peer_table),
            access: Arc::clone(&context.access),
            audit: Arc::clone(&context.audit),
            buffers: Pool::new(BUFFERS),
            streams: Shares::new(STREAM_SHARES),
            counters: Counters::default(),
        });
        let (supervisor, runtime) = (&context.supervisor, &context.runtime);
        supervisor.task(runtime, "forwarder of TCP", tcp::serve(Arc::clone(&nat)));
        supervisor.task(runtime, "forwarder of UDP", udp::serve(Arc::clone(&nat)));
        supervisor.task(runtime, "forwarder of echo requests", echo::serve(Arc::clone(&nat)));
        Ok(nat)
    }

    /// Whose flow it is, if it is allowed.
    ///
    /// # Errors
    /// The ICMP error for the sender: the source is unknown, the rules deny the flow, or no peer has the address.
    fn admit(&self, flow: &Flow) -> std::result::Result<Parties, Unreachable> {
        let member = self.peer_table.of(flow.source).ok_or(Unreachable::Prohibited)?;
        let to = self.peer_table.leased_at(flow.destination);
        match self.check(&member, to.as_deref(), flow, self.outside.by_tunnel(flow.destination)) {
            Ok(()) => Ok(Parties { member, to }),
            Err(Denial::Absent) => {
                self.audit.add(&Entry::new(&member, flow, None), 1, 0, 0);
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                Err(Unreachable::Host)
            }
            Err(denial) => {
                self.audit.deny(&member, flow, denial, 1);
                self.counters.denied.fetch_add(1, Ordering::Relaxed);
                Err(Unreachable::Prohibited)
            }
        }
    }

    /// Whether an existing flow may continue after rules or sites have changed. A flow never moves between a site and the
    /// machine's own network.
    fn may_go_on(&self, parties: &Parties, flow: &Flow, by_tunnel: bool) -> bool {
        let Parties { member, to } = parties;
        self.outside.by_tunnel(flow.destination) == by_tunnel
            && self.check(member, to.as_deref(), flow, by_tunnel).is_ok()
    }

    /// The rules, and for an address of this machine, whether one of them names it.
    fn check(
        &self,
        member: &Member,
        to: Option<&Member>,
        flow: &Flow,
        by_tunnel: bool,
    ) -> std::result::Result<(), Denial> {
        member.check(&self.access, to, flow)?;
        if by_tunnel || self.access.names(&member.group, flow) {
            return Ok(());
        }
        let own = self.own.lock().is_own(Clock.mono(), flow.destination);
        if own { Err(Denial::Destination) } else { Ok(()) }
    }
}

/// Whose a flow is.
struct Parties {
    /// The member that sends it.
    member: Arc<Member>,
    /// The peer that it is for, if it is for one.
    to: Option<Arc<Member>>,
}

impl Parties {
    /// Waits until one of them is removed.
    async fn gone(&self) {
        let Some(to) = &self.to else { return self.member.gone().await };
        tokio::select! {
            () = self.member.gone() => {}
            () = to.gone() => {}
        }
    }

    /// Takes bytes in a direction, as the sender of the flow sees it, from the rate limits of both, or from none.
    fn take(&self, direction: Direction, bytes: usize) -> bool {
        let now = Clock.mono();
        if !self.member.rate_limits.load().take(direction, now, bytes) {
            return false;
        }
        let other = if direction == Direction::Out { Direction::Back } else { Direction::Out };
        let taken = self.to.as_ref().is_none_or(|to| to.rate_limits.load().take(other, now, bytes));
        if !taken {
            self.member.rate_limits.load().put_back(direction, bytes);
        }
        taken
    }
}

/// Which addresses are this machine's own, as the kernel says.
struct Own {
    routes: Netlink,
    known: HashMap<IpAddr, (bool, Duration)>,
    logged: Option<Duration>,
}

impl Own {
    fn new() -> Result<Self> {
        let routes = Netlink::open().while_doing(|| "netlink".into())?;
        Ok(Self { routes, known: HashMap::new(), logged: None })
    }

    /// An address of which the kernel does not answer counts as own.
    fn is_own(&mut self, now: Duration, to: IpAddr) -> bool {
        if let Some((own, at)) = self.known.get(&to)
            && now.saturating_sub(*at) < OWN_FOR
        {
            return *own;
        }
        let own = self.routes.is_own(to).unwrap_or_else(|error| {
            if self.logged.is_none_or(|at| now.saturating_sub(at) >= OWN_LOGGED) {
                self.logged = Some(now);
                tracing::warn!(%error, destination = %to, "the kernel did not answer whether an address is the gateway's own; flows to it are denied");
            }
            true
        });
        if self.known.len() >= OWN_KNOWN {
            self.known.clear();
        }
        self.known.insert(to, (own, now));
        own
    }
}

impl Forward for Nat {
    fn name(&self) -> &'static str {
        "user"
    }

    /// Each new flow looks up its member.
    fn install(&self, _: &Arc<Member>) {}

    /// Draining members are in the table of peers, which every new flow checks.
    fn send_away(&self, _: &Arc<Member>) {}

    /// Each flow watches for the removal of its member.
    fn remove(&self, _: &Arc<Member>) {}

    fn counters(&self) -> ForwardCounters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        ForwardCounters {
            tcp_now: get(&counters.tcp_now),
            streams: self.outside.streams(),
            tcp: get(&counters.tcp),
            udp_now: get(&counters.udp_now),
            udp: get(&counters.udp),
            echo: get(&counters.echo),
            bytes_out: get(&counters.bytes_out),
            bytes_in: get(&counters.bytes_in),
            denied: get(&counters.denied),
            failed: get(&counters.failed),
            dropped: get(&counters.dropped),
        }
    }
}

/// The ICMP error for a host that is unreachable; `None` means a reset.
fn icmp_reason(error: DialError) -> Option<Unreachable> {
    match error {
        DialError::Refused => None,
        DialError::NetworkUnreachable | DialError::NoRoute => Some(Unreachable::Network),
        DialError::NotPermitted => Some(Unreachable::Prohibited),
        DialError::HostUnreachable | DialError::TimedOut | DialError::Exhausted | DialError::Failed => {
            Some(Unreachable::Host)
        }
    }
}
