//! Two devices whose packets go to each other.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::task::LocalSet;

use super::*;

const LEFT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RIGHT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PATIENCE: Duration = Duration::from_secs(10);

fn device(address: IpAddr, memory: usize) -> (Driver, Net) {
    let shared = Arc::new(OnceLock::<Weak<shared::Shared>>::new());
    let known = Arc::clone(&shared);
    let (driver, net) = open(UserConfig {
        addresses: vec![address],
        mtu: 1_380,
        memory,
        congestion: Box::new(move |to| {
            // Another thread can use the stack meanwhile: the look-up may take its time.
            let (done, used) = mpsc::channel();
            let shared = known.get().and_then(Weak::upgrade);
            thread::spawn(move || done.send(shared.map(|shared| shared.lock().stack.streams())));
            assert!(used.recv_timeout(PATIENCE).unwrap().is_some());
            if to == LEFT { Congestion::Cubic } else { Congestion::Bbr }
        }),
        seed: [u8::from(address == LEFT); 32],
        forward: None,
        pass: None,
        routes: Box::new(|to| to == LEFT || to == RIGHT || to == IpAddr::from([10, 0, 0, 3])),
    })
    .unwrap();
    shared.set(Arc::downgrade(&net.shared)).unwrap();
    (driver, net)
}

/// The packets of one turn, and whether there is more.
fn turn(driver: &mut Driver, packets: &[Vec<u8>]) -> (Vec<Vec<u8>>, bool) {
    let more = driver.turn(packets.iter().map(Vec::as_slice)) == Turn::Again;
    (driver.batch().iter().map(<[u8]>::to_vec).collect(), more)
}

/// Runs a test on two devices that are joined as long as it takes.
fn joined<T: Future<Output = ()>>(memory: usize, test: impl FnOnce(Net, Net) -> T) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (mut left, left_net) = device(LEFT, memory);
    let (mut right, right_net) = device(RIGHT, memory);
    LocalSet::new().block_on(&runtime, async {
        tokio::task::spawn_local(async move {
            let mut to_left = Vec::new();
            loop {
                let (to_right, one) = turn(&mut left, &to_left);
                let (answers, other) = turn(&mut right, &to_right);
                to_left = answers;
                if one || other || !to_left.is_empty() {
                    tokio::task::yield_now().await;
                } else {
                    tokio::time::sleep(Duration::from_micros(200)).await;
                }
            }
        });
        tokio::time::timeout(Duration::from_secs(60), test(left_net, right_net)).await.unwrap();
    });
}

/// Each stream has the congestion control of its other end, whoever opened it.
#[test]
fn streams_have_the_congestion_control_of_their_peer() {
    joined(1 << 20, |left, right| async move {
        let (to_right, to_left) = (right.listen(at(7)).unwrap(), left.listen(at(7)).unwrap());
        let count = |net: &Net| Congestion::ALL.map(|congestion| net.streams_with(congestion));
        let out = left.connect(SocketAddr::new(RIGHT, 7)).await.unwrap();
        let inside = to_right.accept().await.unwrap();
        assert_eq!((count(&left), count(&right)), ([1, 0], [0, 1]));
        let back = right.connect(SocketAddr::new(LEFT, 7)).await.unwrap();
        let other = to_left.accept().await.unwrap();
        assert_eq!((count(&left), count(&right)), ([2, 0], [0, 2]));
        // Until they end.
        drop((out, inside));
        assert_eq!((count(&left), count(&right)), ([1, 0], [0, 1]));
        drop((back, other));
        assert_eq!((count(&left), count(&right)), ([0, 0], [0, 0]));
    });
}

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, port).into()
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at * at / 7) as u8).collect()
}

