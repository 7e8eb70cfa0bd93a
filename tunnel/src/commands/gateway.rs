//! `gateway`: runs a gateway, or sends a request to a running one.

use std::fmt::Write as _;

use super::print;
use crate::enrolment::now;
use crate::gateway::admin::{AdminRequest, AdminResponse, client};
use crate::gateway::model::{DnsStatus, GatewayStatus, PeerEntry};
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::{
    cli::{AdminArgs, GatewayArgs, GatewayCommand},
    runtime::log::LogFormat,
};
use crate::{gateway, runtime::log};

/// Runs a gateway, or sends a request to a running one.
///
/// # Errors
/// When the gateway cannot start, or the request fails.
pub fn gateway(args: &GatewayArgs) -> Result<()> {
    match &args.command {
        None => {
            log::start(args.log_format, &args.log_level)?;
            gateway::run(&args.config, args.metrics, args.sandbox, args.cipher, args.queues).inspect_err(
                |problem| {
                    if args.log_format == LogFormat::Json {
                        tracing::error!(hint = problem.advice(), "{}", problem.what());
                    }
                },
            )
        }
        Some(GatewayCommand::Check { file }) => {
            print(&gateway::check(file.as_ref().unwrap_or(&args.config))?)
        }
        Some(GatewayCommand::Status(admin)) => request(admin, &AdminRequest::Status),
        Some(GatewayCommand::Peers(admin)) => request(admin, &AdminRequest::Peers),
        Some(GatewayCommand::Evict { key, token, time, admin }) => {
            let until = now().plus(time.get());
            match (key, token) {
                (Some(key), _) => request(admin, &AdminRequest::Evict { key: *key, until }),
                (None, Some(token)) => request(admin, &AdminRequest::EvictToken { token: *token, until }),
                (None, None) => Err(neither()),
            }
        }
        Some(GatewayCommand::Readmit { key, token, admin }) => match (key, token) {
            (Some(key), _) => request(admin, &AdminRequest::Readmit { key: *key }),
            (None, Some(token)) => request(admin, &AdminRequest::ReadmitToken { token: *token }),
            (None, None) => Err(neither()),
        },
        Some(GatewayCommand::Drain { undo, stay, admin }) => {
            request(admin, &AdminRequest::Drain { draining: !undo, stay: *stay })
        }
        Some(GatewayCommand::Reload(admin)) => request(admin, &AdminRequest::Reload),
        Some(GatewayCommand::Identity { key, certificate }) => {
            let (key, pin) = gateway::identity(key, certificate)?;
            print(&format!(
                "[[gateways]]\nname = \"gw-a\"                      # name of the gateway\nkey = \"{key}\"\n\
                 udp = \"gw-a.example.com:51820\"     # address for pods\ntls = \"gw-a.example.com:443\"\npins = [\"{pin}\"]\n"
            ))
        }
    }
}

fn neither() -> Problem {
    Problem::new("neither a key nor a token is given").hint("pass a public key, or --token ID")
}

/// Sends a request and prints the answer.
pub(super) fn request(args: &AdminArgs, request: &AdminRequest) -> Result<()> {
    let response = client::send(args.socket.as_deref(), request)?;
    if args.json {
        let text = match &response {
            AdminResponse::Status(status) => serde_json::to_string_pretty(status),
            AdminResponse::Peers(peers) => serde_json::to_string_pretty(peers),
            AdminResponse::Done(_) | AdminResponse::Problem { .. } => serde_json::to_string_pretty(&response),
        };
        return print(&(text.while_doing(|| "cannot encode JSON".into())? + "\n"));
    }
    print(&match response {
        AdminResponse::Status(status) => status_text(&status),
        AdminResponse::Peers(peers) => peers_text(&peers),
        AdminResponse::Done(done) => done + "\n",
        AdminResponse::Problem { what, .. } => what + "\n",
    })
}

