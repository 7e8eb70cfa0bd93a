//! Requests of operators and metrics scrapes to a running gateway.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use warren_lease as lease;
use warren_wire::PublicKey;

use super::Inner;
use crate::enrolment::server::NoReport;
use crate::gateway::credentials::CredentialServer;
use crate::gateway::direct::DirectServer;
use crate::gateway::model::{GatewayStatus, GroupRates, LeaseCounters, PeerEntry, Report};
use crate::gateway::page::Fabric;
use crate::gateway::sites;
use crate::runtime::control::Command;
use crate::runtime::metrics;
use crate::runtime::problem::{Problem, Result};
use crate::runtime::status::{Peer, Status};
use crate::runtime::supervise::Supervisor;

/// Timeout for the store in requests of operators.
const STORE: Duration = Duration::from_secs(2);
/// Requests for the page's data within this time of each other get the same.
const SHARED_FOR: Duration = Duration::from_secs(1);
/// A session without a handshake for longer is dead (REJECT_AFTER_TIME, whitepaper section 6.1).
const SESSION_MAX: f64 = 180.0;

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
        self.events.add(if draining { "draining" } else { "accepts new pods again" });
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
        self.status_of(self.interface.request(Command::Status)?)
    }

    fn status_of(&self, mut interface: Status) -> Result<GatewayStatus> {
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
            credentials: self.credentials.as_ref().map(CredentialServer::status).unwrap_or_default(),
            direct_offers: self.direct.as_ref().map_or(0, DirectServer::offered),
            interface,
        })
    }

    /// All leases, with this gateway's view of their peers.
    ///
    /// # Errors
    /// The control thread does not answer.
    pub(in crate::gateway) fn peers(&self) -> Result<Vec<PeerEntry>> {
        self.peers_of(&self.interface.request(Command::Status)?)
    }

    fn peers_of(&self, interface: &Status) -> Result<Vec<PeerEntry>> {
        // Reading the counters updates the number of flows of each peer.
        self.forwarding.forward.counters();
        let (own, names) = self.gateway_names();
        let known: HashMap<&str, &Peer> =
            interface.peers.iter().map(|peer| (peer.public_key.as_str(), peer)).collect();
        let service = self.leases.clone();
        let (leases, _) = self.wait(async move { service.leases().await })?.ok_or_else(no_leases)?;
        let mut entries: Vec<PeerEntry> = leases
            .into_iter()
            .map(|(key, lease)| {
                let key = key.to_string();
                let peer = known.get(key.as_str());
                let member = lease.addresses.first().and_then(|address| self.peer_table.of(*address));
                let (state, until) = match lease.state {
                    lease::State::Live { seen, ttl, .. } => {
                        ("live", seen.plus(Duration::from_secs(ttl.into())))
                    }
                    lease::State::Quarantined { until, why } => (ending(why), until),
                };
                let age = peer.and_then(|peer| peer.last_handshake).map(|at| (interface.at - at).max(0.0));
                let name = |key: PublicKey| names.get(&key).cloned().unwrap_or_else(|| key.to_string());
                let here = lease.gateway.is_none() && age.is_some_and(|age| age < SESSION_MAX);
                PeerEntry {
                    gateway: lease.gateway.map(name).or_else(|| here.then(|| own.clone())),
                    rtt: peer.copied().and_then(round_trip),
                    denied: member.as_ref().map_or(0, |member| member.denied.load(Ordering::Relaxed)),
                    host: lease.host.name().to_owned(),
                    group: lease.group.to_string(),
                    addresses: lease.addresses,
                    token: lease.token.to_string(),
                    signer: lease.signer.map(|signer| signer.to_string()),
                    source: lease.source,
                    state: state.to_owned(),
                    since: lease.since.to_string(),
                    until: until.to_string(),
                    last_handshake_age: age,
                    endpoint: peer.and_then(|peer| peer.endpoint).map(|at| at.to_string()),
                    carrier: peer
                        .map(|peer| peer.carrier.as_ref().map_or("udp", |of| of.kind.as_str()).to_owned()),
                    rx_bytes: peer.map_or(0, |peer| peer.rx_bytes),
                    tx_bytes: peer.map_or(0, |peer| peer.tx_bytes),
                    transfers: member.as_ref().map_or_else(Vec::new, |member| member.credentials.transfers()),
                    flows: member.map_or(0, |member| member.flows.load(Ordering::Relaxed)),
                    public_key: key,
                }
            })
            .collect();
        entries.sort_by(|a, b| a.addresses.cmp(&b.addresses));
        Ok(entries)
    }

    /// This gateway's name, and the names of all gateways of the file.
    fn gateway_names(&self) -> (String, HashMap<PublicKey, String>) {
        let config = self.config.lock();
        let names = config.gateways.as_slice().iter().map(|of| (of.key, of.name.to_string()));
        (config.name.to_string(), names.collect())
    }

    /// What this gateway reports to the page.
    fn report(&self) -> Result<Report> {
        let interface: Status = self.interface.request(Command::Status)?;
        let (rx_bytes, tx_bytes) = interface.bytes();
        let groups = self
            .config
            .lock()
            .groups
            .iter()
            .map(|(name, group)| GroupRates {
                name: name.to_string(),
                rate_mbit: group.rate_mbit,
                peer_rate_mbit: group.peer_rate_mbit,
            })
            .collect();
        Ok(Report {
            rx_bytes,
            tx_bytes,
            groups,
            peers: self.peers_of(&interface)?,
            denied: self.audit.denied(),
            denied_recorded: self.audit.is_kept() || self.forwarding.forward.name() != "kernel",
            events: self.events.all(),
            status: self.status_of(interface)?,
        })
    }

    /// The report for the page of another gateway: without the pods that use another one.
    pub(super) fn report_for_others(&self) -> std::result::Result<Vec<u8>, NoReport> {
        if self.config.lock().page.enabled == Some(false) {
            return Err(NoReport::Off);
        }
        let mut report = self.report().inspect_err(crate::runtime::log::warn).map_err(|_| NoReport::Busy)?;
        let own = Some(&report.status.name);
        report.peers.retain(|peer| peer.gateway.as_ref() == own);
        serde_json::to_vec(&report).map_err(|_| NoReport::Busy)
    }

    /// The data of the page. Many browsers cost no more than one.
    fn page_data(&self) -> Option<Bytes> {
        let mut last = self.operators.last.lock();
        if let Some((at, data)) = last.as_ref()
            && at.elapsed() < SHARED_FOR
        {
            return Some(data.clone());
        }
        let (gateways, own) = {
            let config = self.config.lock();
            (config.gateways.clone(), config.name.clone())
        };
        let report = self.report().inspect_err(crate::runtime::log::warn).ok()?;
        let fabric = Fabric::new(report, self.operators.others.views(&gateways, &own));
        let data = Bytes::from(serde_json::to_vec(&fabric).ok()?);
        *last = Some((Instant::now(), data.clone()));
        Some(data)
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

    fn other(&self, request: &metrics::RequestHead) -> Option<metrics::Answer> {
        self.operators.page.load().as_ref()?.answer(request, || self.page_data())
    }

    /// A gateway is ready even without peers.
    fn ready(&self) -> std::result::Result<(), String> {
        Inner::status(self).map_err(|problem| format!("{}\n", problem.what()))?.ready()
    }
}

/// The round trip to a peer. A handshake that the peer began is the newest, since gateways begin few.
fn round_trip(peer: &Peer) -> Option<f64> {
    let tls = peer.carrier.as_ref().filter(|carrier| carrier.kind == "tls");
    tls.and_then(|carrier| carrier.rtt).or(peer.answer_rtt).or(peer.handshake_rtt)
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