#[test]
fn bytes_go_both_ways_and_each_direction_ends_by_itself() {
    joined(8 << 20, |left, right| async move {
        let listener = right.listen(at(80)).unwrap();
        let data = bytes(3_000_000);
        let expected = data.clone();
        let server = tokio::task::spawn_local(async move {
            let mut stream = listener.accept().await.unwrap();
            assert_eq!((stream.local().ip(), stream.remote().ip()), (RIGHT, LEFT));
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            // The other direction is still open.
            stream.write_all(&all).await.unwrap();
            stream.shutdown().await.unwrap();
            all
        });
        let mut stream = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        stream.write_all(&data).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(stream.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        let mut back = Vec::new();
        stream.read_to_end(&mut back).await.unwrap();
        assert!(back == expected && server.await.unwrap() == expected);
        drop(stream);
        while left.streams() + right.streams() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(left.memory().buffers, 0);
    });
}

#[test]
fn reasons_are_told_apart() {
    joined(8 << 20, |left, right| async move {
        let connect = |to: IpAddr, port| {
            let left = left.clone();
            async move { left.connect(SocketAddr::new(to, port)).await.unwrap_err() }
        };
        assert_eq!(connect(RIGHT, 81).await, ConnectError::Refused);
        let elsewhere = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(connect(elsewhere, 80).await, ConnectError::NoRoute(elsewhere));
        assert_eq!(connect("::ffff:192.0.2.1".parse().unwrap(), 80).await, ConnectError::NoRoute(elsewhere));
        assert!(right.listen(at(80)).is_ok());
        let _listener = right.listen(at(80)).unwrap();
        assert_eq!(right.listen(at(80)).err(), Some(BindError::InUse(80)));
    });
}

#[test]
fn a_stream_that_is_dropped_unfinished_is_reset() {
    joined(8 << 20, |left, right| async move {
        let listener = right.listen(at(80)).unwrap();
        let stream = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        let mut accepted = listener.accept().await.unwrap();
        drop(stream);
        let error = accepted.read(&mut [0; 16]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!(accepted.write(b"x").await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        drop(accepted);
        assert_eq!(left.streams() + right.streams(), 0);
        // An attempt that is given up leaves nothing.
        let attempt = left.connect(SocketAddr::new([10, 0, 0, 3].into(), 80));
        assert!(tokio::time::timeout(Duration::from_millis(20), attempt).await.is_err());
        assert_eq!(left.streams(), 0);
    });
}

#[test]
fn a_reader_that_does_not_read_stops_the_writer_and_not_the_others() {
    const MEMORY: usize = 2 << 20;
    joined(MEMORY, |left, right| async move {
        let listener = right.listen(at(80)).unwrap();
        let mut stuck = Vec::new();
        let written = Rc::new(std::cell::Cell::new(0_usize));
        for _ in 0..20 {
            let mut stream = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
            stuck.push(listener.accept().await.unwrap());
            let written = Rc::clone(&written);
            tokio::task::spawn_local(async move {
                while let Ok(count) = stream.write(&[7; 65_536]).await {
                    written.set(written.get() + count);
                }
            });
        }
        let mut before = usize::MAX;
        while before != written.get() {
            before = written.get();
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        assert!(before < 2 * MEMORY, "{before}");
        assert!(left.memory().buffers_peak <= MEMORY && right.memory().buffers_peak <= MEMORY);
        let mut stream = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        let mut accepted = listener.accept().await.unwrap();
        stream.write_all(b"small").await.unwrap();
        let mut small = [0; 5];
        accepted.read_exact(&mut small).await.unwrap();
        assert_eq!(&small, b"small");
        // One that reads again gets everything on.
        let mut first = stuck.swap_remove(0);
        let mut buffer = vec![0; 65_536];
        let mut read = 0;
        while read < 4 * MEMORY {
            read += first.read(&mut buffer).await.unwrap();
        }
    });
}

#[test]
fn what_is_peeked_at_stays_until_it_is_taken() {
    joined(1 << 20, |left, right| async move {
        let listener = right.listen(at(80)).unwrap();
        let mut client = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        let mut server = listener.accept().await.unwrap();
        client.write_all(b"hello").await.unwrap();
        let peek = |server: &Stream| {
            let mut buffer = [0; 8];
            let mut space = ReadBuf::new(&mut buffer);
            let context = Context::from_waker(Waker::noop());
            server.poll_peek(&context, &mut space).map(|read| read.map(|()| space.filled().to_vec()).unwrap())
        };
        std::future::poll_fn(|context| server.poll_readable(context)).await;
        assert_eq!(peek(&server), Poll::Ready(b"hello".to_vec()));
        server.take_peeked(2);
        assert_eq!(peek(&server), Poll::Ready(b"llo".to_vec()));
        server.read_exact(&mut [0; 3]).await.unwrap();
        assert_eq!(peek(&server), Poll::Pending);
        client.shutdown().await.unwrap();
        std::future::poll_fn(|context| server.poll_readable(context)).await;
        assert_eq!(peek(&server), Poll::Ready(Vec::new()), "the end");
    });
}

#[test]
fn datagrams_cross_and_say_who_sent_them() {
    joined(1 << 20, |left, right| async move {
        let server = right.bind_udp(at(53)).unwrap();
        assert_eq!(right.bind_udp(at(53)).err(), Some(BindError::InUse(53)));
        let client = left.bind_udp(at(0)).unwrap();
        for size in [0, 1, 1_300] {
            client.send_to(&bytes(size), SocketAddr::new(RIGHT, 53)).await.unwrap();
            let mut buffer = [0; 2_000];
            let (length, from) = server.recv_from(&mut buffer).await.unwrap();
            assert_eq!(
                (&buffer[..length], from),
                (&bytes(size)[..], SocketAddr::new(LEFT, client.local().port()))
            );
        }
        let error = client.send_to(&[0; 1_400], SocketAddr::new(RIGHT, 53)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        // More than a queue holds: senders wait, nothing is refused.
        for _ in 0..1_000 {
            client.send_to(b"many", SocketAddr::new(RIGHT, 9)).await.unwrap();
        }
    });
}

#[test]
fn the_end_of_the_device_is_told_to_all() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (driver, net) = device(LEFT, 1 << 20);
    runtime.block_on(async {
        let listener = net.listen(at(80)).unwrap();
        let socket = net.bind_udp(at(0)).unwrap();
        let ended = tokio::task::spawn({
            let net = net.clone();
            async move { net.connect(SocketAddr::new(RIGHT, 80)).await.unwrap_err() }
        });
        tokio::task::yield_now().await;
        drop(driver);
        assert_eq!(ended.await.unwrap(), ConnectError::Down);
        assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::NetworkDown);
        assert_eq!(socket.recv_from(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::NetworkDown);
        assert_eq!(net.listen(at(81)).err(), Some(BindError::Down));
    });
}

#[test]
fn streams_of_a_way_that_is_gone_end_and_others_come_up() {
    joined(1 << 20, |left, right| async move {
        let listener = right.listen(at(80)).unwrap();
        let mut waiting = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        let _accepted = listener.accept().await.unwrap();
        left.abort_all();
        assert_eq!(waiting.read(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        let (begun, accepted) = tokio::join!(left.connect(SocketAddr::new(RIGHT, 80)), async {
            left.abort_all();
            listener.accept().await
        });
        begun.unwrap();
        accepted.unwrap();
    });
}

#[test]
fn streams_of_an_address_that_is_gone_end() {
    joined(1 << 20, |left, right| async move {
        let listener = right.listen(at(80)).unwrap();
        let mut stream = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        let mut accepted = listener.accept().await.unwrap();
        left.set_addresses(vec![IpAddr::from([10, 0, 0, 3])]);
        assert_eq!(stream.read(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::HostUnreachable);
        assert_eq!(accepted.read(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        left.set_mtu(1_280);
        let mut stream = left.connect(SocketAddr::new(RIGHT, 80)).await.unwrap();
        assert_eq!(stream.local().ip(), IpAddr::from([10, 0, 0, 3]));
        let mut accepted = listener.accept().await.unwrap();
        let data = bytes(100_000);
        let (sent, received) = tokio::join!(
            async {
                stream.write_all(&data).await.unwrap();
                stream.shutdown().await
            },
            async {
                let mut all = Vec::new();
                accepted.read_to_end(&mut all).await.map(|_| all)
            }
        );
        sent.unwrap();
        assert!(received.unwrap() == data);
    });
}
