//! Over loopback, with real TLS.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use warren_proto::plane::{Endpoint, StreamId};
use warren_wire::stream::frame::{self, Frame};
use warren_wire::stream::http::{Head, tunnel_request};

use super::*;
use crate::udp::Wake;

pub(super) fn clock() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

pub(super) struct Gateway {
    pub(super) streams: Arc<Streams>,
    pub(super) listener: Listener,
    pin: Pin,
    _folder: tempfile::TempDir,
}

struct Page;

/// More than any socket has room for, and no multiple of a record.
const LONG: usize = (8 << 20) + 77;

impl Answer for Page {
    fn answer(&self, request: Request, answering: Answering) {
        let Head { method, target, .. } = &request.head;
        let mut body = format!("{method} {target} {} {:?}", request.body.len(), request.binding).into_bytes();
        if target == "/long" {
            body = (0..LONG).map(|n| (n % 251) as u8).collect();
        }
        if target == "/forgotten" {
            return;
        }
        answering.reply(&Reply { status: 200, content_type: "text/plain", retry_after: Some(7), body });
    }
}

pub(super) fn streams() -> Arc<Streams> {
    Streams::new(clock, Box::new(|| {})).unwrap()
}

pub(super) fn gateway() -> Gateway {
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::load_or_make(&folder.path().join("tls.pem")).unwrap();
    let pin = identity.pin();
    let streams = streams();
    let address = "127.0.0.1:0".parse().unwrap();
    let tls = identity.server_config().unwrap();
    let answer = Some(Arc::new(Page) as Arc<dyn Answer>);
    let listener =
        Listener::start(address, tls, Arc::clone(&streams), answer, ListenLimits::default()).unwrap();
    Gateway { streams, listener, pin, _folder: folder }
}

pub(super) fn target(gateway: &Gateway) -> Target {
    Target {
        host: "127.0.0.1".into(),
        port: gateway.listener.address().port(),
        server_name: Some("www.example.net".into()),
        trust: Trust::Pins(gateway.pin.into()),
        proxy: None,
        fwmark: None,
    }
}

pub(super) struct Receiving {
    pub(super) receiver: Receiver,
    pub(super) stop: OwnedFd,
}

pub(super) fn receiving(streams: &Arc<Streams>) -> Receiving {
    let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    Receiving { receiver: Receiver::new(Arc::clone(streams), stop.as_fd()).unwrap(), stop }
}

impl Receiving {
    pub(super) fn datagrams(&mut self, count: usize) -> Vec<(Endpoint, Vec<u8>)> {
        let mut all = Vec::new();
        while all.len() < count {
            assert_eq!(self.receiver.receive().unwrap(), Wake::Datagrams);
            let (buffer, found) = self.receiver.parts();
            all.extend(found.iter().map(|arrival| (arrival.from, buffer[arrival.place.clone()].to_vec())));
        }
        all
    }
}

pub(super) fn message(n: u32, length: usize) -> Vec<u8> {
    let mut message = vec![(n % 251) as u8; length];
    message[0] = 4;
    message
}

pub(super) fn id(endpoint: Endpoint) -> StreamId {
    endpoint.carrier.stream().unwrap()
}

pub(super) fn eventually(mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(20), "not in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn datagrams_arrive_in_order_and_are_answered() {
    let gateway = gateway();
    let mut there = receiving(&gateway.streams);
    let client = streams();
    let to = client.adopt(dial(&target(&gateway)).unwrap()).unwrap();
    let stream = client.get(id(to)).unwrap();
    let mut run = Vec::new();
    (0..40).for_each(|n| run.extend(message(n, 1452)));
    run.extend(message(40, 77));
    assert!(stream.send(clock(), 0, &run, 1452));
    let came = there.datagrams(41);
    for (n, (from, datagram)) in (0..).zip(&came) {
        assert_eq!(*datagram, message(n, if n == 40 { 77 } else { 1452 }));
        assert!(from.carrier.stream().is_some());
    }
    // The longest there can be, which no record holds.
    let mut here = receiving(&client);
    let long = message(1, 65_507);
    assert!(gateway.streams.send_one(id(came[0].0), &long));
    assert!(gateway.streams.send_one(id(came[0].0), &message(2, 32)));
    assert_eq!(here.datagrams(2), [(to, long), (to, message(2, 32))]);
    assert_eq!(gateway.listener.stats().tunnels, 1);
}

