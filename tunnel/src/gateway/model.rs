//! The gateway's status, for JSON, text and metrics. Contains no secrets.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub use super::credentials::{CredentialStatus, TRANSFERS, TransferEntry};
use super::forward::ForwardCounters;
pub use super::name_server::{DnsStatus, DnsZoneStatus, ResolverStatus};
use crate::runtime::status::Status;

/// The status of a gateway.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GatewayStatus {
    /// Its fabric.
    pub fabric: String,
    /// Its name.
    pub name: String,
    /// Whether it refuses new peers.
    pub draining: bool,
    /// Whether its lease store answers.
    pub store: bool,
    /// Forwarding mode: `kernel` or `user`.
    pub forward: String,
    /// The reason for the mode.
    pub forward_reason: String,
    /// Counters of forwarding.
    #[serde(rename = "figures")]
    pub counters: ForwardCounters,
    /// Leases.
    pub leases: LeaseCounters,
    /// Gateways that are alive, as the store knows them.
    pub gateways: Vec<String>,
    /// Gateways of other networks.
    #[serde(default)]
    pub sites: Vec<SiteEntry>,
    /// DNS for peers, if it has zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsStatus>,
    /// Credentials given to pods, by cloud.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<CredentialStatus>,
    /// Direct paths offered to pods since the start, each repetition counted.
    #[serde(default)]
    pub direct_offers: u64,
    /// The interface, without its peers.
    pub interface: Status,
}

/// Numbers of leases; the counters are those of this gateway since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseCounters {
    /// Peers.
    pub live: u64,
    /// Quarantined addresses.
    pub quarantined: u64,
    /// Enrolments written.
    pub enrolled: u64,
    /// Renewals written.
    pub renewed: u64,
    /// Leases ended.
    pub ended: u64,
    /// Requests refused.
    pub refused: u64,
    /// Lost races with other gateways.
    pub conflicts: u64,
    /// Changes with an unknown outcome.
    pub unknown: u64,
    /// Whether no peer is served because the store has been silent for `store_grace`.
    #[serde(default)]
    pub closed: bool,
    /// The largest difference between this gateway's clock and that of another, in seconds; positive if the other is ahead.
    #[serde(default)]
    pub clock_skew_seconds: i64,
}

/// A gateway of another network, as this one sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteEntry {
    /// Its name in the file.
    pub name: String,
    /// Public key.
    pub public_key: String,
    /// The ranges behind it.
    pub prefixes: Vec<IpNet>,
    /// Whether there is a session with it.
    pub up: bool,
    /// Seconds since the last handshake.
    pub last_handshake_age: Option<f64>,
    /// Where it is.
    pub endpoint: Option<String>,
    /// Bytes received from it.
    pub rx_bytes: u64,
    /// Bytes sent to it.
    pub tx_bytes: u64,
}

/// A lease, and this gateway's view of its peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerEntry {
    /// Public key.
    pub public_key: String,
    /// Its host's name.
    pub host: String,
    /// Its group.
    pub group: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// The ID of its token.
    pub token: String,
    /// The ID of the key that signed its token, if the lease is of a version that stores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The address that it enrolled from: IPv4, or the first of an IPv6 /64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// `live`, or the reason for its end: `expired`, `released`, `evicted`, `revoked`, `max-age`, `untrusted`, `replaced`.
    pub state: String,
    /// Time of enrolment, RFC 3339.
    pub since: String,
    /// Time when the state expires, RFC 3339.
    pub until: String,
    /// Seconds since the last handshake with this gateway.
    pub last_handshake_age: Option<f64>,
    /// Where it is.
    pub endpoint: Option<String>,
    /// `udp` or `tls`.
    pub carrier: Option<String>,
    /// Bytes received from it by this gateway.
    pub rx_bytes: u64,
    /// Bytes sent to it by this gateway.
    pub tx_bytes: u64,
    /// Its current flows.
    pub flows: u64,
    /// The gateway that it uses, as far as its lease says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Round trip to it in seconds, as this gateway measured it last: over TLS by its pings, otherwise by a handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<f64>,
    /// Its flows that no rule allowed, at this gateway.
    #[serde(default)]
    pub denied: u64,
    /// Its transfers, as its agent reports them to this gateway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferEntry>,
}

