//! What the command's connections have left to do when it has ended. On any machine, the rest of their data is sent after that,
//! but only while there is a tunnel.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::{Duration, Instant},
};

use super::child::Signals;
use crate::agent::ScopedTunnel;

/// The longest wait for data that was not acknowledged.
const SENDING: Duration = Duration::from_secs(10);
/// The longest wait for the other ends to close too. A gateway that forwards by sockets has acknowledged the data, but the other pod may
/// not have it yet. The gateway drops the rest when the lease ends.
const CLOSING: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);

/// Waits until the connections of a command that has ended are closed at both ends. A signal ends the wait.
pub(super) fn wait(tunnel: &ScopedTunnel, signals: &Signals) {
    let begun = Instant::now();
    let mut sent = None;
    loop {
        let left = Left::now(tunnel);
        let enough = match left {
            Left { sending: 0, closing: 0 } => return,
            Left { sending: 0, .. } => sent.get_or_insert_with(Instant::now).elapsed() > CLOSING,
            _ => begun.elapsed() > SENDING,
        };
        if enough {
            tracing::debug!(left.sending, left.closing, "connections of the command end with the tunnel");
            return;
        }
        if signals.next(POLL).is_some() {
            return;
        }
    }
}

/// What is left of connections without a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    /// Those with data or a FIN that was not acknowledged, and bytes of the proxies' connections that were not.
    sending: u64,
    /// Those whose other end has not closed.
    closing: u64,
}

impl Left {
    fn now(tunnel: &ScopedTunnel) -> Self {
        let mut left = Self::default();
        // Of programs in the tunnel's own network, and of proxies to it.
        if let Some(process) = tunnel.network() {
            left.add(&table(&process.to_string()), |_| true);
        }
        let Some(proxies) = tunnel.proxies() else {
            // The tunnel has an interface of this machine.
            let peers = tunnel.config().peers.iter().flat_map(|peer| &peer.allowed_ips);
            left.add(&table("self"), |to| {
                !to.ip().is_loopback() && peers.clone().any(|net| net.contains(&to.ip()))
            });
            return left;
        };
        let ports = [proxies.socks5, proxies.http];
        left.add(&table("self"), |to| ports.iter().flatten().any(|at| is_proxy(to, *at)));
        // Closed by the command, and perhaps by the proxies. A tunnel that has failed sends nothing.
        let services = tunnel.status().ok().and_then(|status| status.services);
        left.sending += services.and_then(|services| services.buffers).map_or(0, |buffers| buffers.bytes);
        left
    }

    /// Counts in the kernel's table (proc_pid_net(5)): the third field is the other end, the fourth the state, and the tenth the
    /// inode, which a connection without a program lacks.
    fn add(&mut self, table: &str, counts: impl Fn(SocketAddr) -> bool) {
        for line in table.lines() {
            let mut fields = line.split_whitespace();
            let (Some(to), Some(state)) = (fields.nth(2).and_then(address), fields.next()) else { continue };
            if fields.nth(5) != Some("0") || !counts(to) {
                continue;
            }
            match state {
                // FIN-WAIT-1, LAST-ACK, CLOSING.
                "04" | "09" | "0B" => self.sending += 1,
                // FIN-WAIT-2.
                "05" => self.closing += 1,
                _ => {}
            }
        }
    }
}

/// The TCP connections in the network of a process.
fn table(process: &str) -> String {
    let of = |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    of("tcp") + &of("tcp6")
}

fn is_proxy(to: SocketAddr, at: SocketAddr) -> bool {
    to.port() == at.port() && (to.ip() == at.ip() || at.ip().is_unspecified())
}

/// An address of the kernel's table: words of four bytes in the order of the machine, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            Ipv6Addr::from(*words.as_flattened().first_chunk::<16>()?).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(to: &str, state: &str, inode: &str) -> String {
        format!(
            "   0: 0564000A:C350 {to} {state} 00000010:00000000 01:00000014 00000000 65534        0 {inode} 2 0000000000000000\n"
        )
    }

    #[test]
    fn connections_without_a_program_are_counted_by_what_they_wait_for() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let to = "0664000A:733C";
        let left = |lines: &[String], counts: fn(SocketAddr) -> bool| {
            let mut left = Left::default();
            left.add(&(head.to_owned() + &lines.concat()), counts);
            left
        };
        let open = [line(to, "04", "0"), line(to, "05", "0"), line(to, "0B", "0"), line(to, "09", "0")];
        assert_eq!(left(&open, |_| true), Left { sending: 3, closing: 1 });
        assert_eq!(left(&open, |_| false), Left::default());
        // Of programs that run, listening, and in TIME-WAIT.
        let others =
            [line(to, "01", "4711"), line(to, "04", "4711"), line(to, "0A", "0"), line(to, "06", "0")];
        assert_eq!(left(&others, |_| true), Left::default());
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_of_the_table() {
        let known = [
            ("0100007F:0438", "127.0.0.1:1080"),
            ("0000000000000000FFFF00000100007F:0C38", "127.0.0.1:3128"),
            ("00000000000000000000000001000000:0438", "[::1]:1080"),
            ("B80D0120000000000000000001000000:01BB", "[2001:db8::1]:443"),
        ];
        for (text, is) in known {
            assert_eq!(address(text), Some(is.parse().unwrap()), "{text}");
        }
        for text in ["rem_address", "0100007F", "0100007:0438", "0100007F:10000", "0100007G:0438"] {
            assert_eq!(address(text), None, "{text}");
        }
        let at = |text: &str| text.parse().unwrap();
        assert!(is_proxy(at("127.0.0.1:1080"), at("127.0.0.1:1080")));
        assert!(is_proxy(at("127.0.0.1:1080"), at("0.0.0.0:1080")));
        assert!(!is_proxy(at("192.0.2.1:1080"), at("127.0.0.1:1080")));
        assert!(!is_proxy(at("127.0.0.1:1081"), at("127.0.0.1:1080")));
    }
}