fn status_text(status: &GatewayStatus) -> String {
    let (leases, counters) = (&status.leases, &status.counters);
    let mut out = format!("gateway: {} of fabric {}\n", status.name, status.fabric);
    if let Some(key) = &status.interface.public_key {
        _ = writeln!(out, "  public key: {key}");
    }
    _ = writeln!(out, "  UDP port: {}", status.interface.listen_port);
    if let Some(tls) = &status.interface.tls {
        _ = writeln!(out, "  TLS: {}, pin {}, {} tunnels", tls.address, tls.pin, tls.connections);
    }
    if let Some(mbit) = status.interface.planned_rate_mbit {
        _ = writeln!(out, "  planned rate: {mbit} Mbit/s");
    }
    _ = writeln!(out, "  new peers: {}", if status.draining { "refused (draining)" } else { "accepted" });
    _ = writeln!(out, "  store: {}", if status.store { "available" } else { "not available" });
    if !status.gateways.is_empty() {
        _ = writeln!(out, "  gateways alive: {}", status.gateways.join(", "));
    }
    for site in &status.sites {
        let prefixes: Vec<String> = site.prefixes.iter().map(ToString::to_string).collect();
        let age = site.last_handshake_age.map_or("never".to_owned(), |age| format!("{age:.0} s ago"));
        _ = writeln!(
            out,
            "  site {}: {}, last handshake {age}, endpoint {}; {} bytes received, {} sent; {}",
            site.name,
            if site.up { "up" } else { "down" },
            site.endpoint.as_deref().unwrap_or("unknown"),
            site.rx_bytes,
            site.tx_bytes,
            prefixes.join(", ")
        );
    }
    if let Some(dns) = &status.dns {
        dns_text(&mut out, dns);
    }
    if let Some(sandbox) = &status.interface.sandbox {
        _ = writeln!(out, "  sandbox: {}", sandbox.text());
    }
    if let Some(cipher) = &status.interface.cipher {
        _ = writeln!(out, "  cipher: {}", cipher.text());
    }
    _ = writeln!(
        out,
        "  leases: {} live, {} in quarantine; {} enrolled, {} renewed, {} ended, {} refused",
        leases.live, leases.quarantined, leases.enrolled, leases.renewed, leases.ended, leases.refused
    );
    _ = writeln!(
        out,
        "  forwarding: {}, {}\n  flows: {} TCP, {} UDP; {} bytes out, {} in; denied {}, failed {}, dropped {}",
        status.forward,
        status.forward_reason,
        counters.tcp_now,
        counters.udp_now,
        counters.bytes_out,
        counters.bytes_in,
        counters.denied,
        counters.failed,
        counters.dropped
    );
    out
}

fn dns_text(out: &mut String, dns: &DnsStatus) {
    let list = |addresses: &[std::net::IpAddr]| {
        addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    _ = writeln!(
        out,
        "  DNS: at {}; {} queries, {} answered from the cache, {} failed, {} refused, {} dropped",
        list(&dns.addresses),
        dns.queries,
        dns.cached,
        dns.failed,
        dns.refused,
        dns.dropped
    );
    for zone in &dns.zones {
        _ = writeln!(out, "    {}: from {}", zone.domains.join(", "), list(&zone.resolvers));
    }
    let silent: Vec<_> = dns.resolvers.iter().filter(|of| !of.answers).map(|of| of.address).collect();
    if !silent.is_empty() {
        _ = writeln!(out, "    resolvers that do not answer: {}", list(&silent));
    }
}

fn peers_text(peers: &[PeerEntry]) -> String {
    let mut out = format!("{} leases\n", peers.len());
    for peer in peers {
        let addresses: Vec<String> = peer.addresses.iter().map(ToString::to_string).collect();
        let host = if peer.host.is_empty() { "-" } else { &peer.host };
        _ = writeln!(out, "{} {} {} {}", addresses.join(","), peer.state, peer.group, host);
        _ = writeln!(out, "  key {}, token {}", peer.public_key, peer.token);
        _ = writeln!(out, "  enrolled {}, expires {}", peer.since, peer.until);
        if let Some(age) = peer.last_handshake_age {
            let at = peer.endpoint.as_deref().unwrap_or("-");
            let by = peer.carrier.as_deref().unwrap_or("-");
            _ = writeln!(
                out,
                "  last handshake {age:.0} s ago from {at} by {by}; {} bytes received, {} sent, {} flows",
                peer.rx_bytes, peer.tx_bytes, peer.flows
            );
        }
    }
    out
}
