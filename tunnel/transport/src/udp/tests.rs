//! Over loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use warren_proto::plane::Endpoint;

use super::*;

fn receive(receiver: &mut Receiver, count: usize) -> Vec<(Endpoint, u8, Vec<u8>)> {
    let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let mut all = Vec::new();
    let started = Instant::now();
    while all.len() < count && started.elapsed() < Duration::from_secs(5) {
        assert_eq!(receiver.receive(stop.as_fd()).unwrap(), Wake::Datagrams);
        let (buffer, found) = receiver.parts();
        for datagram in found {
            for place in datagram.places() {
                all.push((datagram.from, datagram.ecn, buffer[place].to_vec()));
            }
        }
    }
    all
}

fn both_ways(offload: bool, to: &str) {
    let options = UdpOptions { offload, ..UdpOptions::default() };
    let (one, two) = (Udp::open(options).unwrap(), Arc::new(Udp::open(options).unwrap()));
    let to: SocketAddr = format!("{to}:{}", two.port()).parse().unwrap();
    if to.is_ipv6() && !two.families().v6 {
        return;
    }
    let mut receiver = Receiver::new(Arc::clone(&two), 0);
    let bytes: Vec<u8> = (0..10 * 1452 + 77).map(|n: u32| (n / 1452) as u8).collect();
    one.send_segments(0, &Endpoint::new(to), &bytes, 1452, 1).unwrap();
    let came = receive(&mut receiver, 11);
    assert_eq!(came.len(), 11);
    for (n, (from, ecn, datagram)) in came.iter().enumerate() {
        assert_eq!(datagram.len(), if n == 10 { 77 } else { 1452 });
        assert!(datagram.iter().all(|byte| usize::from(*byte) == n));
        assert_eq!(*ecn, 1);
        assert_eq!(from.remote.port(), one.port());
        assert_eq!(from.local.map(|l| l.0), Some(to.ip()));
    }
    let mut back = Receiver::new(Arc::new(one), 0);
    two.send_one(&came[0].0, b"answer").unwrap();
    let answer = receive(&mut back, 1);
    assert_eq!(answer[0].2, b"answer");
    assert_eq!(answer[0].0.remote, to);
}

#[test]
fn many_datagrams_a_call() {
    for offload in [true, false] {
        both_ways(offload, "127.0.0.1");
        both_ways(offload, "[::1]");
    }
}

#[test]
fn answers_come_from_the_address_asked() {
    both_ways(true, "127.0.0.9");
}

#[test]
fn offloads_can_be_left_out() {
    let udp = Udp::open(UdpOptions { offload: false, ..UdpOptions::default() }).unwrap();
    assert_eq!(udp.capabilities(), UdpOffload::default());
}

#[test]
fn a_closed_port_is_no_error_for_good() {
    let closed = Udp::bind(0, None).unwrap().port();
    let udp = Udp::bind(0, None).unwrap();
    let to = Endpoint::new(SocketAddr::from(([127, 0, 0, 1], closed)));
    for _ in 0..10 {
        udp.send_one(&to, b"nobody").unwrap();
    }
}

#[test]
fn a_local_address_that_is_gone_is_left_out() {
    let (one, two) = (Udp::bind(0, None).unwrap(), Arc::new(Udp::bind(0, None).unwrap()));
    let remote = SocketAddr::from(([127, 0, 0, 1], two.port()));
    let to = Endpoint { local: Some(([192, 0, 2, 77].into(), 1)), ..Endpoint::new(remote) };
    one.send_segments(0, &to, &[5; 3000], 1000, 0).unwrap();
    assert_eq!(receive(&mut Receiver::new(two, 0), 3).len(), 3);
}

#[test]
fn longer_than_the_path_takes_is_sent_one_by_one() {
    let (one, two) = (Udp::bind(0, None).unwrap(), Arc::new(Udp::bind(0, None).unwrap()));
    let to = Endpoint::new(SocketAddr::from(([127, 0, 0, 1], two.port())));
    // More segments than any kernel takes.
    one.send_segments(0, &to, &[5; 65_000], 10, 0).unwrap();
    assert!(!receive(&mut Receiver::new(two, 0), 1).is_empty());
}

#[test]
fn stop_wakes_a_receiver() {
    let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let mut receiver = Receiver::new(Arc::new(Udp::bind(0, None).unwrap()), 0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| receiver.receive(stop.as_fd()).unwrap());
        std::thread::sleep(Duration::from_millis(20));
        rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
        assert_eq!(waiting.join().unwrap(), Wake::Stop);
    });
}

#[test]
fn pairs_share_the_port() {
    let udp = Udp::open(UdpOptions { queues: 2, ..UdpOptions::default() }).unwrap();
    assert_eq!(udp.queues(), 2);
    for queues in [1, 2] {
        let again = UdpOptions { port: udp.port(), queues, ..UdpOptions::default() };
        assert_eq!(Udp::open(again).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    }
}

/// Both pairs receive, and all datagrams of a sender arrive at the same one, in order.
#[test]
fn a_sender_keeps_its_pair() {
    let mut udp = Udp::bind(0, None).unwrap();
    let senders: Vec<Udp> = (0..32).map(|_| Udp::bind(0, None).unwrap()).collect();
    udp.widen(2).unwrap();
    let udp = Arc::new(udp);
    let to = Endpoint::new(SocketAddr::from(([127, 0, 0, 1], udp.port())));
    for number in 0..3 {
        for sender in &senders {
            sender.send_segments(0, &to, &[number; 40], 40, 0).unwrap();
        }
    }
    let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let received = [0, 1].map(|queue| {
        let mut receiver = Receiver::new(Arc::clone(&udp), queue);
        let mut by_sender = std::collections::BTreeMap::<u16, Vec<u8>>::new();
        let wait = Some(Duration::from_millis(100));
        while receiver.receive_until(stop.as_fd(), [None, None], wait).unwrap() == Wake::Datagrams {
            let (buffer, found) = receiver.parts();
            for datagram in found {
                let seen = by_sender.entry(datagram.from.remote.port()).or_default();
                seen.extend(datagram.places().map(|place| buffer[place.start]));
            }
        }
        by_sender
    });
    assert_eq!(received[0].len() + received[1].len(), senders.len(), "{received:?}");
    assert!(received.iter().all(|pair| !pair.is_empty()), "{received:?}");
    assert!(received.iter().flat_map(|pair| pair.values()).all(|seen| *seen == [0, 1, 2]), "{received:?}");
}
