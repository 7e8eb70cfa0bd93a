//! Checks that matter most without privileges: user namespaces, outbound TLS, proxy variables, file descriptors.

use std::{
    fs, io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use warren_wire::config::{Config, Host};

use super::Finding;
use crate::runtime::{cipher, net::PrivateNetwork, sandbox};

/// The port on which networks usually permit TLS.
const TLS_PORT: u16 = 443;
/// Timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Number of gateways that are tried.
const MAX_TRIED: usize = 3;
/// Fewer descriptors are reported as a limitation: each stream needs up to two.
const DESCRIPTORS: u64 = 4_096;

/// Whether `--device userns` would work, by creating a namespace and dropping it. Nothing else needs it.
pub(super) fn user_namespaces() -> Finding {
    const CHECK: &str = "user namespaces";
    match PrivateNetwork::open() {
        Ok(_) => Finding::ok(CHECK, "permitted: --device userns is available"),
        Err(problem) => {
            let hint = problem.advice().map(|hint| format!(" ({hint})")).unwrap_or_default();
            Finding::ok(
                CHECK,
                format!("not permitted: --device userns is not available: {}{hint}", problem.what()),
            )
        }
    }
}

/// What an agent or gateway could confine itself with. It works without, so none is no limitation.
pub(super) fn sandbox() -> Finding {
    const CHECK: &str = "sandbox";
    let (landlock, seccomp) = match sandbox::offered() {
        Ok(offered) => offered,
        Err(error) => return Finding::ok(CHECK, format!("not tested: {error}")),
    };
    let landlock = match landlock {
        Ok(abi) => format!("Landlock is available (ABI {abi})"),
        Err(why) => format!("Landlock is not available: {why}"),
    };
    let seccomp = match seccomp {
        Ok(()) => "seccomp is available".to_owned(),
        Err(why) => format!("seccomp is not available: {why}"),
    };
    Finding::ok(CHECK, format!("{landlock}; {seccomp}"))
}

/// What would encrypt packets. Both are fine.
pub(super) fn cipher() -> Finding {
    Finding::ok("cipher", format!("would use {}", cipher::preview().text()))
}

/// How a gateway on this machine would forward. Both modes are fine.
pub(super) fn gateway() -> Finding {
    let (by, why, hint) = crate::gateway::forward::preview();
    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    Finding::ok("gateway", format!("would use forwarding mode `{by}`: {why}{hint}"))
}

/// Whether the gateways can be reached on TCP port 443, the fallback where UDP is blocked.
pub(super) fn tls_out(config: Option<&Config>) -> Vec<Finding> {
    const CHECK: &str = "outbound TLS";
    let endpoints = config.iter().flat_map(|config| &config.peers).filter_map(|peer| peer.endpoint.as_ref());
    let mut findings = Vec::new();
    for endpoint in endpoints.take(MAX_TRIED) {
        let host = match &endpoint.host {
            Host::Name(name) => name.clone(),
            Host::Ip(address) => address.to_string(),
        };
        findings.push(match connect(&host) {
            Ok(to) => Finding::ok(CHECK, format!("{to} accepts connections")),
            Err(error) => Finding::limited(
                CHECK,
                format!("cannot connect to {host} port {TLS_PORT}: {error}"),
                "ignore this unless UDP is blocked and the peer is a gateway that serves TLS on this port",
            ),
        });
    }
    if findings.is_empty() {
        findings
            .push(Finding::ok(CHECK, "not tested: pass --config FILE to test the peers of a configuration"));
    }
    findings
}

fn connect(host: &str) -> io::Result<SocketAddr> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for to in (host, TLS_PORT).to_socket_addrs()? {
        match TcpStream::connect_timeout(&to, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(to),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Proxy variables that are already set: the tunnel's datagrams do not use these proxies, and `exec` replaces the variables.
pub(super) fn proxies(get: impl Fn(&str) -> Option<String>) -> Option<Finding> {
    const NAMES: [&str; 6] =
        ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let set: Vec<String> = NAMES
        .iter()
        .filter_map(|name| Some((name, get(name).filter(|value| !value.is_empty())?)))
        .map(|(name, value)| format!("{name}={}", without_user(&value)))
        .collect();
    (!set.is_empty()).then(|| {
        Finding::limited(
            "proxy variables",
            set.join(", "),
            "check that the network permits connections without these proxies: UDP does not use them, and `exec` sets its own for \
             its command",
        )
    })
}

/// A URL without user and password.
fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    // Everything up to the last @ of the authority may be secret.
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

/// The limit of file descriptors.
pub(super) fn descriptors() -> Finding {
    const CHECK: &str = "descriptors";
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    match most_descriptors(&limits) {
        Some(most) if most < DESCRIPTORS => Finding::limited(
            CHECK,
            format!("limited to {most}"),
            "raise the limit (`ulimit -Hn`): each stream through a proxy needs one or two",
        ),
        Some(most) => Finding::ok(CHECK, format!("up to {most}")),
        None => Finding::ok(CHECK, "no known limit"),
    }
}

/// The hard limit; the agent raises the soft limit to it.
fn most_descriptors(limits: &str) -> Option<u64> {
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_told_without_their_passwords() {
        let set = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://ada:p@ss@proxy.example:3128/".to_owned()),
            "all_proxy" => Some("ada:secret@10.0.0.1:1080".to_owned()),
            "HTTP_PROXY" => Some(String::new()),
            _ => None,
        };
        let finding = proxies(set).unwrap();
        assert_eq!(finding.seen, "HTTPS_PROXY=http://proxy.example:3128/, all_proxy=10.0.0.1:1080");
        assert_eq!(proxies(|_| None), None);
    }

    #[test]
    fn the_hard_limit_counts() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 524288               files     \n";
        assert_eq!(most_descriptors(text), Some(524_288));
        assert_eq!(most_descriptors(&text.replace("524288", "unlimited")), None);
    }
}
