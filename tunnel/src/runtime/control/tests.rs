use std::{
    collections::VecDeque,
    net::UdpSocket,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, eventfd};
use warren_proto::{
    engine::{Engine, EngineConfig, PeerConfig},
    plane::{Endpoint, Peer},
};
use warren_transport::tls::Streams;
use warren_transport::udp::Udp;
use warren_wire::key::{PresharedKey, PrivateKey, PublicKey};

use super::*;
use crate::runtime::{
    datapath::{Clock, Control as Message},
    supervise::Supervisor,
    uapi::{self, PeerChange, Request},
};

/// A data path that moves nothing, and floods on demand.
struct Fake {
    udp: Arc<Udp>,
    streams: Arc<Streams>,
    wake: OwnedFd,
    flood: Arc<AtomicBool>,
    waiting: VecDeque<Message>,
}

impl DatapathHandle for Fake {
    fn next(&mut self) -> Option<Message> {
        if self.flood.load(Ordering::Relaxed) {
            let mut bytes = vec![0xee; 148];
            bytes[..4].copy_from_slice(&[1, 0, 0, 0]);
            return Some(Message::Datagram {
                from: "192.0.2.9:1".parse::<SocketAddr>().unwrap().into(),
                bytes,
            });
        }
        self.waiting.pop_front()
    }
    fn established(&self) {}
    fn readable(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
    fn acknowledge(&mut self) {}
    fn flush(&self, _: &Arc<Peer>) {}
    fn udp(&self) -> &Arc<Udp> {
        &self.udp
    }
    fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }
    fn rebind(&mut self, udp: Arc<Udp>) -> Result<()> {
        self.udp = udp;
        Ok(())
    }
    fn set_mtu(&mut self, _: usize) {}
    fn overrun(&self) -> u64 {
        0
    }
    fn failed(&self) -> u64 {
        0
    }
    fn stop(self: Box<Self>) {}
}

struct Running {
    handle: Handle,
    flood: Arc<AtomicBool>,
    lookups: mpsc::Receiver<Lookup>,
    _thread: Thread,
}

fn ours() -> PrivateKey {
    PrivateKey::from_random([1; 32])
}

fn start_one() -> Running {
    let (handle, commands) = Handle::new().unwrap();
    let (lookup, lookups) = mpsc::sync_channel(8);
    let flood = Arc::new(AtomicBool::new(false));
    let traffic = Fake {
        udp: Arc::new(Udp::bind(0, None).unwrap()),
        streams: Streams::new(|| Clock.mono(), Box::new(|| {})).unwrap(),
        wake: eventfd(0, EventfdFlags::NONBLOCK).unwrap(),
        flood: Arc::clone(&flood),
        waiting: VecDeque::new(),
    };
    let parts = Parts {
        engine: Engine::new(EngineConfig::new(ours()), [5; 32]),
        private_key: ours(),
        fwmark: None,
        datapath: Box::new(traffic),
        commands,
        lookups: lookup,
        supervisor: Supervisor::default(),
        facts: Facts { interface: "test".into(), mtu: 1420, ..Facts::default() },
    };
    let thread = start(parts, handle.clone()).unwrap();
    Running { handle, flood, lookups, _thread: thread }
}

fn set(running: &Running, text: &str) -> i32 {
    let Ok(Request::Set(set)) = uapi::parse(text.as_bytes()) else { panic!("{text}") };
    running.handle.request(|done| Command::Set(set, done)).unwrap()
}

fn get(running: &Running) -> Device {
    running.handle.request(Command::Get).unwrap()
}

