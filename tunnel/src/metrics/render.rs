//! The text of a scrape. Pure.

use std::fmt::{Display, Write as _};

use crate::status::{Peer, Rate, Services, Status};

/// A gauge or counter of a peer: name, kind, help, value.
type PerPeer = (&'static str, &'static str, &'static str, fn(&Peer, &Status) -> Option<f64>);

#[expect(clippy::cast_precision_loss, reason = "Prometheus' numbers are doubles")]
const PER_PEER: [PerPeer; 12] = [
    ("peer_receive_bytes_total", "counter", "Bytes of UDP payload received from the peer.", |p, _| {
        Some(p.rx_bytes as f64)
    }),
    ("peer_transmit_bytes_total", "counter", "Bytes of UDP payload sent to the peer.", |p, _| {
        Some(p.tx_bytes as f64)
    }),
    ("peer_receive_packets_total", "counter", "Data packets received from the peer.", |p, _| {
        p.rx_packets.map(|n| n as f64)
    }),
    ("peer_transmit_packets_total", "counter", "Data packets sent to the peer.", |p, _| {
        p.tx_packets.map(|n| n as f64)
    }),
    ("peer_handshakes_total", "counter", "Handshakes completed with the peer.", |p, _| {
        p.handshakes.map(|n| n as f64)
    }),
    (
        "peer_last_handshake_age_seconds",
        "gauge",
        "Time since the last handshake; absent before the first.",
        |p, s| p.last_handshake.map(|time| (s.at - time).max(0.0)),
    ),
    (
        "peer_handshake_rtt_seconds",
        "gauge",
        "Round trip of the last handshake that was started here; absent before the first.",
        |p, _| p.handshake_rtt,
    ),
    (
        "peer_persistent_keepalive_seconds",
        "gauge",
        "Configured interval of keepalives; absent without.",
        |p, _| p.persistent_keepalive.filter(|s| *s > 0).map(f64::from),
    ),
    (
        "peer_on_tls",
        "gauge",
        "1 if the peer is reached by TLS, 0 by UDP; absent without a second way.",
        |p, _| p.carrier.as_ref().map(|carrier| f64::from(u8::from(carrier.kind == "tls"))),
    ),
    ("peer_tls_rtt_seconds", "gauge", "Round trip by TLS; absent while on UDP.", |p, _| {
        p.carrier.as_ref()?.rtt
    }),
    ("peer_tls_connects_total", "counter", "TLS connections made to the peer.", |p, _| {
        p.carrier.as_ref()?.connections.map(|n| n as f64)
    }),
    (
        "peer_tls_drops",
        "gauge",
        "Datagrams that the TLS connection in use dropped because it was congested.",
        |p, _| p.carrier.as_ref()?.dropped.map(|n| n as f64),
    ),
];

/// All metrics of one interface. `rate` is that since the last scrape.
pub fn render(status: &Status, rate: Option<Rate>) -> String {
    let mut text = Text(String::with_capacity(4096 + status.peers.len() * 1200));
    let interface = status.interface.as_str();
    let name = [("interface", interface)];

    text.head("build_info", "gauge", "Version and backend; always 1.");
    text.line("build_info", &[name[0], ("version", &status.version), ("backend", &status.backend)], 1);
    text.head("start_time_seconds", "gauge", "When the interface came up, since the UNIX epoch.");
    text.line("start_time_seconds", &name, status.up_since);
    text.head("mtu_bytes", "gauge", "Largest packet inside the tunnel.");
    text.line("mtu_bytes", &name, status.mtu);
    text.head("peers", "gauge", "Configured peers.");
    text.line("peers", &name, status.peers.len());
    let (rx, tx) = status.bytes();
    text.head("receive_bytes_total", "counter", "Bytes of UDP payload received from all peers.");
    text.line("receive_bytes_total", &name, rx);
    text.head("transmit_bytes_total", "counter", "Bytes of UDP payload sent to all peers.");
    text.line("transmit_bytes_total", &name, tx);
    if let Some(mbit) = status.planned_rate_mbit {
        text.head("planned_rate_bits_per_second", "gauge", "Rate that was planned for this link.");
        text.line("planned_rate_bits_per_second", &name, u64::from(mbit) * 1_000_000);
        if let Some(used) = rate.and_then(|rate| status.utilisation(rate)) {
            text.head(
                "utilisation_ratio",
                "gauge",
                "Share of the planned rate in use since the last scrape, of the busier direction; 1 is all.",
            );
            text.line("utilisation_ratio", &name, used);
        }
    }
    if !status.offloads.is_empty() {
        text.head("offload_enabled", "gauge", "1 if the offload is in use.");
        for offload in &status.offloads {
            text.line("offload_enabled", &[name[0], ("offload", &offload.name)], u8::from(offload.on));
        }
    }
    if !status.drops.is_empty() {
        text.head("drops_total", "counter", "Dropped packets that belong to no peer, by reason.");
        for (reason, n) in &status.drops {
            text.line("drops_total", &[name[0], ("reason", reason)], n);
        }
    }
    if let Some(tls) = &status.tls {
        text.head("tls_connections", "gauge", "Tunnels open on the TLS port.");
        text.line("tls_connections", &name, tls.connections);
        text.head("tls_accepted_total", "counter", "Connections to the TLS port, by what became of them.");
        for (outcome, n) in [("tunnel", tls.tunnels), ("failed", tls.failed), ("limited", tls.limited)] {
            text.line("tls_accepted_total", &[name[0], ("outcome", outcome)], n);
        }
    }
    if let Some(served) = &status.services {
        services(&mut text, interface, served);
    }
    peers(&mut text, status);
    text.0
}

fn services(text: &mut Text, interface: &str, served: &Services) {
    let name = [("interface", interface)];
    text.head("proxy_streams", "gauge", "Streams and UDP sessions open, by service.");
    for (service, streams) in &served.streams {
        text.line("proxy_streams", &[name[0], ("service", service)], streams.open);
    }
    text.head("proxy_streams_total", "counter", "Streams and UDP sessions served, by service.");
    for (service, streams) in &served.streams {
        text.line("proxy_streams_total", &[name[0], ("service", service)], streams.total);
    }
    text.head("proxy_refused_total", "counter", "Clients that were not served, by reason.");
    for (reason, n) in &served.refused {
        text.line("proxy_refused_total", &[name[0], ("reason", reason)], n);
    }
    text.head("proxy_broken_total", "counter", "Streams that did not end in order, by reason.");
    for (reason, n) in [("reset", served.reset), ("idle", served.idle)] {
        text.line("proxy_broken_total", &[name[0], ("reason", reason)], n);
    }
    let dns = &served.dns;
    for (metric, kind, help, value) in [
        ("proxy_sent_bytes_total", "counter", "Payload from clients to their targets.", served.sent_bytes),
        ("proxy_received_bytes_total", "counter", "Payload from targets to clients.", served.received_bytes),
        ("proxy_datagrams_dropped_total", "counter", "Datagrams not passed on.", served.datagrams_dropped),
        ("dns_questions_total", "counter", "Questions for names.", dns.questions),
        ("dns_cached_total", "counter", "Of the questions those answered from the cache.", dns.cached),
        ("dns_failed_total", "counter", "Of the questions those answered by no server in time.", dns.failed),
        ("dns_strange_total", "counter", "Datagrams that came in place of an answer.", dns.strange),
    ] {
        text.head(metric, kind, help);
        text.line(metric, &name, value);
    }
    let Some(buffers) = &served.buffers else { return };
    for (metric, help, value) in [
        ("netstack_buffer_bytes", "Bytes in the buffers of all streams.", buffers.bytes),
        ("netstack_buffer_peak_bytes", "The most that these ever were.", buffers.peak_bytes),
        ("netstack_buffer_limit_bytes", "The most that they may be.", buffers.limit_bytes),
    ] {
        text.head(metric, "gauge", help);
        text.line(metric, &name, value);
    }
}

fn peers(text: &mut Text, status: &Status) {
    if status.peers.is_empty() {
        return;
    }
    let labels: Vec<String> = status
        .peers
        .iter()
        .map(|peer| format!("{{interface=\"{}\",public_key=\"{}\"}}", status.interface, peer.public_key))
        .collect();
    for (metric, kind, help, value) in PER_PEER {
        text.head(metric, kind, help);
        for (peer, labels) in status.peers.iter().zip(&labels) {
            if let Some(value) = value(peer, status) {
                _ = writeln!(text.0, "warren_tunnel_{metric}{labels} {value}");
            }
        }
    }
    if status.peers.iter().any(|peer| !peer.drops.is_empty()) {
        text.head("peer_drops_total", "counter", "Dropped packets of the peer, by reason.");
        for peer in &status.peers {
            for (reason, n) in &peer.drops {
                let labels = [
                    ("interface", status.interface.as_str()),
                    ("public_key", &peer.public_key),
                    ("reason", reason),
                ];
                text.line("peer_drops_total", &labels, n);
            }
        }
    }
}

struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        _ = write!(self.0, "# HELP warren_tunnel_{name} {help}\n# TYPE warren_tunnel_{name} {kind}\n");
    }

    /// Labels are interface names, keys and words of ours: nothing in them needs escaping.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        _ = write!(self.0, "warren_tunnel_{name}");
        for (index, (label, text)) in labels.iter().enumerate() {
            _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        _ = writeln!(self.0, "}} {value}");
    }
}
