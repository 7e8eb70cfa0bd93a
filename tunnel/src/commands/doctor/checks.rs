//! The checks. Interfaces that they create are removed at once.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use warren_device::{
    kernel::{self, Kernel},
    tun::Tun,
};
use warren_transport::udp::Udp;
use warren_wire::config::{Config, Host};

use super::{Finding, Outcome, Report, pod};
use crate::runtime::{
    datapath::Clock,
    host::capabilities,
    net::{self, Netlink},
};

/// Name of a temporary interface. It contains the process ID, so that two runs do not conflict.
fn probe_name() -> String {
    format!("wprobe{}", std::process::id() % 100_000)
}

/// The check that never explains a silent peer.
pub(super) const PRIVILEGES: &str = "privileges";

/// Start of 2026: the program is newer, so an earlier time is wrong.
const CLOCK_FLOOR: Duration = Duration::from_secs(1_767_225_600);

/// Peers of a configuration that are checked: further ones share the same paths.
const MANY: usize = 20;

/// Runs all checks.
pub(super) fn examine(config: Option<&Config>) -> Report {
    let mut findings = Vec::new();
    let permitted = capabilities::may_configure_network();
    findings.push(if permitted {
        Finding::ok(PRIVILEGES, "CAP_NET_ADMIN is granted")
    } else {
        Finding::limited(
            PRIVILEGES,
            "CAP_NET_ADMIN is missing: the tunnel has no interface, and programs use its proxies",
            format!("to get an interface, {}", container_or("run as root", "--cap-add NET_ADMIN")),
        )
    });
    let tun = tun_device(&mut findings);
    findings.push(pod::user_namespaces());
    findings.push(pod::sandbox());
    findings.push(pod::cipher());
    let in_kernel = kernel_wireguard(&mut findings, permitted);
    if permitted && tun {
        findings.push(tun_offloads());
    }
    findings.extend(udp());
    findings.push(udp_out());
    findings.extend(pod::tls_out(config));
    findings.extend(pod::proxies(|name| std::env::var(name).ok()));
    findings.push(pod::descriptors());
    findings.push(pod::gateway());
    findings.extend(mtu(config));
    findings.push(clock(Clock.now().wall));
    let can_send = findings.iter().all(|finding| finding.check != "UDP" || finding.outcome == Outcome::Ok);
    let (backend, because) = choice(permitted, in_kernel, tun, can_send);
    findings.extend(dns(config, backend == Some("user")));
    findings.extend(reverse_path());

    // Problems of backends that are not used do not matter.
    let unused: &[&str] = match backend {
        Some("kernel") => &["TUN device"],
        Some("user") => &["TUN device", "kernel WireGuard", "reverse path"],
        _ => &[],
    };
    findings.retain(|finding| finding.outcome == Outcome::Ok || !unused.contains(&finding.check));
    Report { findings, backend, because: because.to_owned() }
}

/// The choice of `--device auto`, and the reason.
fn choice(permitted: bool, in_kernel: bool, tun: bool, udp: bool) -> (Option<&'static str>, &'static str) {
    match (permitted, in_kernel, tun) {
        _ if !udp => (None, "no UDP socket is available"),
        (false, ..) => {
            (Some("user"), "without CAP_NET_ADMIN it cannot create an interface, so programs use its proxies")
        }
        (true, true, _) => (Some("kernel"), "the kernel has WireGuard"),
        (true, false, true) => (Some("tun"), "the kernel has no WireGuard, and a TUN device is available"),
        (true, false, false) => (
            Some("user"),
            "the kernel has no WireGuard and there is no TUN device, so programs use its proxies",
        ),
    }
}

fn container_or(host: &str, container: &str) -> String {
    if capabilities::in_container() {
        format!("start the container with {container}")
    } else {
        format!("{host}, or start the container with {container}")
    }
}

