//! The text of a scrape. Pure.

use std::fmt::{Display, Write as _};

use crate::runtime::status::{Peer, Rate, Services, Status};

/// A gauge or counter of a peer: name, kind, help, value.
type PerPeer = (&'static str, &'static str, &'static str, fn(&Peer, &Status) -> Option<f64>);

#[expect(clippy::cast_precision_loss, reason = "Prometheus' numbers are doubles")]
const PER_PEER: [PerPeer; 16] = [
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
        "Seconds since the last handshake; absent before the first.",
        |p, s| p.last_handshake.map(|time| (s.at - time).max(0.0)),
    ),
    (
        "peer_handshake_rtt_seconds",
        "gauge",
        "Round-trip time of the last handshake started by this end; absent before the first.",
        |p, _| p.handshake_rtt,
    ),
    (
        "peer_persistent_keepalive_seconds",
        "gauge",
        "PersistentKeepalive interval; absent if not configured.",
        |p, _| p.persistent_keepalive.filter(|s| *s > 0).map(f64::from),
    ),
    (
        "peer_on_tls",
        "gauge",
        "1 while the peer is reached over TLS, 0 over UDP; absent if the peer has only UDP.",
        |p, _| p.carrier.as_ref().map(|carrier| f64::from(u8::from(carrier.kind == "tls"))),
    ),
    (
        "peer_tls_rtt_seconds",
        "gauge",
        "Shortest round-trip time of the TLS connections in use; absent on UDP.",
        |p, _| p.carrier.as_ref()?.rtt,
    ),
    ("peer_tls_connections", "gauge", "Open TLS connections to the peer; absent on UDP.", |p, _| {
        p.carrier.as_ref()?.open.map(|n| n as f64)
    }),
    (
        "peer_direct",
        "gauge",
        "1 while packets take the direct path to the pod, 0 while they pass the gateway; absent for other peers.",
        |p, _| p.direct.as_ref().map(|direct| f64::from(u8::from(direct.up))),
    ),
    ("peer_direct_ups_total", "counter", "How often the direct path to the pod came up.", |p, _| {
        p.direct.as_ref().map(|direct| direct.ups as f64)
    }),
    ("peer_direct_refused_total", "counter", "Packets of the direct path that no rule allowed.", |p, _| {
        p.direct.as_ref().map(|direct| direct.refused as f64)
    }),
    ("peer_tls_connects_total", "counter", "TLS connections established to the peer.", |p, _| {
        p.carrier.as_ref()?.connections.map(|n| n as f64)
    }),
    (
        "peer_tls_drops",
        "gauge",
        "Datagrams dropped by the TLS connections in use because of congestion.",
        |p, _| p.carrier.as_ref()?.dropped.map(|n| n as f64),
    ),
];