/// A flow that no rule allows, as often as it was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedFlow {
    /// Time of the last attempt, RFC 3339.
    pub at: String,
    /// The public key of the peer.
    pub public_key: String,
    /// Its group.
    pub group: String,
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// `tcp`, `udp` or `icmp`.
    pub protocol: String,
    /// The destination port, except for ICMP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Why it is denied.
    pub reason: String,
    /// Attempts, or packets where the kernel forwards.
    pub count: u64,
}

/// Something that happened at a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, RFC 3339.
    pub at: String,
    /// What.
    pub what: String,
}

/// The rates of a group, in Mbit/s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRates {
    /// Its name.
    pub name: String,
    /// Of all its peers together.
    pub rate_mbit: Option<u32>,
    /// Of each peer.
    pub peer_rate_mbit: Option<u32>,
}

/// What a gateway reports to the page for operators: its own, and those of the other gateways.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// Its status.
    pub status: GatewayStatus,
    /// Bytes received from peers and sites, as UDP payload.
    pub rx_bytes: u64,
    /// Bytes sent to peers and sites.
    pub tx_bytes: u64,
    /// The rates of groups.
    pub groups: Vec<GroupRates>,
    /// Leases; to other gateways only those of peers that use this one.
    pub peers: Vec<PeerEntry>,
    /// The latest denied flows, the last one first.
    pub denied: Vec<DeniedFlow>,
    /// Whether denied flows are recorded, and counted by pod. If the kernel forwards, that needs an audit file.
    #[serde(default)]
    pub denied_recorded: bool,
    /// The latest events, the last one first.
    pub events: Vec<Event>,
}

impl GatewayStatus {
    /// The reason why it is not ready.
    ///
    /// # Errors
    /// One line.
    pub fn ready(&self) -> Result<(), String> {
        match (self.store, self.draining) {
            _ if self.leases.closed => {
                Err("no peer is served: the lease store has been silent for store_grace\n".into())
            }
            (false, _) => Err("the lease store does not answer\n".into()),
            (_, true) => Err("the gateway is draining\n".into()),
            _ => Ok(()),
        }
    }

