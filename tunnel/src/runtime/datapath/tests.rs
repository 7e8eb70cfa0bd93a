//! Two data paths over loopback, with sockets in place of the devices.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};
use warren_device::tun::checksum::{fill_ipv4_header, fold, pseudo, sum};
use warren_device::tun::vnet::{GSO_TCPV4, NEEDS_CSUM, VNET_HEADER, Vnet};
use warren_device::tun::{FRAME, TunOffload, split};
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::{DropReason, Endpoint};
use warren_transport::udp::UdpOptions;
use warren_wire::PrivateKey;

use super::*;

struct Side {
    engine: Engine,
    plane: Arc<Plane>,
    udp: Arc<Udp>,
    receiver: ControlReceiver,
    datapath: Datapath,
    /// What the kernel would have of the device.
    kernel: OwnedFd,
    /// The device itself.
    device: OwnedFd,
}

fn side(number: u8) -> Side {
    let key = PrivateKey::from_random([number; 32]);
    let engine = Engine::new(EngineConfig::new(key), [number; 32]);
    let udp = Arc::new(Udp::open(UdpOptions::default()).unwrap());
    let (ours, kernel) = socketpair(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let device = ours.try_clone().unwrap();
    let offload = TunOffload { vnet: true, checksum: true, tso: true, uso: true };
    let (control, receiver) = control_channel(16).unwrap();
    let datapath = Datapath::start(DatapathConfig {
        plane: engine.plane(),
        device: Device::Tun(vec![Queue::from_fd(ours, "test", offload)]),
        udp: Arc::clone(&udp),
        streams: Streams::new(|| Clock.mono(), Box::new(|| {})).unwrap(),
        control,
        clock: Clock,
        mtu: 1420,
    })
    .unwrap();
    Side { plane: engine.plane(), engine, udp, receiver, datapath, kernel, device }
}

/// Side 1 is 10.0.0.1 and knows where side 2, 10.0.0.2, is.
fn pair() -> [Side; 2] {
    let mut sides = [side(1), side(2)];
    for number in 1..=2u8 {
        let other = PrivateKey::from_random([3 - number; 32]).public();
        let mut peer = PeerConfig::new(other);
        peer.allowed_ips = vec![format!("10.0.0.{}/32", 3 - number).parse().unwrap()];
        if number == 1 {
            peer.endpoint = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, sides[1].udp.port())));
        }
        sides[usize::from(number) - 1].engine.upsert_peer(Clock.now(), peer);
    }
    sides
}

impl Side {
    fn pump(&mut self) {
        self.receiver.acknowledge();
        while let Some(message) = self.receiver.next() {
            match message {
                Control::Datagram { from, mut bytes } => self.engine.handle(Clock.now(), from, &mut bytes),
                Control::Wakeup => self.engine.serve_wakeups(Clock.now()),
            }
        }
        self.engine.handle_timeout(Clock.now());
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::Transmit { to, bytes, .. } => self.udp.send_one(&to, &bytes).unwrap(),
                Output::Flush(id) => self.datapath.flush(&self.plane.peer(id).unwrap()),
                Output::Established(_) | Output::Arrived(_) | Output::Expired(_) => {}
            }
        }
    }

    fn write(&self, frame: &[u8]) {
        // A socket's queue is short.
        while rustix::io::write(&self.kernel, frame) == Err(rustix::io::Errno::AGAIN) {
            std::thread::yield_now();
        }
    }
}

