//! Requests of operators and metrics scrapes to a running gateway.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_lease as lease;

use super::Inner;
use crate::gateway::model::{GatewayStatus, LeaseCounters, PeerEntry};
use crate::gateway::sites;
use crate::runtime::control::Command;
use crate::runtime::metrics;
use crate::runtime::problem::{Problem, Result};
use crate::runtime::status::Status;
use crate::runtime::supervise::Supervisor;

/// Timeout for the store in requests of operators.
const STORE: Duration = Duration::from_secs(2);

impl Inner {
    /// Starts or stops refusing new peers. Existing peers are sent to the other gateways, unless they `stay` or there is no
    /// other gateway. Returns a summary.
    ///
    /// # Errors
    /// The gateway is ending.
    pub(in crate::gateway) fn drain(&self, draining: bool, stay: bool) -> Result<String> {
        self.draining.store(draining, Ordering::Relaxed);
        self.enrolment.load().set_draining(draining);
        let (name, store, peers) = (self.name(), Arc::clone(&self.store), self.peers.clone());
        let others = self.wait(async move {
            let members = match tokio::time::timeout(STORE, store.members()).await {
                Ok(Ok(members)) if draining && !stay => members,
                _ => Vec::new(),
            };
            let names = members.into_iter().map(|member| member.name.to_string());
            let others: Vec<String> = names.filter(|other| *other != name).collect();
            peers.drain(!others.is_empty()).await;
            others
        })?;
        tracing::info!(draining, ?others, "drain changed");
        let here = self.peer_table.leased().len();
        Ok(match (draining, stay, others.is_empty()) {
            (false, ..) => "accepts new peers again".to_owned(),
            (true, true, _) => "accepts no new peers; connected peers stay until they leave".to_owned(),
            (true, false, true) => {
                "accepts no new peers; no other gateway is known to be alive, so connected peers stay"
                    .to_owned()
            }
            (true, false, false) => {
                format!(
                    "accepts no new peers; moves its peers ({here}) to other gateways: {}",
                    others.join(", ")
                )
            }
        })
    }

    /// The status without the peers.
    ///
    /// # Errors
    /// The control thread does not answer.
    pub(in crate::gateway) fn status(&self) -> Result<GatewayStatus> {
        let mut interface: Status = self.interface.request(Command::Status)?;
        let sites = sites::entries(&self.config.lock().site, &interface);
        interface.peers.clear();
        let (service, kept) = (self.leases.clone(), Arc::clone(&self.store));
        let (leases, store, gateways) = self.wait(async move {
            let leases = tokio::time::timeout(STORE, service.leases()).await.ok().flatten();
            let members = tokio::time::timeout(STORE, kept.members()).await;
            match members {
                Ok(Ok(members)) => (leases, true, members),
                _ => (leases, false, Vec::new()),
            }
        })?;
        let of = leases.ok_or_else(no_leases)?.1;
        let config = self.config.lock();
        Ok(GatewayStatus {
            fabric: config.fabric.to_string(),
            name: config.name.to_string(),
            draining: self.draining.load(Ordering::Relaxed),
            store,
            forward: self.forwarding.forward.name().to_owned(),
            forward_reason: self.forwarding.reason.clone(),
            counters: self.forwarding.forward.counters(),
            leases: LeaseCounters {
                live: of.live,
                quarantined: of.quarantined,
                enrolled: of.enrolled,
                renewed: of.renewed,
                ended: of.ended,
                refused: of.refused,
                conflicts: of.conflicts,
                unknown: of.unknown,
                closed: of.closed,
                clock_skew_seconds: of.skew,
            },
            gateways: gateways.into_iter().map(|member| member.name.to_string()).collect(),
            sites,
            dns: self.name_server.as_ref().map(|server| server.status(&config)),
            interface,
        })
    }

    /// All leases, with this gateway's view of their peers.
    ///
    /// # Errors
    /// The control thread does not answer.
    pub(in crate::gateway) fn peers(&self) -> Result<Vec<PeerEntry>> {
        // Reading the counters updates the number of flows of each peer.
        self.forwarding.forward.counters();
        let interface: Status = self.interface.request(Command::Status)?;
        let known: std::collections::HashMap<&str, &crate::runtime::status::Peer> =
            interface.peers.iter().map(|peer| (peer.public_key.as_str(), peer)).collect();
        let service = self.leases.clone();
        let (leases, _) = self.wait(async move { service.leases().await })?.ok_or_else(no_leases)?;
        let mut entries: Vec<PeerEntry> = leases
            .into_iter()
            .map(|(key, lease)| {
                let key = key.to_string();
                let peer = known.get(key.as_str());
                let flows = lease.addresses.first().and_then(|address| self.peer_table.of(*address));
                let (state, until) = match lease.state {
                    lease::State::Live { seen, ttl, .. } => {
                        ("live", seen.plus(Duration::from_secs(ttl.into())))
                    }
                    lease::State::Quarantined { until, why } => (ending(why), until),
                };
                PeerEntry {
                    host: lease.host.name().to_owned(),
                    group: lease.group.to_string(),
                    addresses: lease.addresses,
                    token: lease.token.to_string(),
                    signer: lease.signer.map(|signer| signer.to_string()),
                    source: lease.source,
                    state: state.to_owned(),
                    since: lease.since.to_string(),
                    until: until.to_string(),
                    last_handshake_age: peer
                        .and_then(|peer| peer.last_handshake)
                        .map(|at| (interface.at - at).max(0.0)),
                    endpoint: peer.and_then(|peer| peer.endpoint).map(|at| at.to_string()),
                    carrier: peer
                        .map(|peer| peer.carrier.as_ref().map_or("udp", |of| of.kind.as_str()).to_owned()),
                    rx_bytes: peer.map_or(0, |peer| peer.rx_bytes),
                    tx_bytes: peer.map_or(0, |peer| peer.tx_bytes),
                    flows: flows.map_or(0, |member| member.flows.load(Ordering::Relaxed)),
                    public_key: key,
                }
            })
            .collect();
        entries.sort_by(|a, b| a.addresses.cmp(&b.addresses));
        Ok(entries)
    }
}

impl metrics::Source for Inner {
    fn status(&self) -> Option<Status> {
        self.interface.request(Command::Status).ok()
    }

    fn alive(&self) -> bool {
        self.interface.request(Command::Ping).is_ok()
    }

    fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    fn more(&self) -> String {
        Inner::status(self).map(|status| status.metrics()).unwrap_or_default()
    }

    /// A gateway is ready even without peers.
    fn ready(&self) -> std::result::Result<(), String> {
        Inner::status(self).map_err(|problem| format!("{}\n", problem.what()))?.ready()
    }
}

fn no_leases() -> Problem {
    Problem::new("the lease task does not answer")
        .hint("see the log for the reason, then restart the gateway")
}

fn ending(why: lease::Ending) -> &'static str {
    match why {
        lease::Ending::Expired => "expired",
        lease::Ending::Released => "released",
        lease::Ending::Evicted => "evicted",
        lease::Ending::Revoked => "revoked",
        lease::Ending::MaxAge => "max-age",
        lease::Ending::Untrusted => "untrusted",
        lease::Ending::Replaced => "replaced",
    }
}