    /// The gateway's metrics, in addition to those of the interface.
    pub fn metrics(&self) -> String {
        let mut out = String::new();
        let mut one = |name: &str, kind: &str, help: &str, values: &[(&str, u64)]| {
            _ = writeln!(out, "# HELP warren_gateway_{name} {help}\n# TYPE warren_gateway_{name} {kind}");
            for (label, value) in values {
                _ = writeln!(
                    out,
                    "warren_gateway_{name}{{fabric=\"{}\",gateway=\"{}\"{label}}} {value}",
                    self.fabric, self.name
                );
            }
        };
        let (counters, leases) = (&self.counters, &self.leases);
        one(
            "leases",
            "gauge",
            "Leases by state.",
            &[(",state=\"live\"", leases.live), (",state=\"quarantined\"", leases.quarantined)],
        );
        one(
            "lease_changes_total",
            "counter",
            "Lease changes made by this gateway.",
            &[
                (",change=\"enrolled\"", leases.enrolled),
                (",change=\"renewed\"", leases.renewed),
                (",change=\"ended\"", leases.ended),
            ],
        );
        one(
            "requests_refused_total",
            "counter",
            "Enrolment requests that were refused.",
            &[("", leases.refused)],
        );
        one("store_conflicts_total", "counter", "Lost races with other gateways.", &[("", leases.conflicts)]);
        one(
            "store_unknown_total",
            "counter",
            "Lease changes with an unknown outcome.",
            &[("", leases.unknown)],
        );
        one("store_up", "gauge", "1 while the lease store answers.", &[("", u64::from(self.store))]);
        one(
            "store_closed",
            "gauge",
            "1 while no peer is served because the lease store has been silent for store_grace.",
            &[("", u64::from(leases.closed))],
        );
        one(
            "clock_skew_seconds",
            "gauge",
            "Largest difference between the clocks of this gateway and another.",
            &[("", leases.clock_skew_seconds.unsigned_abs())],
        );
        one("draining", "gauge", "1 while no new peers are accepted.", &[("", u64::from(self.draining))]);
        one("members", "gauge", "Live gateways of the fabric.", &[("", self.gateways.len() as u64)]);
        let kernel = u64::from(self.forward == "kernel");
        one(
            "forwarding",
            "gauge",
            "1 for the forwarding mode in use.",
            &[(",by=\"kernel\"", kernel), (",by=\"user\"", 1 - kernel)],
        );
        let sites: Vec<(String, u64)> =
            self.sites.iter().map(|site| (format!(",site=\"{}\"", site.name), u64::from(site.up))).collect();
        let sites: Vec<(&str, u64)> = sites.iter().map(|(label, up)| (label.as_str(), *up)).collect();
        one("site_up", "gauge", "1 while the link to the site has a session.", &sites);
        one(
            "flows",
            "gauge",
            "Current flows.",
            &[(",protocol=\"tcp\"", counters.tcp_now), (",protocol=\"udp\"", counters.udp_now)],
        );
        let streams: Vec<(String, u64)> =
            counters.streams.iter().map(|(name, now)| (format!(",congestion=\"{name}\""), *now)).collect();
        let streams: Vec<(&str, u64)> = streams.iter().map(|(label, now)| (label.as_str(), *now)).collect();
        one(
            "netstack_streams",
            "gauge",
            "Current TCP connections of the netstack, by congestion control.",
            &streams,
        );
        one(
            "flows_total",
            "counter",
            "Flows since the start.",
            &[
                (",protocol=\"tcp\"", counters.tcp),
                (",protocol=\"udp\"", counters.udp),
                (",protocol=\"icmp\"", counters.echo),
            ],
        );
        one(
            "forwarded_bytes_total",
            "counter",
            "Forwarded bytes; the direction is that of the peer.",
            &[(",direction=\"out\"", counters.bytes_out), (",direction=\"in\"", counters.bytes_in)],
        );
        one(
            "refused_flows_total",
            "counter",
            "Refused flows.",
            &[(",reason=\"denied\"", counters.denied), (",reason=\"failed\"", counters.failed)],
        );
        one(
            "dropped_datagrams_total",
            "counter",
            "Dropped datagrams: above a rate, too large, or over the flow limit.",
            &[("", counters.dropped)],
        );
        one(
            "direct_offers_total",
            "counter",
            "Direct paths offered to pods, each repetition counted; their traffic is in no counter of the gateway.",
            &[("", self.direct_offers)],
        );
        if let Some(dns) = &self.dns {
            one(
                "dns_queries_total",
                "counter",
                "DNS queries of peers, by outcome.",
                &[
                    (",outcome=\"resolved\"", dns.resolved()),
                    (",outcome=\"cached\"", dns.cached),
                    (",outcome=\"failed\"", dns.failed),
                    (",outcome=\"refused\"", dns.refused),
                    (",outcome=\"dropped\"", dns.dropped),
                ],
            );
            one(
                "dns_strange_total",
                "counter",
                "Datagrams from resolvers that match no query.",
                &[("", dns.strange)],
            );
            let resolvers: Vec<(String, u64)> = dns
                .resolvers
                .iter()
                .map(|of| (format!(",resolver=\"{}\"", of.address), u64::from(of.answers)))
                .collect();
            let resolvers: Vec<(&str, u64)> =
                resolvers.iter().map(|(label, up)| (label.as_str(), *up)).collect();
            one("dns_resolver_up", "gauge", "1 if the resolver answered the last query.", &resolvers);
        }
        let outcomes: Vec<(String, u64)> = self
            .credentials
            .iter()
            .flat_map(|of| {
                let all = [
                    ("issued", of.issued),
                    ("kept", of.kept),
                    ("refused", of.refused),
                    ("failed", of.failed),
                    ("limited", of.limited),
                ];
                all.map(|(name, count)| (format!(",cloud=\"{}\",outcome=\"{name}\"", of.cloud), count))
            })
            .collect();
        if !outcomes.is_empty() {
            let outcomes: Vec<(&str, u64)> =
                outcomes.iter().map(|(label, count)| (label.as_str(), *count)).collect();
            let help = "Requests of pods for credentials of clouds.";
            one("credential_requests_total", "counter", help, &outcomes);
        }
        out
    }
}
