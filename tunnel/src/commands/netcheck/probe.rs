//! Measures the paths to a gateway: by UDP with initiations of WireGuard, and by TLS with handshakes.
//!
//! A probe uses a key of its own, so it needs no lease, and disturbs no session.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use warren_proto::probe::Prober;
use warren_transport::{
    tls::{DialError, Target as Dialled, exchange},
    udp::set_mark,
};
use warren_wire::{
    PresharedKey, PrivateKey, PublicKey,
    config::{Endpoint, TlsEndpoint},
};

use crate::{
    agent::Carriers,
    runtime::{
        datapath::Clock,
        net::{self, Netlink},
        random,
    },
};

/// Time between two probes by UDP.
const INTERVAL: Duration = Duration::from_millis(200);
/// Time between two TLS connections.
const PAUSE: Duration = Duration::from_millis(50);
/// Failures to connect after which there are no more attempts.
const MAX_FAILURES: usize = 2;
/// The headers of UDP over IPv4 and over IPv6.
const HEADERS: (u32, u32) = (28, 48);

/// A gateway or peer to measure.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Target {
    /// Its public key.
    pub(in crate::commands) key: PublicKey,
    /// The UDP endpoint.
    pub(in crate::commands) udp: Option<Endpoint>,
    /// The TLS endpoint.
    pub(in crate::commands) tls: Option<TlsEndpoint>,
    /// Our key and the preshared key, for a peer that answers only peers.
    pub(in crate::commands) own: Option<(PrivateKey, Option<PresharedKey>)>,
    /// Mark of our packets, so that they do not enter the tunnel.
    pub(in crate::commands) fwmark: Option<u32>,
}

/// How much to measure.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Plan {
    /// Probes by each carrier.
    pub(in crate::commands) count: usize,
    /// Timeout for the answer to each.
    pub(in crate::commands) timeout: Duration,
}

/// What was measured by one carrier.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Samples {
    /// Probes sent.
    pub(in crate::commands) sent: usize,
    /// The round trips in the order of the probes.
    pub(in crate::commands) times: Vec<Duration>,
    /// The last error.
    pub(in crate::commands) error: Option<Failure>,
}

/// Why a probe failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum Failure {
    /// Nothing came back.
    Silent,
    /// The host reports that nothing listens on the UDP port.
    Closed,
    /// Another error, with a hint.
    Other(String, String),
}

/// All about one gateway.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Measured {
    /// By UDP, if it has an endpoint.
    pub(in crate::commands) udp: Option<Samples>,
    /// By TLS, if it has an endpoint.
    pub(in crate::commands) tls: Option<Samples>,
    /// The MTU on the path of UDP, if known.
    pub(in crate::commands) path_mtu: Option<u32>,
}

/// Measures all gateways by all carriers at the same time.
pub(in crate::commands) fn all(targets: &[Target], plan: Plan) -> Vec<Measured> {
    let carriers = Carriers::of_environment();
    thread::scope(|scope| {
        let running: Vec<_> = targets
            .iter()
            .map(|target| {
                let dialled = target.tls.as_ref().map(|tls| carriers.target(tls, target.fwmark));
                let tls = dialled.map(|dialled| scope.spawn(move || by_tls(&dialled, plan)));
                let udp =
                    target.udp.as_ref().map(|endpoint| scope.spawn(move || by_udp(target, endpoint, plan)));
                (udp, tls)
            })
            .collect();
        running
            .into_iter()
            .map(|(udp, tls)| {
                let (udp, path_mtu) = udp.and_then(|thread| thread.join().ok()).unzip();
                let tls = tls.and_then(|thread| thread.join().ok());
                Measured { udp, tls, path_mtu: path_mtu.flatten() }
            })
            .collect()
    })
}

impl Samples {
    fn failed(error: Failure) -> Self {
        Self { sent: 0, times: Vec::new(), error: Some(error) }
    }

