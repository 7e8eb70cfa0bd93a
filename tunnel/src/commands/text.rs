//! `status` as text: like `wg show`, with additional information.

use std::{collections::HashMap, fmt::Write as _};

use warren_wire::gateway::{Opening, Protocol};

use crate::runtime::status::{Buffers, Peer, Rate, Services, Status};

/// The text of one interface.
pub(super) fn status(now: &Status, before: Option<&Status>) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &str| _ = writeln!(out, "  {name}: {value}");
    line("public key", now.public_key.as_deref().unwrap_or("(none)"));
    line("listening port", &now.listen_port.to_string());
    if let Some(mark) = now.fwmark {
        line("fwmark", &format!("{mark:#x}"));
    }
    line("backend", &format!("{} ({})", now.backend, now.backend_reason));
    line("mtu", &now.mtu.to_string());
    if !now.addresses.is_empty() {
        line("addresses", &list(&now.addresses));
    }
    for zone in &now.dns_zones {
        line("private names", &format!("{}, resolved by {}", zone.domains.join(", "), list(&zone.servers)));
    }
    if let Some(test) = now.services.as_ref().and_then(|served| served.dns_test.as_ref()) {
        let answer = match (&test.answer, test.works) {
            (_, true) => format!("answered in {} ms", test.milliseconds),
            (Some(answer), false) => format!("failed: the gateway answers `{answer}`"),
            (None, false) => "failed: no answer".to_owned(),
        };
        line("test of names", &format!("{} {answer}", test.domain));
    }
    line("up", &ago(now.at - now.up_since, ""));
    let on: Vec<&str> = now.offloads.iter().filter(|o| o.on).map(|o| o.name.as_str()).collect();
    line("offloads", &if on.is_empty() { "none".to_owned() } else { on.join(", ") });
    for missing in now.offloads.iter().filter(|offload| !offload.on) {
        line("missing offload", &format!("{}: {}", missing.name, missing.why));
    }
    if let Some(sandbox) = &now.sandbox {
        line("sandbox", &sandbox.text());
    }
    if let Some(cipher) = &now.cipher {
        line("cipher", &cipher.text());
    }
    if let Some(tls) = &now.tls {
        line("tls port", &format!("{}, {} connections open, pin {}", tls.address, tls.connections, tls.pin));
        line(
            "tls accepted",
            &format!("{} tunnels, {} failed, {} over the limit", tls.tunnels, tls.failed, tls.limited),
        );
    }
    if let Some(served) = &now.services {
        services(&mut line, served);
    }
    let (rx, tx) = now.bytes();
    let rate = before.and_then(|before| now.rate_since(before));
    line("transfer", &transfer(rx, tx, rate));
    if let Some(mbit) = now.planned_rate_mbit {
        let used = rate.and_then(|rate| now.utilisation(rate));
        let share = used.map_or_else(|| "unknown".to_owned(), |used| format!("{:.1} %", used * 100.0));
        line("utilisation", &format!("{share} of the planned rate of {mbit} Mbit/s"));
    }
    if !now.drops.is_empty() {
        line("dropped", &drops(now.drops.iter()));
    }

    let earlier: HashMap<&str, &Peer> =
        before.iter().flat_map(|b| &b.peers).map(|peer| (peer.public_key.as_str(), peer)).collect();
    let mut peers: Vec<&Peer> = now.peers.iter().collect();
    // As in `wg show`: the most recent handshake first.
    peers.sort_by(|a, b| b.last_handshake.unwrap_or(0.0).total_cmp(&a.last_handshake.unwrap_or(0.0)));
    let seconds = before.map_or(0.0, |before| now.at - before.at);
    for shown in peers {
        let rate = earlier.get(shown.public_key.as_str()).and_then(|e| shown.rate_since(e, seconds));
        peer(&mut out, shown, now.at, rate);
    }
    format!("interface: {}\n{out}", now.interface)
}

fn services(line: &mut impl FnMut(&str, &str), served: &Services) {
    let used = served.streams.iter().filter(|(_, streams)| streams.total > 0);
    let streams: Vec<String> = used
        .map(|(service, streams)| format!("{service} {} open, {} total", streams.open, streams.total))
        .collect();
    line("streams", &if streams.is_empty() { "none yet".to_owned() } else { streams.join("; ") });
    line("proxied", &transfer(served.received_bytes, served.sent_bytes, None));
    if let Some(Buffers { bytes: now, peak_bytes, limit_bytes, .. }) = &served.buffers {
        let usage =
            format!("{} in use, {} at peak, limit {}", bytes(*now), bytes(*peak_bytes), bytes(*limit_bytes));
        line("stream buffers", &usage);
    }
    let mut troubles: Vec<(&str, u64)> =
        served.refused.iter().map(|(reason, n)| (reason.as_str(), *n)).collect();
    troubles.extend([("reset", served.reset), ("idle", served.idle)]);
    troubles.extend([("datagrams dropped", served.datagrams_dropped)]);
    let troubles: Vec<String> =
        troubles.into_iter().filter(|(_, n)| *n > 0).map(|(reason, n)| format!("{n} {reason}")).collect();
    if !troubles.is_empty() {
        line("refused or failed", &troubles.join(", "));
    }
    let dns = served.dns;
    if dns.questions > 0 {
        line(
            "DNS queries",
            &format!("{}, {} answered from the cache, {} unanswered", dns.questions, dns.cached, dns.failed),
        );
    }
}