/// Renders all metrics of one interface. `rate` is the rate since the last scrape.
pub fn render(status: &Status, rate: Option<Rate>) -> String {
    let mut text = Text(String::with_capacity(4096 + status.peers.len() * 1200));
    let interface = status.interface.as_str();
    let name = [("interface", interface)];

    text.head("build_info", "gauge", "Version and backend; always 1.");
    text.line("build_info", &[name[0], ("version", &status.version), ("backend", &status.backend)], 1);
    text.head(
        "start_time_seconds",
        "gauge",
        "Time when the interface came up, in seconds since the Unix epoch.",
    );
    text.line("start_time_seconds", &name, status.up_since);
    text.head("mtu_bytes", "gauge", "MTU inside the tunnel.");
    text.line("mtu_bytes", &name, status.mtu);
    text.head("peers", "gauge", "Number of configured peers.");
    text.line("peers", &name, status.peers.len());
    let (rx, tx) = status.bytes();
    text.head(
        "receive_bytes_total",
        "counter",
        "Bytes of UDP payload received from all peers, including removed ones.",
    );
    text.line("receive_bytes_total", &name, rx);
    text.head(
        "transmit_bytes_total",
        "counter",
        "Bytes of UDP payload sent to all peers, including removed ones.",
    );
    text.line("transmit_bytes_total", &name, tx);
    if let Some(mbit) = status.planned_rate_mbit {
        text.head("planned_rate_bits_per_second", "gauge", "Planned rate of this link.");
        text.line("planned_rate_bits_per_second", &name, u64::from(mbit) * 1_000_000);
        if let Some(used) = rate.and_then(|rate| status.utilisation(rate)) {
            text.head(
                "utilisation_ratio",
                "gauge",
                "Share of the planned rate used since the last scrape in the busier direction; 1 is all of it.",
            );
            text.line("utilisation_ratio", &name, used);
        }
    }
    if !status.offloads.is_empty() {
        text.head("offload_enabled", "gauge", "1 if the offload is in use, else 0.");
        for offload in &status.offloads {
            text.line("offload_enabled", &[name[0], ("offload", &offload.name)], u8::from(offload.on));
        }
    }
    if !status.drops.is_empty() {
        text.head("drops_total", "counter", "Packets dropped without belonging to a peer, by reason.");
        for (reason, n) in &status.drops {
            text.line("drops_total", &[name[0], ("reason", reason)], n);
        }
    }
    if let Some(sandbox) = &status.sandbox {
        text.head("sandbox_landlock_abi", "gauge", "Version of Landlock's ABI in force; 0 if none is.");
        text.line("sandbox_landlock_abi", &name, sandbox.landlock_abi);
        text.head("sandbox_seccomp", "gauge", "1 while system calls are filtered.");
        text.line("sandbox_seccomp", &name, u8::from(sandbox.seccomp));
        text.head("sandbox_capabilities", "gauge", "Number of capabilities of the process.");
        text.line("sandbox_capabilities", &name, sandbox.capabilities.len());
    }
    if let Some(cipher) = &status.cipher {
        text.head("cipher_info", "gauge", "1, with the code that seals and opens data messages as a label.");
        text.line("cipher_info", &[name[0], ("cipher", &cipher.name)], 1);
    }
    if let Some(tls) = &status.tls {
        text.head("tls_connections", "gauge", "Open tunnels on the TLS port.");
        text.line("tls_connections", &name, tls.connections);
        text.head("tls_accepted_total", "counter", "Connections accepted on the TLS port, by outcome.");
        for (outcome, n) in [("tunnel", tls.tunnels), ("failed", tls.failed), ("limited", tls.limited)] {
            text.line("tls_accepted_total", &[name[0], ("outcome", outcome)], n);
        }
        text.head(
            "tls_refused_total",
            "counter",
            "TLS connections refused, or ended before a known peer used them, by reason.",
        );
        for (reason, n) in &tls.refused {
            text.line("tls_refused_total", &[name[0], ("reason", reason)], n);
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
    text.head("proxy_streams", "gauge", "Open streams and UDP sessions, by service.");
    for (service, streams) in &served.streams {
        text.line("proxy_streams", &[name[0], ("service", service)], streams.open);
    }
    text.head("proxy_streams_total", "counter", "Streams and UDP sessions served, by service.");
    for (service, streams) in &served.streams {
        text.line("proxy_streams_total", &[name[0], ("service", service)], streams.total);
    }
    text.head("proxy_refused_total", "counter", "Requests refused or failed, by reason.");
    for (reason, n) in &served.refused {
        text.line("proxy_refused_total", &[name[0], ("reason", reason)], n);
    }
    text.head("proxy_broken_total", "counter", "Streams that ended abnormally, by reason.");
    for (reason, n) in [("reset", served.reset), ("idle", served.idle)] {
        text.line("proxy_broken_total", &[name[0], ("reason", reason)], n);
    }
    let dns = &served.dns;
    for (metric, kind, help, value) in [
        (
            "proxy_sent_bytes_total",
            "counter",
            "Payload bytes sent from clients to targets.",
            served.sent_bytes,
        ),
        (
            "proxy_received_bytes_total",
            "counter",
            "Payload bytes sent from targets to clients.",
            served.received_bytes,
        ),
        (
            "proxy_datagrams_dropped_total",
            "counter",
            "UDP datagrams dropped by the proxies.",
            served.datagrams_dropped,
        ),
        ("dns_questions_total", "counter", "DNS queries received.", dns.questions),
        ("dns_cached_total", "counter", "DNS queries answered from the cache.", dns.cached),
        ("dns_failed_total", "counter", "DNS queries that no server answered in time.", dns.failed),
        (
            "dns_strange_total",
            "counter",
            "Datagrams from name servers that do not match a query.",
            dns.strange,
        ),
    ] {
        text.head(metric, kind, help);
        text.line(metric, &name, value);
    }
    let Some(buffers) = &served.buffers else { return };
    for (metric, help, value) in [
        ("netstack_buffer_bytes", "Memory used by the buffers of all streams.", buffers.bytes),
        (
            "netstack_buffer_peak_bytes",
            "Highest memory use of the buffers of all streams.",
            buffers.peak_bytes,
        ),
        (
            "netstack_buffer_limit_bytes",
            "Limit of the memory for the buffers of all streams.",
            buffers.limit_bytes,
        ),
    ] {
        text.head(metric, "gauge", help);
        text.line(metric, &name, value);
    }
    text.head("netstack_streams", "gauge", "Current TCP connections of the netstack, by congestion control.");
    for (congestion, streams) in &buffers.streams {
        text.line("netstack_streams", &[name[0], ("congestion", congestion)], streams);
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
        text.head("peer_drops_total", "counter", "Packets of the peer dropped, by reason.");
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

    /// Labels are interface names, keys and our own constants, so they need no escaping.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        _ = write!(self.0, "warren_tunnel_{name}");
        for (index, (label, text)) in labels.iter().enumerate() {
            _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        _ = writeln!(self.0, "}} {value}");
    }
}