fn tun_device(findings: &mut Vec<Finding>) -> bool {
    let device = capabilities::TUN_DEVICE;
    let result = capabilities::tun_device();
    let there = result.is_ok();
    findings.push(match result {
        Ok(()) => Finding::ok("TUN device", format!("{device} can be opened")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Finding::limited(
            "TUN device",
            format!("{device} does not exist"),
            container_or("run `modprobe tun`", &format!("--device {device}")),
        ),
        Err(error) => Finding::limited(
            "TUN device",
            format!("cannot open {device}: {error}"),
            container_or("run as root", &format!("--device {device} and permit it in the device cgroup")),
        ),
    });
    there
}

fn kernel_wireguard(findings: &mut Vec<Finding>, permitted: bool) -> bool {
    const CHECK: &str = "kernel WireGuard";
    if !permitted {
        findings.push(if kernel::loaded() {
            Finding::ok(CHECK, "the module is loaded")
        } else {
            Finding::limited(
                CHECK,
                "the module is not loaded",
                "run `warren-tunnel doctor` as root to check whether it can be loaded",
            )
        });
        return false;
    }
    let name = probe_name();
    let made = Kernel::create(&name);
    if let Ok(mut netlink) = Netlink::open()
        && let Ok(Some(link)) = netlink.link(&name)
    {
        _ = netlink.delete_link(link.index);
    }
    let there = made.is_ok();
    findings.push(match made {
        Ok(_) => Finding::ok(CHECK, "available"),
        // This is the usual case, for which the program has its own data path.
        Err(_) => Finding::ok(CHECK, "not available: the tunnel uses its own data path in user space"),
    });
    there
}

fn tun_offloads() -> Finding {
    const CHECK: &str = "TUN offloads";
    let queues = match Tun::open(&probe_name(), 1) {
        Ok(queues) => queues,
        Err(error) => {
            return Finding::missing(CHECK, error.to_string(), "check the TUN device and the privileges");
        }
    };
    let offload = queues.first().map(warren_device::tun::Queue::offload).unwrap_or_default();
    if offload.tso && offload.uso {
        Finding::ok(CHECK, "TCP and UDP segmentation offload")
    } else if offload.tso {
        Finding::limited(CHECK, "TCP segmentation offload only", "use Linux 6.2 or later for faster UDP")
    } else {
        Finding::limited(
            CHECK,
            "none: the kernel refuses TUNSETOFFLOAD",
            "expect a third of the speed; a kernel without this restriction is faster",
        )
    }
}

fn udp() -> Vec<Finding> {
    let udp = match Udp::bind(0, None) {
        Ok(udp) => udp,
        Err(error) => {
            return vec![Finding::missing("UDP", error.to_string(), "permit UDP sockets in this sandbox")];
        }
    };
    let families = udp.families();
    let offload = udp.capabilities();
    let text = match (families.v4, families.v6) {
        (true, true) => "sockets for IPv4 and IPv6",
        (true, false) => "sockets for IPv4 only",
        _ => "sockets for IPv6 only",
    };
    vec![
        Finding::ok("UDP", text),
        match (offload.gso, offload.gro) {
            (true, true) => Finding::ok("UDP offloads", "UDP_SEGMENT and UDP_GRO"),
            (gso, gro) => Finding::limited(
                "UDP offloads",
                format!("UDP_SEGMENT {}, UDP_GRO {}", on(gso), on(gro)),
                "use Linux 5.0 or later, without a sandbox that lacks these offloads (such as gVisor): it is several times faster",
            ),
        },
    ]
}

fn on(on: bool) -> &'static str {
    if on { "yes" } else { "no" }
}

/// Whether UDP passes in both directions, tried with the name server, since every network should have one that answers.
fn udp_out() -> Finding {
    const CHECK: &str = "outbound UDP";
    let servers = name_servers(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default());
    let Some(server) = servers.iter().find(|server| !server.is_loopback()) else {
        let seen = "not tested: the only name servers are on this machine";
        return Finding::ok(CHECK, seen);
    };
    match ask(SocketAddr::new(*server, 53)) {
        Ok(()) => Finding::ok(CHECK, format!("the name server {server} answers")),
        Err(error) => Finding::limited(
            CHECK,
            format!("the name server {server} does not answer: {error}"),
            "if UDP is blocked, use TLS to the gateway, or have the UDP port of the peers opened",
        ),
    }
}

