//! A stack that ends flows to other hosts: it decides first, and speaks in their names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use warren_netstack::{
    Batch, CloseReason, Config, Echo, Event, Listen, ListenerId, Ping, Pong, Stack, State, StreamId,
    Unreachable,
};

const POD: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 100, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1))];
const HOST: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 50, 0, 2)), IpAddr::V6(Ipv6Addr::new(0xfd00, 5, 0, 0, 0, 0, 0, 2))];
const NOW: Duration = Duration::from_secs(1);

struct Pair {
    pod: Stack,
    gateway: Stack,
    listener: ListenerId,
}

impl Pair {
    fn new() -> Self {
        let pod = Stack::new(Config::new(POD.to_vec(), [1; 32]));
        let mut config = Config::new(Vec::new(), [2; 32]);
        config.accept_any = true;
        let mut gateway = Stack::new(config);
        let listener = gateway.listen(Listen { defer: true, ..Listen::any() }).expect("listens");
        Self { pod, gateway, listener }
    }

    /// Packets both ways until there are no more; what the gateway is told meanwhile.
    fn run(&mut self) -> Vec<Event> {
        let mut batch = Batch::new(1420);
        let mut events = Vec::new();
        for _ in 0..8 {
            for turn in [true, false] {
                let (from, to) = if turn {
                    (&mut self.pod, &mut self.gateway)
                } else {
                    (&mut self.gateway, &mut self.pod)
                };
                batch.clear();
                from.poll(NOW, &mut batch);
                batch.iter().for_each(|packet| to.input(NOW, packet));
            }
            events.extend(std::iter::from_fn(|| self.gateway.poll_event()));
        }
        events
    }

    /// A connection that waits for a decision: the pod's end and the gateway's.
    fn knock(&mut self, to: IpAddr) -> (StreamId, StreamId) {
        let near = self.pod.connect(NOW, SocketAddr::new(to, 80)).expect("connects");
        let events = self.run();
        let [Event::Incoming(listener, far)] = events[..] else { panic!("{events:?}") };
        assert_eq!(listener, self.listener);
        assert_eq!(self.pod.state(near), State::SynSent, "it was answered before it was admitted");
        (near, far)
    }
}

#[test]
fn a_connection_comes_up_when_it_is_admitted() {
    for host in HOST {
        let mut pair = Pair::new();
        let (near, far) = pair.knock(host);
        pair.gateway.admit(NOW, far);
        assert!(pair.run().contains(&Event::Connected(far)));
        assert_eq!(pair.pod.state(near), State::Established);
        assert_eq!(pair.gateway.accept(pair.listener), None, "it is whose who admitted it");
        assert_eq!(pair.gateway.send(NOW, far, b"hello"), 5);
        pair.run();
        let mut text = [0; 8];
        assert_eq!(pair.pod.recv(near, &mut text), Ok(5));
    }
}

#[test]
fn a_connection_that_is_denied_ends_as_the_host_would_have_it() {
    for host in HOST {
        for (why, expected) in [
            (None, CloseReason::Refused),
            (Some(Unreachable::Host), CloseReason::Unreachable),
            (Some(Unreachable::Network), CloseReason::Unreachable),
            (Some(Unreachable::Prohibited), CloseReason::Prohibited),
        ] {
            let mut pair = Pair::new();
            let (near, far) = pair.knock(host);
            pair.gateway.deny(NOW, far, why);
            pair.run();
            assert_eq!(pair.pod.reason(near), Some(expected), "{host} {why:?}");
            assert_eq!(pair.gateway.streams(), 0);
        }
    }
}

#[test]
fn echoes_of_other_hosts_are_told_and_answered() {
    let mut pair = Pair::new();
    for (from, to) in POD.into_iter().zip(HOST) {
        let asked = Echo { source: from, destination: to, number: (7, 9), data: b"data".to_vec() };
        // The reply to an echo is one's own affair; as a request it is made by hand.
        pair.gateway.input(NOW, &request(&asked));
        assert_eq!(pair.gateway.poll_event(), Some(Event::Echo));
        let told = pair.gateway.echo_recv().expect("an echo");
        assert_eq!(told, asked);
        pair.gateway.echo_reply(NOW, &told);
        pair.gateway.echo_unreachable(NOW, &told, Unreachable::Host);
        let mut batch = Batch::new(1420);
        pair.gateway.poll(NOW, &mut batch);
        let header = if from.is_ipv4() { 20 } else { 40 };
        let kinds: Vec<(u8, u8)> = batch.iter().map(|packet| (packet[header], packet[header + 1])).collect();
        assert_eq!(kinds, if from.is_ipv4() { [(0, 0), (3, 1)] } else { [(129, 0), (1, 3)] });
    }
}