    /// Whether anything was answered.
    pub(in crate::commands) fn answers(&self) -> bool {
        !self.times.is_empty()
    }
}

/// By UDP, and the MTU of the path.
fn by_udp(target: &Target, endpoint: &Endpoint, plan: Plan) -> (Samples, Option<u32>) {
    let to = match net::resolve(endpoint, None) {
        Ok(to) => to,
        Err(problem) => {
            let hint = problem.advice().unwrap_or_default().to_owned();
            return (Samples::failed(Failure::Other(problem.what().to_owned(), hint)), None);
        }
    };
    let socket = match socket(to, target.fwmark) {
        Ok(socket) => socket,
        Err(error) => return (Samples::failed(other(&error)), None),
    };
    // A marked packet may take another route than the kernel reports.
    let known = target.fwmark.is_none().then(|| path_mtu(to.ip())).flatten();
    if let Some(mtu) = known {
        // A router with a smaller MTU reports it, and the kernel remembers it. The report is an error of the socket that sent.
        _ = self::socket(to, None).and_then(|other| other.send(&vec![0; full_datagram(mtu, to)]));
    }
    let samples = match random() {
        Ok(seed) => {
            let (own, psk) = target.own.clone().unzip();
            ask(&socket, &mut Prober::new(own, target.key, psk.flatten(), *seed), plan)
        }
        Err(problem) => Samples::failed(Failure::Other(problem.what().to_owned(), String::new())),
    };
    (samples, known.and_then(|known| Some(path_mtu(to.ip())?.min(known))))
}

fn socket(to: SocketAddr, fwmark: Option<u32>) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    if let Some(mark) = fwmark {
        set_mark(std::os::fd::AsFd::as_fd(&socket), mark)?;
    }
    socket.connect(to)?;
    Ok(socket)
}