/// A DNS query for the root's name servers (RFC 1035 section 4.1).
fn ask(server: SocketAddr) -> io::Result<()> {
    let any: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    socket.connect(server)?;
    let query = [0x57, 0x47, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1];
    let mut answer = [0; 512];
    for _ in 0..2 {
        socket.send(&query)?;
        match socket.recv(&mut answer) {
            Ok(n) if n >= 12 && answer[..2] == query[..2] => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn name_servers(resolv_conf: &str) -> Vec<IpAddr> {
    resolv_conf
        .lines()
        .filter_map(|line| line.strip_prefix("nameserver"))
        .filter_map(|address| address.trim().split('%').next()?.parse().ok())
        .collect()
}

fn mtu(config: Option<&Config>) -> Vec<Finding> {
    const CHECK: &str = "MTU";
    let Ok(mut netlink) = Netlink::open() else {
        return vec![Finding::limited(
            CHECK,
            "unknown: netlink is not available in this sandbox",
            "set MTU in the configuration",
        )];
    };
    let mut of = |path: net::Path| path.mtu.or_else(|| Some(netlink.link_by_index(path.index).ok()??.mtu));
    let Ok(mut routes) = Netlink::open() else { return Vec::new() };
    let mut findings = Vec::new();
    match routes.default_path() {
        Ok(Some(path)) => {
            let outside = of(path);
            let text = outside.map_or_else(|| "unknown".to_owned(), |mtu| mtu.to_string());
            findings.push(Finding::ok(
                CHECK,
                format!("{text} on the default route, {} inside the tunnel", net::tunnel_mtu(outside)),
            ));
        }
        _ => findings.push(Finding::limited(
            CHECK,
            "no default route",
            "add a default route, or only peers in directly connected networks can be reached",
        )),
    }
    for endpoint in
        config.iter().flat_map(|config| &config.peers).filter_map(|peer| peer.endpoint.as_ref()).take(MANY)
    {
        let Ok(address) = net::resolve(endpoint, None) else { continue };
        match routes.path_to(address.ip()) {
            Ok(path) => {
                let outside = of(path);
                findings.push(Finding::ok(
                    "path to peer",
                    format!("{address}: MTU {} inside the tunnel", net::tunnel_mtu(outside)),
                ));
            }
            Err(error) => {
                let hint = "add a route to it, or correct Endpoint";
                findings.push(Finding::missing("path to peer", format!("{address}: {error}"), hint));
            }
        }
    }
    findings
}

fn clock(wall: Duration) -> Finding {
    if wall < CLOCK_FLOOR {
        Finding::limited(
            "clock",
            "the clock is set to a time before 2026",
            "set the clock and run NTP: peers refuse handshakes with a time in the past",
        )
    } else {
        Finding::ok("clock", "plausible")
    }
}

fn dns(config: Option<&Config>, by_proxies: bool) -> Vec<Finding> {
    let text = if by_proxies {
        "unchanged: the proxies resolve names of the tunnel".to_owned()
    } else {
        format!("would be set with {}", net::dns_chosen().name())
    };
    let mut findings = vec![Finding::ok("DNS", text)];
    for endpoint in
        config.iter().flat_map(|config| &config.peers).filter_map(|peer| peer.endpoint.as_ref()).take(MANY)
    {
        if !matches!(endpoint.host, Host::Name(_)) {
            continue;
        }
        findings.push(match net::resolve(endpoint, None) {
            Ok(address) => Finding::ok("endpoint name", format!("{endpoint} resolves to {address}")),
            Err(problem) => Finding::limited(
                "endpoint name",
                problem.what(),
                "check the name and DNS; the agent starts anyway and retries",
            ),
        });
    }
    findings
}

fn reverse_path() -> Option<Finding> {
    let strict = fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter").ok()?.trim() == "1";
    strict.then(|| {
        Finding::limited(
            "reverse path",
            "the filter is strict and may drop packets from peers if the default route uses the tunnel",
            "run `sysctl -w net.ipv4.conf.all.rp_filter=2`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn name_servers_are_read() {
        let text = "# x\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\noptions ndots:5\nnameserver x\n";
        assert_eq!(name_servers(text), ["10.0.0.1".parse::<IpAddr>().unwrap(), "fe80::1".parse().unwrap()]);
    }

    #[test]
    fn every_machine_that_can_send_has_a_device() {
        let device = |permitted, in_kernel, tun, udp| choice(permitted, in_kernel, tun, udp).0;
        assert_eq!(device(false, true, true, true), Some("user"));
        assert_eq!(device(true, true, false, true), Some("kernel"));
        assert_eq!(device(true, false, true, true), Some("tun"));
        assert_eq!(device(true, false, false, true), Some("user"));
        assert_eq!(device(true, true, true, false), None);
    }

    #[test]
    fn a_clock_of_1970_is_seen() {
        assert_eq!(clock(Duration::from_secs(60)).outcome, Outcome::Limited);
        assert_eq!(clock(Duration::from_secs(1_800_000_000)).outcome, Outcome::Ok);
    }
}