#[test]
fn a_flood_is_dropped_from_and_not_kept() {
    let gateway = gateway();
    let client = streams();
    let stream = client.get(id(client.adopt(dial(&target(&gateway)).unwrap()).unwrap())).unwrap();
    // Nobody receives at the other end.
    for n in 0..20_000 {
        assert!(stream.send(clock(), 0, &message(n, 1400), 1400));
    }
    let dropped = stream.stats().dropped;
    assert!(dropped > 5_000, "{dropped}");
    // What was taken arrives whole, once somebody does.
    let mut sender = receiving(&client);
    let pump = std::thread::spawn(move || sender.receiver.receive().map(|_| ()));
    let mut there = receiving(&gateway.streams);
    eventually(|| gateway.streams.count() == 1);
    // Without an authentic message among them not much is listened to.
    gateway.streams.stats().iter().for_each(|stats| gateway.streams.get(stats.id).unwrap().prove());
    let came = there.datagrams(100);
    assert!(came.iter().all(|(_, datagram)| datagram.len() == 1400));
    drop((stream, client, there, gateway));
    drop(pump);
}

#[test]
fn another_key_is_refused_with_its_story() {
    let (gateway, other) = (gateway(), gateway());
    let error =
        dial(&Target { trust: Trust::Pins(other.pin.into()), ..target(&gateway) }).map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, DialError::WrongPin { expected, found, .. } if *expected == other.pin.into() && *found == gateway.pin)
    );
    // Without a pin a self-signed certificate is nobody's.
    let error = dial(&Target { trust: Trust::System, ..target(&gateway) }).map(|_| ()).unwrap_err();
    assert!(matches!(error, DialError::Tls { .. }), "{error}");
}

#[test]
fn pins_are_read_as_they_are_written() {
    let gateway = gateway();
    let text = gateway.pin.to_string();
    assert!(text.starts_with("sha256//") && text.len() == 52, "{text}");
    assert_eq!(text.parse(), Ok(gateway.pin));
    assert_eq!(text.trim_start_matches("sha256//").parse(), Ok(gateway.pin));
    assert_eq!("sha256//AAAA".parse::<Pin>(), Err(PinError::Text));
}

#[test]
fn the_certificate_stays_and_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tls.pem");
    let first = Identity::load_or_make(&path).unwrap().pin();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Identity::load_or_make(&path).unwrap().pin(), first);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Identity::load_or_make(&path).is_ok(), "a group may read it");
    for mode in [0o660, 0o644, 0o604] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(Identity::load_or_make(&path), Err(IdentityError::Exposed { .. })), "{mode:o}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "nothing").unwrap();
    assert!(matches!(Identity::load_or_make(&path), Err(IdentityError::Content { .. })));
}

#[test]
fn who_asks_for_something_else_is_answered() {
    let gateway = gateway();
    let ask = |path: &str| {
        let mut tls = exchange(&target(&gateway), Duration::from_secs(10)).unwrap();
        let request = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        tls.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The end without a close_notify is an error of the library's, after the bytes.
        let _ = tls.read_to_end(&mut answer);
        (String::from_utf8(answer).unwrap(), tls.binding())
    };
    let (answer, binding) = ask("/v1/x");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\nRetry-After: 7\r\n"), "{answer}");
    assert!(answer.ends_with(&format!("POST /v1/x 5 {binding:?}")), "{answer}");
    let (answer, _) = ask("/forgotten");
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    let other = self::gateway();
    let stranger = Target { trust: Trust::Pins(other.pin.into()), ..target(&gateway) };
    let refused = exchange(&stranger, Duration::from_secs(1)).err().unwrap();
    assert!(matches!(refused, DialError::WrongPin { .. }), "{refused}");
}