/// Drives both control sides until the test's end has a frame for the device of `side`.
fn read(sides: &mut [Side; 2], side: usize) -> Option<Vec<u8>> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(5) {
        sides.iter_mut().for_each(Side::pump);
        let mut frame = vec![0; FRAME];
        if let Ok(length) = rustix::io::read(&sides[side].kernel, &mut frame) {
            frame.truncate(length);
            return Some(frame);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

fn eventually(sides: &mut [Side; 2], mut done: impl FnMut(&[Side; 2]) -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(5) {
        sides.iter_mut().for_each(Side::pump);
        if done(sides) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// A frame with a packet of `protocol` whose transport part is `body`.
fn frame(vnet: Vnet, protocol: u8, from: [u8; 4], to: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut frame = vnet.encode().to_vec();
    let total = (20 + body.len() as u16).to_be_bytes();
    frame.extend_from_slice(&[0x45, 1, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend_from_slice(&from);
    frame.extend_from_slice(&to);
    fill_ipv4_header(&mut frame[VNET_HEADER..]);
    frame.extend_from_slice(body);
    frame
}

fn ping(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    frame(Vnet::default(), 1, from, to, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0, 1, 2, 3])
}

const ONE: [u8; 4] = [10, 0, 0, 1];
const TWO: [u8; 4] = [10, 0, 0, 2];

#[test]
fn the_first_packet_waits_for_the_handshake_and_arrives() {
    let mut sides = pair();
    sides[0].write(&ping(ONE, TWO));
    assert_eq!(read(&mut sides, 1), Some(ping(ONE, TWO)));
    // And back, to an endpoint that was learnt.
    sides[1].write(&ping(TWO, ONE));
    assert_eq!(read(&mut sides, 0), Some(ping(TWO, ONE)));
}

#[test]
fn a_long_frame_arrives_as_it_was() {
    let mut sides = pair();
    sides[0].write(&ping(ONE, TWO));
    read(&mut sides, 1).unwrap();
    let mut tcp = vec![0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 9, 9, 0, 0, 0, 0];
    tcp.extend((0..60_000u32).map(|n| (n / 7) as u8));
    let addresses = [ONE, TWO].concat();
    let partial = fold(pseudo(&addresses, 6, tcp.len()));
    tcp[16..18].copy_from_slice(&partial.to_ne_bytes());
    let vnet = Vnet {
        flags: NEEDS_CSUM,
        gso_type: GSO_TCPV4,
        hdr_len: 40,
        gso_size: 1380,
        csum_start: 20,
        csum_offset: 16,
    };
    let sent = frame(vnet, 6, ONE, TWO, &tcp);
    sides[0].write(&sent);
    let mut packets = Vec::new();
    while packets.len() < 60_000usize.div_ceil(1380) {
        let received = read(&mut sides, 1).unwrap();
        let frame = split::parse(&received).unwrap();
        for index in 0..frame.segments() {
            let mut packet = vec![0; frame.segment_len(index)];
            assert!(frame.write(index, &mut packet));
            let check = pseudo(&packet[12..20], 6, packet.len() - 20) + sum(&packet[20..]);
            assert_eq!(fold(check), 0xffff);
            packets.push(packet);
        }
    }
    let payload: Vec<u8> = packets.iter().flat_map(|packet| packet[40..].to_vec()).collect();
    assert_eq!(payload, tcp[20..]);
    // The first went with the flush.
    let expected = (2, packets.len() as u64);
    let counted = || {
        let stats = sides[0].datapath.stats();
        (stats.frames_in, stats.packets_sent)
    };
    // A packet is counted after it was sent, so it may arrive earlier.
    let deadline = Instant::now() + Duration::from_secs(10);
    while counted() != expected && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(counted(), expected);
}

#[test]
fn nobody_there_is_told_to_the_sender() {
    let mut sides = pair();
    sides[0].write(&ping(ONE, [10, 9, 9, 9]));
    let answer = read(&mut sides, 0).unwrap();
    assert_eq!(answer[VNET_HEADER + 20..VNET_HEADER + 22], [3, 1]);
    assert_eq!(sides[0].plane.drops().get(DropReason::NoRoute), 1);
    // Side 2 has never heard of side 1: there is no address to send to.
    sides[1].write(&ping(TWO, ONE));
    let answer = read(&mut sides, 1).unwrap();
    assert_eq!(answer[VNET_HEADER + 20..VNET_HEADER + 22], [3, 1]);
}

#[test]
fn a_source_that_is_not_the_peers_is_dropped() {
    let mut sides = pair();
    sides[0].write(&ping([10, 0, 0, 7], TWO));
    let one = sides[1].engine.find_peer(&PrivateKey::from_random([1; 32]).public()).unwrap();
    let dropped =
        |sides: &[Side; 2]| sides[1].plane.peer(one).unwrap().drops().get(DropReason::NotAllowed) == 1;
    assert!(eventually(&mut sides, dropped));
}

#[test]
fn what_is_no_message_is_counted_and_floods_are_bounded() {
    let mut sides = pair();
    let port = sides[1].udp.port();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"", ("127.0.0.1", port)).unwrap();
    for bytes in [&[7u8; 40][..], &[1, 0, 0, 0], &[4, 0, 0, 0]] {
        socket.send_to(bytes, ("127.0.0.1", port)).unwrap();
    }
    let mut data = [0u8; 48];
    data[0] = 4;
    socket.send_to(&data, ("127.0.0.1", port)).unwrap();
    assert!(eventually(&mut sides, |sides| {
        let drops = sides[1].plane.drops();
        drops.get(DropReason::Malformed) == 3 && drops.get(DropReason::NoSession) == 1
    }));
    let mut initiation = [0u8; 148];
    initiation[0] = 1;
    for _ in 0..100 {
        socket.send_to(&initiation, ("127.0.0.1", port)).unwrap();
    }
    let started = Instant::now();
    while sides[1].datapath.stats().control_dropped < 84 && started.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(sides[1].datapath.stats().control_dropped, 84);
    // The data path goes on. The queue is emptied first, or the handshake for this packet would be dropped with the flood.
    sides[1].pump();
    sides[0].write(&ping(ONE, TWO));
    assert!(read(&mut sides, 1).is_some());
}

/// The kernel answers within a write. What it answers may go out by another thread, and an end that only receives learns from
/// answers without an echo that a path is lost: a report of the batch after its write would hide them.
#[test]
fn a_batch_is_reported_before_it_is_written() {
    let mut sides = pair();
    sides[0].write(&ping(ONE, TWO));
    read(&mut sides, 1).unwrap();
    // From now on a write to the device waits.
    let device = sides[1].device.try_clone().unwrap();
    rustix::io::ioctl_fionbio(&device, false).unwrap();
    while rustix::net::send(&device, b"full", SendFlags::DONTWAIT).is_ok() {}
    let one = sides[1].engine.find_peer(&PrivateKey::from_random([1; 32]).public()).unwrap();
    let packets = move |sides: &[Side; 2]| sides[1].plane.peer(one).unwrap().traffic().rx_packets;
    let before = packets(&sides);
    sides[0].write(&ping(ONE, TWO));
    let reported = eventually(&mut sides, |sides| packets(sides) == before + 1);
    let written = sides[1].datapath.stats().packets_received;
    // Nothing may wait when the threads are to end.
    rustix::io::ioctl_fionbio(&device, true).unwrap();
    sides[1].write(&ping(TWO, ONE));
    while read(&mut sides, 1).unwrap() == b"full" {}
    assert!(reported, "the packet is reported while its write waits");
    assert_eq!(written, 1, "it had not been written by then");
}

/// Lets the threads of a side end, and runs a receiving thread alone.
fn receiving_alone(side: &mut Side) -> std::thread::JoinHandle<io::Result<()>> {
    side.datapath.halt();
    let shared = Arc::clone(&side.datapath.shared);
    rustix::io::read(&shared.stop, &mut [0; 8]).unwrap();
    shared.stopping.store(false, Ordering::Relaxed);
    std::thread::spawn(move || inbound::run(&shared, 0))
}

#[test]
fn what_the_kernel_answers_needs_no_sending_thread() {
    let mut sides = pair();
    sides[0].write(&ping(ONE, TWO));
    read(&mut sides, 1).unwrap();
    let receiving = receiving_alone(&mut sides[1]);
    sides[1].write(&ping(TWO, ONE));
    assert_eq!(sides[1].datapath.stats().frames_in, 0);
    sides[0].write(&ping(ONE, TWO));
    assert_eq!(read(&mut sides, 0), Some(ping(TWO, ONE)));
    sides[1].datapath.halt();
    receiving.join().unwrap().unwrap();
}

#[test]
fn a_receiving_thread_sends_a_few_answers_and_leaves_transfers_to_the_sending_thread() {
    let mut sides = pair();
    sides[0].write(&ping(ONE, TWO));
    read(&mut sides, 1).unwrap();
    sides[0].datapath.halt();
    let shared = Arc::clone(&sides[0].datapath.shared);
    let frames = || shared.outbound[0].frames.load(Ordering::Relaxed);
    let (before, now) = (frames(), Clock.mono());
    for _ in 0..6 {
        sides[0].write(&ping(ONE, TWO));
    }
    let held = shared.halves[0].lock();
    outbound::answer(&shared, 0, now);
    assert_eq!(frames() - before, 0, "somebody else sends");
    drop(held);
    outbound::answer(&shared, 0, now);
    assert_eq!(frames() - before, 4);
    for _ in 0..4 {
        assert!(read(&mut sides, 1).is_some(), "a batch that is not full is sent, too");
    }
    let long = frame(Vnet::default(), 253, ONE, TWO, &[0; 5_000]);
    sides[0].write(&long);
    outbound::answer(&shared, 0, now);
    assert_eq!(frames() - before, 7);
    sides[0].write(&ping(ONE, TWO));
    outbound::answer(&shared, 0, now + Duration::from_millis(1));
    assert_eq!(frames() - before, 7, "there was a transfer just now");
    outbound::answer(&shared, 0, now + Duration::from_millis(3));
    assert_eq!(frames() - before, 8);
}

#[test]
fn packets_that_wait_are_bounded_and_arrive_in_order() {
    let mut sides = pair();
    for number in 0..200u8 {
        sides[0].write(&frame(Vnet::default(), 253, ONE, TWO, &[number; 100]));
    }
    let mut last = None;
    for _ in 0..100 {
        let Some(received) = read(&mut sides, 1) else { break };
        let number = received[VNET_HEADER + 20];
        assert!(last.is_none_or(|last| number > last));
        last = Some(number);
    }
    assert!(last.is_some());
}

#[test]
fn stopping_waits_for_nothing() {
    let [one, two] = pair();
    let started = Instant::now();
    one.datapath.stop();
    drop(two.datapath);
    assert!(started.elapsed() < Duration::from_secs(2));
    let to = Endpoint::new(SocketAddr::from((Ipv4Addr::LOCALHOST, one.udp.port())));
    one.udp.send_one(&to, b"the sockets outlive the threads").unwrap();
}