fn peer(out: &mut String, peer: &Peer, at: f64, rate: Option<Rate>) {
    _ = writeln!(out, "\npeer: {}", peer.public_key);
    let mut line = |name: &str, value: &str| _ = writeln!(out, "  {name}: {value}");
    if peer.preshared_key {
        line("preshared key", "(hidden)");
    }
    match (&peer.endpoint, &peer.endpoint_name) {
        (Some(endpoint), Some(name)) => line("endpoint", &format!("{endpoint} ({name})")),
        (Some(endpoint), None) => line("endpoint", &endpoint.to_string()),
        (None, Some(name)) => line("endpoint", &format!("(not resolved: {name})")),
        (None, None) => {}
    }
    if let Some(carrier) = &peer.carrier {
        let mut text = format!("{} ({})", carrier.kind, carrier.why);
        if let Some(rtt) = carrier.rtt {
            _ = write!(text, ", round-trip time {:.1} ms", rtt * 1e3);
        }
        if let (Some(open), Some(congestion)) = (carrier.open, &carrier.congestion) {
            let plural = if open == 1 { "" } else { "s" };
            _ = write!(text, ", {open} connection{plural} with {congestion}");
        }
        if let Some(connections) = carrier.connections.filter(|n| *n > 0) {
            _ = write!(text, ", connected {connections} times");
        }
        if let Some(dropped) = carrier.dropped.filter(|n| *n > 0) {
            _ = write!(text, ", {dropped} datagrams dropped");
        }
        line("carrier", &text);
        if let Some(endpoint) = &carrier.tls_endpoint {
            line("tls endpoint", endpoint);
        }
    }
    if let Some(direct) = &peer.direct {
        let path = if direct.up { "direct" } else { "through the gateway" };
        line("pod", &format!("{}, {}", direct.name, list(&direct.addresses)));
        let opens: Vec<String> = direct.opens.iter().map(opening).collect();
        line("opens", &if opens.is_empty() { "nothing".to_owned() } else { opens.join(", ") });
        line("path", &format!("{path}; {} flows, came up {} times", direct.flows, direct.ups));
        line("offer ends", &format!("in {} s unless the gateway repeats it", direct.seconds_left));
        if direct.refused > 0 {
            line("refused", &format!("{} packets that no rule allows", direct.refused));
        }
    }
    line(
        "allowed ips",
        &if peer.allowed_ips.is_empty() { "(none)".to_owned() } else { list(&peer.allowed_ips) },
    );
    match peer.last_handshake {
        Some(time) => {
            let mut text = ago(at - time, " ago");
            if let Some(rtt) = peer.handshake_rtt {
                _ = write!(text, ", took {:.1} ms", rtt * 1e3);
            }
            line("latest handshake", &text);
        }
        None if peer.endpoint.is_some() => {
            line(
                "latest handshake",
                "never (it starts with the first packet; `warren-tunnel doctor` checks the path)",
            );
        }
        None => line("latest handshake", "never (the endpoint is not known yet)"),
    }
    if let Some(age) = peer.session_age {
        line("session", &format!("{} old", ago(age, "")));
    }
    if peer.rx_bytes + peer.tx_bytes > 0 {
        line("transfer", &transfer(peer.rx_bytes, peer.tx_bytes, rate));
    }
    if let Some(seconds) = peer.persistent_keepalive.filter(|seconds| *seconds > 0) {
        line("persistent keepalive", &format!("every {}", ago(f64::from(seconds), "")));
    }
    if !peer.drops.is_empty() {
        line("dropped", &drops(peer.drops.iter()));
    }
}

fn opening(of: &Opening) -> String {
    let name = of.protocol.name();
    match (of.protocol, of.first, of.last) {
        (Protocol::Icmp, ..) => name.to_owned(),
        (_, first, last) if first == last => format!("{name} {first}"),
        (_, first, last) => format!("{name} {first}-{last}"),
    }
}

fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn drops<'a>(drops: impl Iterator<Item = (&'a String, &'a u64)>) -> String {
    drops.map(|(reason, n)| format!("{n} {reason}")).collect::<Vec<_>>().join(", ")
}

fn transfer(rx: u64, tx: u64, rate: Option<Rate>) -> String {
    let mut text = format!("{} received, {} sent", bytes(rx), bytes(tx));
    if let Some(rate) = rate {
        _ = write!(text, "; now {} in, {} out", bits(rate.rx), bits(rate.tx));
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "text for people")]
fn bytes(n: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", units[unit])
}

fn bits(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} Gbit/s", n / 1e9),
        n if n >= 1e6 => format!("{:.1} Mbit/s", n / 1e6),
        n if n >= 1e3 => format!("{:.1} kbit/s", n / 1e3),
        n => format!("{n:.0} bit/s"),
    }
}

/// The two largest units, as in `wg show`.
fn ago(seconds: f64, suffix: &str) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let mut left = seconds.clamp(0.0, 1e12) as u64;
    if left == 0 {
        return if suffix.is_empty() { "0 seconds".to_owned() } else { "now".to_owned() };
    }
    let mut parts = Vec::new();
    for (unit, length) in [("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)] {
        let n = left / length;
        left %= length;
        if n > 0 {
            parts.push(format!("{n} {unit}{}", if n == 1 { "" } else { "s" }));
        }
    }
    parts.truncate(2);
    format!("{}{suffix}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::status::tests::sample;

    #[test]
    fn the_text_tells_all() {
        let now = sample();
        let mut before = now.clone();
        before.at -= 1.0;
        before.peers[0].rx_bytes -= 25_000_000;
        insta::assert_snapshot!(status(&now, Some(&before)));
    }

    #[test]
    fn spans_are_as_wg_prints_them() {
        assert_eq!(ago(0.2, " ago"), "now");
        assert_eq!(ago(61.0, " ago"), "1 minute, 1 second ago");
        assert_eq!(ago(90_061.0, ""), "1 day, 1 hour");
    }
}