#[test]
fn a_long_answer_is_sent_as_it_is_taken_and_others_are_answered_meanwhile() {
    let gateway = gateway();
    let ask = |path: &str| {
        let mut tls = exchange(&target(&gateway), Duration::from_secs(10)).unwrap();
        tls.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        tls
    };
    let mut long = ask("/long");
    let mut all = vec![0; 100];
    long.read_exact(&mut all).unwrap();
    let mut short = Vec::new();
    // The end without a close_notify is an error of the library's, after the bytes.
    let _ = ask("/short").read_to_end(&mut short);
    assert!(String::from_utf8_lossy(&short).contains("GET /short"));
    let _ = long.read_to_end(&mut all);
    let body = all.windows(4).position(|part| part == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(all.len() - body, LONG);
    assert!(all[body..].iter().zip(0..).all(|(byte, n)| *byte == (n % 251) as u8));
}

#[test]
fn strangers_are_put_off() {
    let gateway = gateway();
    let address = gateway.listener.address();
    let mut garbage = TcpStream::connect(address).unwrap();
    garbage.write_all(&[0x99; 500]).unwrap();
    let mut rest = Vec::new();
    let _ = garbage.read_to_end(&mut rest);
    // A crowd that says nothing: only so many of one address are let in, and not for long.
    let crowd: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    eventually(|| gateway.listener.stats().limited >= 36);
    eventually(|| gateway.listener.stats().failed >= 65);
    drop(crowd);
    assert!(dial(&target(&gateway)).is_ok());
}

#[test]
fn a_tunnel_of_nobody_known_is_ended() {
    let gateway = gateway();
    let mut there = receiving(&gateway.streams);
    let client = streams();
    let pump = std::thread::spawn(move || while !matches!(there.receiver.receive(), Ok(Wake::Stop)) {});
    let frames = |bytes: &[u8]| {
        let to = client.adopt(dial(&target(&gateway)).unwrap()).unwrap();
        let stream = client.get(id(to)).unwrap();
        eventually(|| gateway.streams.count() == 1);
        stream.members()[0].control(clock(), bytes);
        stream
    };
    // A length of 0 and one beyond any datagram's.
    for bytes in [&[0u8, 0][..], &[0xff, 0xff, 4]] {
        let _stream = frames(bytes);
        eventually(|| gateway.streams.count() == 0);
        assert_eq!(gateway.streams.take_closed()[0].why, "the data does not belong to a tunnel");
    }
    // Messages that open nothing, more of them than a handshake needs.
    let stream = frames(&[]);
    for n in 0..100 {
        stream.send(clock(), 0, &message(n, 1400), 1400);
    }
    eventually(|| gateway.streams.count() == 0);
    assert_eq!(gateway.streams.take_closed()[0].why, "the data does not belong to a tunnel");
    // The time runs out while it talks.
    let stream = frames(&[]);
    eventually(|| {
        std::thread::sleep(Duration::from_millis(100));
        stream.members()[0].control(clock(), &frame::ping(1));
        gateway.streams.count() == 0
    });
    assert_eq!(gateway.streams.take_closed()[0].why, "no known peer used it");
    assert_eq!(refused(&gateway, "stranger_bytes"), 3);
    assert_eq!(refused(&gateway, "stranger_time"), 1);
    drop(pump);
}

pub(super) fn refused(gateway: &Gateway, reason: &str) -> u64 {
    gateway.listener.stats().refused.into_iter().find(|(name, _)| *name == reason).unwrap().1
}

/// Receives at the gateway until the test ends, and proves each connection if `proven`.
pub(super) fn pump(gateway: &Gateway, proven: bool) -> OwnedFd {
    let mut there = receiving(&gateway.streams);
    let stop = there.stop.try_clone().unwrap();
    let streams = Arc::clone(&gateway.streams);
    std::thread::spawn(move || {
        while !matches!(there.receiver.receive(), Ok(Wake::Stop)) {
            let (_, found) = there.receiver.parts();
            let from = found.iter().map(|arrival| id(arrival.from));
            from.filter(|_| proven).for_each(|id| streams.get(id).unwrap().prove());
        }
    });
    stop
}

/// A tunnel whose frames the test writes and reads itself.
pub(super) fn raw(gateway: &Gateway) -> Exchange {
    let mut tls = exchange(&target(gateway), Duration::from_secs(2)).unwrap();
    tls.write_all(tunnel_request("g", None).as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        tls.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    tls
}

#[test]
fn every_frame_of_a_stranger_counts() {
    let gateway = gateway();
    let stop = pump(&gateway, false);
    let unknown = [0, 3, 0x90, 1, 2];
    let mut large = vec![0x3f, 0xf0, 0x90];
    large.resize(2 + 0x3ff0, 0);
    for frames in [frame::ping(7).repeat(1400), unknown.repeat(3000), large] {
        let mut tls = raw(&gateway);
        // More than a stranger may send; it reads nothing.
        let sent: usize = (0..64).map_while(|_| tls.write_all(&frames).ok().map(|()| frames.len())).sum();
        let mut closed = Vec::new();
        eventually(|| {
            closed.extend(gateway.streams.take_closed());
            !closed.is_empty()
        });
        assert_eq!(closed[0].why, "the data does not belong to a tunnel", "{sent} bytes");
    }
    assert_eq!(refused(&gateway, "stranger_bytes"), 3);
    rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
}

#[test]
fn pings_of_a_known_peer_are_answered_at_a_rate_and_tell_no_time() {
    let gateway = gateway();
    let stop = pump(&gateway, true);
    let mut tls = raw(&gateway);
    let mut known = vec![0, 32];
    known.extend(message(4, 32));
    tls.write_all(&known).unwrap();
    eventually(|| gateway.streams.stats().iter().any(|stats| stats.proven));
    // The first ping comes early, and has the connection's age.
    let mut first = [0; frame::PING_FRAME];
    tls.read_exact(&mut first).unwrap();
    let Some((Frame::Ping(age), _)) = frame::next(&first, 0).unwrap() else { panic!("{first:?}") };
    assert!(age < Duration::from_secs(20).as_nanos() as u64, "{age}");
    let begun = Instant::now();
    for number in 0..100 {
        tls.write_all(&frame::ping(number).repeat(200)).unwrap();
    }
    tls.write_all(&[0]).unwrap();
    let mut pongs = 0;
    while begun.elapsed() < Duration::from_secs(1) && tls.read_exact(&mut first).is_ok() {
        pongs += u32::from(matches!(frame::next(&first, 0), Ok(Some((Frame::Pong(_), _)))));
    }
    let most = 9 + 4 * u32::try_from(begun.elapsed().as_secs()).unwrap();
    assert!((1..=most).contains(&pongs), "{pongs} of 20,000 in {:?}", begun.elapsed());
    assert_eq!(gateway.streams.count(), 1);
    rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
}

#[test]
fn a_source_has_so_many_tunnels() {
    let gateway = gateway();
    gateway.listener.set_limits(ListenLimits { tunnels_of_one: 2, ..ListenLimits::default() });
    let stop = pump(&gateway, false);
    let held = [raw(&gateway), raw(&gateway)];
    eventually(|| gateway.streams.count() == 2);
    let third = raw(&gateway);
    eventually(|| refused(&gateway, "source_tunnels") == 1);
    assert_eq!(gateway.streams.count(), 2);
    drop((third, held));
    eventually(|| gateway.streams.count() == 0);
    let _again = raw(&gateway);
    eventually(|| gateway.streams.count() == 1);
    gateway.listener.set_limits(ListenLimits { handshakes_of_one: 1, ..ListenLimits::default() });
    let _stranger = raw(&gateway);
    eventually(|| refused(&gateway, "source_strangers") == 1);
    rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
}

#[test]
fn a_source_above_its_rate_is_refused_alone() {
    let gateway = gateway();
    let limits = ListenLimits { rate_of_one: 2, handshakes_of_one: 1000, ..ListenLimits::default() };
    gateway.listener.set_limits(limits);
    let address = gateway.listener.address();
    let _crowd: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    eventually(|| refused(&gateway, "source_rate") >= 30);
    assert_eq!(refused(&gateway, "total_rate"), 0);
}

#[test]
fn the_end_of_a_connection_is_told() {
    let gateway = gateway();
    let client = streams();
    let to = client.adopt(dial(&target(&gateway)).unwrap()).unwrap();
    let mut here = receiving(&client);
    eventually(|| gateway.streams.count() == 1);
    gateway.streams.stats().iter().for_each(|stats| gateway.streams.close(stats.id));
    let stop = here.stop.try_clone().unwrap();
    let waiting = std::thread::spawn(move || here.receiver.receive().unwrap());
    eventually(|| client.count() == 0);
    let closed = client.take_closed();
    assert_eq!((closed[0].id, closed[0].role), (id(to), Role::Client));
    assert!(!client.send_one(id(to), &message(1, 32)));
    rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
    assert_eq!(waiting.join().unwrap(), Wake::Stop);
}

/// A proxy that connects whom it is asked to, once, if the password is right.
fn proxy() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let to = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap().to_owned();
            if !head.contains("Proxy-Authorization: Basic dTpw\r\n") {
                client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").unwrap();
                continue;
            }
            let mut server = TcpStream::connect(to).unwrap();
            client.write_all(b"HTTP/1.1 200 Connection established\r\nVia: lab\r\n\r\n").unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            std::thread::spawn(move || std::io::copy(&mut server, &mut client));
        }
    });
    address
}

#[test]
fn a_proxy_on_the_way_is_asked_to_connect() {
    let gateway = gateway();
    let mut there = receiving(&gateway.streams);
    let address = proxy();
    let through = |user: &str| {
        let proxy = format!("http://{user}{address}").parse().unwrap();
        dial(&Target { proxy: Some(proxy), ..target(&gateway) })
    };
    let refused = through("").map(|_| ()).unwrap_err();
    assert!(matches!(refused, DialError::Proxy { status: 407, .. }), "{refused}");
    let client = streams();
    let to = client.adopt(through("u:p@").unwrap()).unwrap();
    assert_eq!(to.remote, address);
    assert!(client.send_one(id(to), &message(3, 100)));
    assert_eq!(there.datagrams(1)[0].1, message(3, 100));
}