fn hex(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

#[test]
fn a_set_is_what_get_says() {
    let running = start_one();
    let (a, b) = (hex(9), hex(11));
    assert_eq!(
        set(
            &running,
            &format!(
                "set=1\npublic_key={a}\npreshared_key={}\nallowed_ip=10.0.0.0/24\nendpoint=192.0.2.1:5\npersistent_keepalive_interval=25\npublic_key={b}\nallowed_ip=10.0.1.0/24\n\n",
                hex(7)
            )
        ),
        0
    );
    let device = get(&running);
    assert_eq!(device.private_key, Some(ours()));
    assert_eq!(device.peers.len(), 2);
    let first = |device: &Device| {
        device.peers.iter().find(|peer| peer.public_key == PublicKey::from_bytes([9; 32])).cloned()
    };
    let peer = first(&device).unwrap();
    assert_eq!(peer.preshared_key, Some(PresharedKey::from_bytes([7; 32])));
    assert_eq!((peer.keepalive, peer.endpoint), (Some(25), Some("192.0.2.1:5".parse().unwrap())));

    // A prefix moves to who asks for it last; what is not named stays; a minus takes away.
    set(&running, &format!("set=1\npublic_key={b}\nallowed_ip=10.0.0.0/24\nallowed_ip=-10.0.1.0/24\n\n"));
    let device = get(&running);
    assert_eq!(first(&device).unwrap().allowed_ips, []);
    assert_eq!(first(&device).unwrap().keepalive, Some(25));
    assert_eq!(device.peers.iter().map(|peer| peer.allowed_ips.len()).sum::<usize>(), 1);

    // update_only makes no peer; remove removes; replace_peers removes the rest.
    set(&running, &format!("set=1\npublic_key={}\nupdate_only=true\nallowed_ip=10.9.0.0/24\n\n", hex(12)));
    assert_eq!(get(&running).peers.len(), 2);
    set(&running, &format!("set=1\npublic_key={a}\nremove=true\n\n"));
    assert_eq!(get(&running).peers.len(), 1);
    set(&running, "set=1\nreplace_peers=true\n\n");
    assert!(get(&running).peers.is_empty());
}

#[test]
fn a_peer_with_our_own_key_is_not_one() {
    let running = start_one();
    set(&running, &format!("set=1\npublic_key={}\nallowed_ip=10.0.0.0/24\n\n", ours().public().to_hex()));
    assert!(get(&running).peers.is_empty());
    set(&running, &format!("set=1\nprivate_key={}\n\n", hex(0)));
    assert_eq!(get(&running).private_key, None);
}

#[test]
fn the_port_changes_unless_it_is_taken() {
    let running = start_one();
    let taken = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = get(&running).listen_port;
    assert_eq!(
        set(&running, &format!("set=1\nlisten_port={}\n\n", taken.local_addr().unwrap().port())),
        libc::EADDRINUSE
    );
    assert_eq!(get(&running).listen_port, port);
    assert_eq!(set(&running, "set=1\nlisten_port=0\n\n"), 0);
    assert_ne!(get(&running).listen_port, port);
}

#[test]
fn a_flood_of_handshakes_keeps_no_command_waiting() {
    let running = start_one();
    running.flood.store(true, Ordering::Relaxed);
    running.handle.request(Command::Ping).unwrap();
    let start = Instant::now();
    for _ in 0..10 {
        running.handle.request(Command::Ping).unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn the_first_handshake_goes_out_at_once() {
    let running = start_one();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut config = PeerConfig::new(PrivateKey::from_random([2; 32]).public());
    config.endpoint = Some(other.local_addr().unwrap());
    config.persistent_keepalive = Some(25);
    let peer = FilePeer { config, name: None, tls: None };
    running.handle.request(|done| Command::Peers { gone: vec![], changed: vec![peer], done }).unwrap();
    let mut bytes = [0; 2048];
    let (n, from) = other.recv_from(&mut bytes).unwrap();
    assert_eq!((n, &bytes[..4]), (148, &[1, 0, 0, 0][..]));

    // The other end, by the same engine, finds it good.
    let mut engine = Engine::new(EngineConfig::new(PrivateKey::from_random([2; 32])), [6; 32]);
    engine.upsert_peer(Clock.now(), PeerConfig::new(ours().public()));
    engine.handle(Clock.now(), Endpoint::new(from), &mut bytes[..n]);
    assert!(engine.poll_output().is_some());
}

#[test]
fn a_looked_up_address_is_taken_and_the_name_kept() {
    let running = start_one();
    let key = PublicKey::from_bytes([9; 32]);
    let name = warren_wire::config::Endpoint {
        host: warren_wire::config::Host::Name("hub.example.net".into()),
        port: 51820,
    };
    let peer = FilePeer { config: PeerConfig::new(key), name: Some(name), tls: None };
    running.handle.request(|done| Command::Peers { gone: vec![], changed: vec![peer], done }).unwrap();
    running.handle.send(Command::Endpoint(key, "192.0.2.7:51820".parse().unwrap()));
    let status = running.handle.request(Command::Status).unwrap();
    assert_eq!(status.peers[0].endpoint, Some("192.0.2.7:51820".parse().unwrap()));
    assert_eq!(status.peers[0].endpoint_name.as_deref(), Some("hub.example.net:51820"));

    // Who sets an address by `wg set` means it.
    let change = PeerChange { endpoint: Some("192.0.2.8:1".parse().unwrap()), ..PeerChange::of(key) };
    let set = Set { peers: vec![change], ..Set::default() };
    running.handle.request(|done| Command::Set(Box::new(set), done)).unwrap();
    running.handle.send(Command::Endpoint(key, "192.0.2.7:51820".parse().unwrap()));
    let status = running.handle.request(Command::Status).unwrap();
    assert_eq!(status.peers[0].endpoint, Some("192.0.2.8:1".parse().unwrap()));
    assert!(running.lookups.try_recv().is_err());
}

#[test]
fn what_differs_between_two_files() {
    let peer = |byte: u8, keepalive: Option<u16>| {
        let mut config = PeerConfig::new(PublicKey::from_bytes([byte; 32]));
        config.persistent_keepalive = keepalive;
        FilePeer { config, name: None, tls: None }
    };
    let before = [peer(1, None), peer(2, None), peer(3, None)];
    let after = [peer(2, None), peer(3, Some(25)), peer(4, None)];
    let (gone, changed) = difference(&before, &after);
    assert_eq!(gone, [PublicKey::from_bytes([1; 32])]);
    assert_eq!(changed, [peer(3, Some(25)), peer(4, None)]);
}

fn offer(key: PublicKey, at: std::net::SocketAddr, until: Duration) -> DirectOffer {
    DirectOffer {
        public_key: key,
        name: "train-1.trainers".into(),
        endpoints: vec![at],
        rules: warren_proto::plane::DirectRules {
            addresses: vec!["10.100.0.7".parse().unwrap()],
            opens: Vec::new(),
            accepts: Vec::new(),
        },
        until,
    }
}

#[test]
fn an_offer_ends_unless_it_is_repeated() {
    let running = start_one();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (key, at) = (PrivateKey::from_random([2; 32]).public(), other.local_addr().unwrap());
    let peers = || get(&running).peers;
    let until = |millis| Clock.mono() + Duration::from_millis(millis);
    running.handle.send(Command::Direct(vec![offer(key, at, until(700))]));
    // It is tried at once, and is not routed to by an allowed IP.
    let (length, _) = other.recv_from(&mut [0; 2048]).unwrap();
    assert_eq!((length, peers().len(), peers()[0].allowed_ips.len()), (148, 1, 0));
    std::thread::sleep(Duration::from_millis(500));
    running.handle.send(Command::Direct(vec![offer(key, at, until(1500))]));
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(peers().len(), 1);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(peers().is_empty());
    // And at once when the gateway withdraws it.
    running.handle.send(Command::Direct(vec![offer(key, at, until(60_000))]));
    assert_eq!(peers().len(), 1);
    running.handle.send(Command::Direct(Vec::new()));
    assert!(peers().is_empty());
}

#[test]
fn an_offer_replaces_no_configured_peer() {
    let running = start_one();
    let key = PublicKey::from_bytes([9; 32]);
    let mut config = PeerConfig::new(key);
    config.allowed_ips = vec!["10.0.0.0/8".parse().unwrap()];
    let peer = FilePeer { config, name: None, tls: None };
    running.handle.request(|done| Command::Peers { gone: vec![], changed: vec![peer], done }).unwrap();
    let before = get(&running).peers;
    let at = "127.0.0.1:9".parse().unwrap();
    running.handle.send(Command::Direct(vec![offer(key, at, Clock.mono() + Duration::from_secs(60))]));
    running.handle.send(Command::Direct(Vec::new()));
    let after = get(&running).peers;
    assert_eq!((before.len(), before[0].allowed_ips.len()), (1, 1));
    assert_eq!((after.len(), &after[0].allowed_ips, after[0].endpoint), (1, &before[0].allowed_ips, None));
}
