//! What matters most where there is no privilege: namespaces of one's own, TLS out, proxies that are set, descriptors.

use std::{
    fs, io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use warren_wire::config::{Config, Host};

use super::Finding;
use crate::net::PrivateNetwork;

/// Where TLS is let out, if anything is.
const TLS_PORT: u16 = 443;
/// For a connection.
const PATIENCE: Duration = Duration::from_secs(3);
/// Gateways that are tried.
const MANY: usize = 3;
/// Streams of a pod take two descriptors each.
const DESCRIPTORS: u64 = 4_096;

/// Whether the kernel's stack can be had in a namespace of one's own: made, and dropped again. Nothing needs it.
pub(super) fn user_namespaces() -> Finding {
    const CHECK: &str = "user namespaces";
    match PrivateNetwork::open() {
        Ok(_) => Finding::ok(
            CHECK,
            "permitted: --device userns would use the kernel's stack in one, when asked for",
        ),
        Err(problem) => {
            let hint = problem.advice().map(|hint| format!(" ({hint})")).unwrap_or_default();
            Finding::ok(CHECK, format!("--device userns is not possible: {}{hint}", problem.what()))
        }
    }
}

/// Who would forward for a gateway: either does, so neither is wrong.
pub(super) fn gateway() -> Finding {
    let (by, why, hint) = crate::gateway::forward::here();
    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    Finding::ok("gateway", format!("one here would forward by {by}: {why}{hint}"))
}

/// Whether connections to port 443 of the gateways get out: what is left where UDP is blocked.
pub(super) fn tls_out(config: Option<&Config>) -> Vec<Finding> {
    const CHECK: &str = "TLS out";
    let endpoints = config.iter().flat_map(|config| &config.peers).filter_map(|peer| peer.endpoint.as_ref());
    let mut findings = Vec::new();
    for endpoint in endpoints.take(MANY) {
        let host = match &endpoint.host {
            Host::Name(name) => name.clone(),
            Host::Ip(address) => address.to_string(),
        };
        findings.push(match connect(&host) {
            Ok(to) => Finding::ok(CHECK, format!("{to} takes connections")),
            Err(error) => Finding::limited(
                CHECK,
                format!("{host} port {TLS_PORT}: {error}"),
                "only a gateway that serves TLS answers there; it matters where UDP is blocked",
            ),
        });
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, "not tried: --config FILE names gateways to try it with"));
    }
    findings
}

fn connect(host: &str) -> io::Result<SocketAddr> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for to in (host, TLS_PORT).to_socket_addrs()? {
        match TcpStream::connect_timeout(&to, PATIENCE) {
            Ok(_) => return Ok(to),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Proxies that programs here use already: the tunnel's datagrams do not, and `exec` puts its own in their place.
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
            "proxies set",
            set.join(", "),
            "the tunnel's own datagrams do not go through them, and `exec` sets others for its program: does this network let \
             anything else out?",
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

/// How many descriptors this process may have.
pub(super) fn descriptors() -> Finding {
    const CHECK: &str = "descriptors";
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    match most_descriptors(&limits) {
        Some(most) if most < DESCRIPTORS => Finding::limited(
            CHECK,
            format!("at most {most}"),
            "each stream through a proxy takes one or two: raise `ulimit -Hn`",
        ),
        Some(most) => Finding::ok(CHECK, format!("up to {most}")),
        None => Finding::ok(CHECK, "without limit, or unknown"),
    }
}

/// The hard limit: the soft one is raised to it by itself.
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