#[test]
fn an_echo_request_learns_of_its_answer_or_of_the_reason_why_there_is_none() {
    for (source, destination) in POD.into_iter().zip(HOST) {
        for why in [None, Some(Unreachable::Prohibited), Some(Unreachable::Host)] {
            let mut pair = Pair::new();
            let ping = Ping { source, destination, number: (3, 4) };
            assert_eq!(pair.pod.address_towards(destination), Some(source));
            assert!(pair.pod.ping(NOW, ping, b"data"));
            assert!(!pair.pod.ping(NOW, ping, b"data"), "the same request waits");
            pair.run();
            let echo = pair.gateway.echo_recv().expect("an echo");
            assert_eq!(pair.pod.pong(&ping), None);
            // An error about another request says nothing about this one.
            pair.gateway.echo_unreachable(NOW, &Echo { number: (3, 5), ..echo.clone() }, Unreachable::Host);
            pair.run();
            assert_eq!(pair.pod.pong(&ping), None);
            match why {
                None => pair.gateway.echo_reply(NOW, &echo),
                Some(why) => pair.gateway.echo_unreachable(NOW, &echo, why),
            }
            pair.run();
            let expected = match why {
                None => Pong::Answered,
                Some(why) => Pong::Undelivered { by: destination, why },
            };
            assert_eq!(pair.pod.pong(&ping), Some(expected));
            assert_eq!(pair.pod.poll_event(), Some(Event::Pong(ping)));
            pair.pod.forget_ping(&ping);
            assert_eq!(pair.pod.pong(&ping), None);
        }
    }
}

/// An echo request (RFC 792, RFC 4443).
fn request(echo: &Echo) -> Vec<u8> {
    let sum = |parts: &[&[u8]]| {
        let bytes: Vec<u8> = parts.concat();
        let mut sum: u32 =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!(sum as u16)).to_be_bytes()
    };
    let mut message = vec![if echo.source.is_ipv4() { 8 } else { 128 }, 0, 0, 0];
    message.extend_from_slice(&echo.number.0.to_be_bytes());
    message.extend_from_slice(&echo.number.1.to_be_bytes());
    message.extend_from_slice(&echo.data);
    let length = message.len() as u8;
    match (echo.source, echo.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let check = sum(&[&message]);
            message[2..4].copy_from_slice(&check);
            let mut header = [0x45, 0, 0, 20 + length, 0, 0, 0x40, 0, 64, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            header[12..16].copy_from_slice(&from.octets());
            header[16..].copy_from_slice(&to.octets());
            let check = sum(&[&header]);
            header[10..12].copy_from_slice(&check);
            [&header[..], &message].concat()
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let check = sum(&[&from.octets(), &to.octets(), &[0, 0, 0, length, 0, 0, 0, 58], &message]);
            message[2..4].copy_from_slice(&check);
            let head = [0x60, 0, 0, 0, 0, length, 58, 64];
            [&head[..], &from.octets(), &to.octets(), &message].concat()
        }
        _ => Vec::new(),
    }
}

/// Two hosts whose connection began without the gateway, and which only see each other through it from then on.
#[test]
fn segments_of_unknown_connections_pass_if_they_may() {
    for (own, host) in POD.into_iter().zip(HOST) {
        let mut pair = Pair::new();
        let mut server = Stack::new(Config::new(vec![host], [3; 32]));
        server.listen(Listen::port(80)).expect("listens");
        let near = pair.pod.connect(NOW, SocketAddr::new(host, 80)).expect("connects");
        let mut batch = Batch::new(1420);
        for _ in 0..4 {
            for turn in [true, false] {
                let (from, to) =
                    if turn { (&mut pair.pod, &mut server) } else { (&mut server, &mut pair.pod) };
                batch.clear();
                from.poll(NOW, &mut batch);
                batch.iter().for_each(|packet| to.input(NOW, packet));
            }
        }
        assert_eq!(pair.pod.state(near), State::Established);

        pair.gateway.set_pass(Box::new(move |from, to| {
            let ends = [(own, host), (host, own)];
            ends.contains(&(from.ip(), to.ip())) && (from.port() == 80 || to.port() == 80)
        }));
        let mut through = |pair: &mut Pair, server: &mut Stack| {
            let mut hops = Vec::new();
            for _ in 0..8 {
                for from in [&mut pair.pod, server] {
                    batch.clear();
                    from.poll(NOW, &mut batch);
                    batch.iter().for_each(|packet| pair.gateway.input(NOW, packet));
                }
                batch.clear();
                pair.gateway.poll(NOW, &mut batch);
                for packet in batch.iter() {
                    let v4 = packet[0] >> 4 == 4;
                    hops.push(packet[if v4 { 8 } else { 7 }]);
                    let for_pod = if v4 { packet[19] == 1 } else { packet[39] == 1 };
                    let to = if for_pod { &mut pair.pod } else { &mut *server };
                    to.input(NOW, packet);
                }
            }
            hops
        };
        let text = vec![7; 3_000];
        assert_eq!(pair.pod.send(NOW, near, &text), text.len());
        let hops = through(&mut pair, &mut server);
        assert!(!hops.is_empty() && hops.iter().all(|left| *left == 63), "{hops:?}");
        assert_eq!((pair.pod.state(near), pair.gateway.stats().resets), (State::Established, 0));
        assert!(server.stats().packets_in > 4, "{:?}", server.stats());

        // What may not pass is reset, as without all this.
        pair.gateway.set_pass(Box::new(|_, _| false));
        assert_eq!(pair.pod.send(NOW, near, &text), text.len());
        through(&mut pair, &mut server);
        assert_eq!(pair.pod.state(near), State::Closed);
    }
}