/// Sends the probes and reads the answers.
fn ask(socket: &UdpSocket, prober: &mut Prober, plan: Plan) -> Samples {
    let mut sent: Vec<Instant> = Vec::new();
    let mut times: Vec<Option<Duration>> = Vec::new();
    let mut error = None;
    let begun = Instant::now();
    loop {
        let now = Instant::now();
        let due = begun + INTERVAL * u32::try_from(sent.len()).unwrap_or(u32::MAX);
        if sent.len() < plan.count && now >= due {
            let Some(message) = prober.ask(sent.len(), Clock.now().wall) else {
                return Samples::failed(Failure::Other(
                    "its public key is invalid".into(),
                    "correct the key in the configuration".into(),
                ));
            };
            sent.push(Instant::now());
            times.push(None);
            if let Err(failed) = socket.send(&message) {
                error = Some(failure(&failed));
            }
            continue;
        }
        let last = sent.last().map_or(begun, |last| *last + plan.timeout);
        let complete = sent.len() == plan.count && (now >= last || times.iter().all(Option::is_some));
        // A closed port does not open while we wait.
        if complete || (error.is_some() && sent.len() > MAX_FAILURES && times.iter().all(Option::is_none)) {
            break;
        }
        let until = if sent.len() < plan.count { due } else { last };
        let left = until.saturating_duration_since(now).max(Duration::from_millis(1));
        let mut buffer = [0; 256];
        let received = socket.set_read_timeout(Some(left)).and_then(|()| socket.recv(&mut buffer));
        match received {
            Ok(length) => {
                if let Some((number, _)) = prober.answered(&buffer[..length]) {
                    times[number] = Some(sent[number].elapsed());
                }
            }
            Err(failed) if matches!(failed.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(failed) if failed.kind() == ErrorKind::Interrupted => {}
            Err(failed) => error = Some(failure(&failed)),
        }
    }
    let times: Vec<Duration> = times.into_iter().flatten().collect();
    let lost = times.len() < sent.len();
    Samples { sent: sent.len(), times, error: lost.then(|| error.unwrap_or(Failure::Silent)) }
}

fn failure(error: &io::Error) -> Failure {
    if error.kind() == ErrorKind::ConnectionRefused { Failure::Closed } else { other(error) }
}

fn other(error: &io::Error) -> Failure {
    Failure::Other(
        error.to_string(),
        "check the route to the gateway, and the rules of this sandbox or host".into(),
    )
}

/// The MTU of the path as the kernel knows it.
fn path_mtu(to: IpAddr) -> Option<u32> {
    let path = Netlink::open().ok()?.path_to(to).ok()?;
    path.mtu.or_else(|| Some(Netlink::open().ok()?.link_by_index(path.index).ok()??.mtu))
}

fn full_datagram(mtu: u32, to: SocketAddr) -> usize {
    let headers = if to.is_ipv4() { HEADERS.0 } else { HEADERS.1 };
    usize::try_from(mtu.min(65_535).saturating_sub(headers)).unwrap_or_default()
}

/// By TLS: each time is that of the handshake on a new connection, which is one round trip.
fn by_tls(target: &Dialled, plan: Plan) -> Samples {
    let mut samples = Samples { sent: 0, times: Vec::new(), error: None };
    let mut failures = 0;
    while samples.sent < plan.count && !(samples.times.is_empty() && failures >= MAX_FAILURES) {
        if samples.sent > 0 {
            thread::sleep(PAUSE);
        }
        samples.sent += 1;
        match exchange(target, plan.timeout) {
            Ok(connection) => samples.times.push(connection.handshake()),
            Err(error) => {
                failures += 1;
                samples.error = Some(of_tls(&error));
                // Another certificate or name is not a matter of luck.
                if matches!(
                    error,
                    DialError::WrongPin { .. } | DialError::Name { .. } | DialError::Proxy { .. }
                ) {
                    break;
                }
            }
        }
    }
    samples
}

fn of_tls(error: &DialError) -> Failure {
    Failure::Other(error.to_string(), error.hint().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Plan = Plan { count: 3, timeout: Duration::from_millis(300) };

    fn target(at: &UdpSocket) -> Target {
        Target {
            key: PrivateKey::from_random([1; 32]).public(),
            udp: Some(at.local_addr().unwrap().to_string().parse().unwrap()),
            tls: None,
            own: None,
            fwmark: None,
        }
    }

    #[test]
    fn a_closed_port_is_told_from_one_that_is_silent() {
        let open = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = target(&open);
        let udp = || all(std::slice::from_ref(&target), SHORT).remove(0).udp.unwrap();
        let silent = udp();
        assert_eq!((silent.sent, silent.times.len(), silent.error), (3, 0, Some(Failure::Silent)));
        drop(open);
        assert_eq!(udp().error, Some(Failure::Closed));
    }

    #[test]
    fn answers_of_a_gateway_are_timed() {
        use warren_proto::engine::{Engine, EngineConfig, Output};
        use warren_proto::plane::Endpoint as From;
        let gateway = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = target(&gateway);
        thread::spawn(move || {
            let key = PrivateKey::from_random([1; 32]);
            let config = EngineConfig { answer_strangers: true, ..EngineConfig::new(key) };
            let mut engine = Engine::new(config, [2; 32]);
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = gateway.recv_from(&mut buffer) {
                engine.handle(Clock.now(), From::new(from), &mut buffer[..length]);
                while let Some(output) = engine.poll_output() {
                    if let Output::Transmit { bytes, .. } = output {
                        // What is forged comes first.
                        _ = gateway.send_to(&[3; 64], from);
                        _ = gateway.send_to(&bytes, from);
                    }
                }
            }
        });
        let measured = all(&[target], Plan { count: 3, timeout: Duration::from_secs(5) }).remove(0);
        let udp = measured.udp.unwrap();
        assert_eq!((udp.sent, udp.times.len(), udp.error), (3, 3, None));
        assert!(measured.tls.is_none());
    }
}
