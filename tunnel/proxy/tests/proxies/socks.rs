//! SOCKS5 against real clients, wrong ones, and streams that end in every way.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use crate::common::{any, direct, echo, exchange, http_mirror, run, short, socks, until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
};
use warren_proxy::{Credentials, Limits, Refusal, Services};

const CONNECTED: &[u8] = &[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

fn request(command: u8, to: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(to) = to else { panic!("IPv4") };
    let mut bytes = vec![5, 1, 0, 5, command, 0, 1];
    bytes.extend_from_slice(&to.ip().octets());
    bytes.extend_from_slice(&to.port().to_be_bytes());
    bytes
}

async fn connect(proxy: SocketAddr, to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(&request(1, to)).await.unwrap();
    let mut reply = [0; 12];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply, CONNECTED);
    stream
}

#[tokio::test]
async fn curl_goes_through_by_name_and_by_address() {
    let (services, proxy) = socks(Limits::default()).await;
    let server = http_mirror().await;
    let url = format!("http://localhost:{}/by-name", server.port());
    let (code, text) = run("curl", &["-sS", "--socks5-hostname", &proxy.to_string(), &url]).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("GET /by-name HTTP/1.1"));
    let (code, text) =
        run("curl", &["-sS", "--socks5", &proxy.to_string(), &format!("http://{server}/by-address")]).await;
    assert_eq!(code, 0, "{text}");
    let snapshot = services.counters().snapshot();
    assert!(snapshot.received_bytes > 100 && snapshot.sent_bytes > 100);
    until("all closed", || services.counters().snapshot().open() == 0).await;
}

#[tokio::test]
async fn curl_is_told_why_not() {
    let (services, proxy) = socks(Limits::default()).await;
    let free = TcpListener::bind(any()).await.unwrap().local_addr().unwrap();
    let proxy = proxy.to_string();
    let (code, text) = run("curl", &["-sS", "--socks5-hostname", &proxy, &format!("http://{free}/")]).await;
    assert_eq!((code, text.contains("(5)")), (97, true), "{text}");
    let (code, text) = run("curl", &["-sS", "--socks5-hostname", &proxy, "http://nothing.invalid/"]).await;
    assert_eq!((code, text.contains("(4)")), (97, true), "{text}");
    assert_eq!(services.counters().snapshot().refused(Refusal::Refused), 1);
    assert_eq!(services.counters().snapshot().refused(Refusal::Name), 1);
}

#[tokio::test]
async fn users_need_their_password() {
    let services = Services::new(Limits::default());
    let credentials = Credentials::parse("ada:secret").unwrap();
    let proxy = services.socks(any(), direct(), Some(credentials)).await.unwrap();
    let url = format!("http://{}/", http_mirror().await);
    let proxy = proxy.to_string();
    let with = |user: &'static str| {
        ["-sS", "--socks5-hostname", &proxy, "--proxy-user", user, &url].map(str::to_owned)
    };
    for (user, expected) in [("ada:secret", 0), ("ada:wrong", 97), ("eve:secret", 97)] {
        let arguments = with(user);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(run("curl", &arguments).await.0, expected, "{user}");
    }
    assert_eq!(run("curl", &["-sS", "--socks5-hostname", &proxy, &url]).await.0, 97);
    assert_eq!(services.counters().snapshot().refused(Refusal::Authentication), 3);
}

#[tokio::test]
async fn wrong_inputs_are_answered_and_counted() {
    let (services, proxy) = socks(short()).await;
    let reply = |code: u8| [&[5, 0, 5, code, 0, 1][..], &[0; 6]].concat();
    let cases: &[(&str, &[u8], Vec<u8>, Refusal)] = &[
        ("SOCKS4", &[4, 1, 0, 80, 127, 0, 0, 1, 0], vec![], Refusal::Malformed),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n", vec![], Refusal::Malformed),
        ("no methods", &[5, 0], vec![5, 0xff], Refusal::Unsupported),
        ("only GSSAPI", &[5, 1, 1], vec![5, 0xff], Refusal::Unsupported),
        ("BIND", &request(2, any()), reply(7), Refusal::Unsupported),
        ("no such command", &request(9, any()), reply(7), Refusal::Unsupported),
        ("port 0", &request(1, any()), reply(4), Refusal::Malformed),
        ("address type", &[5, 1, 0, 5, 1, 0, 2, 1], reply(8), Refusal::Unsupported),
        ("reserved byte", &[5, 1, 0, 5, 1, 1, 1], reply(1), Refusal::Malformed),
        ("version of the request", &[5, 1, 0, 4, 1, 0, 1], reply(1), Refusal::Malformed),
        ("no name", &[5, 1, 0, 5, 1, 0, 3, 0, 0, 80], reply(4), Refusal::Malformed),
        ("a name that is none", b"\x05\x01\x00\x05\x01\x00\x03\x03a b\x00\x50", reply(4), Refusal::Malformed),
        ("not UTF-8", b"\x05\x01\x00\x05\x01\x00\x03\x01\xff\x00\x50", reply(4), Refusal::Malformed),
    ];
    for (name, bytes, expected, why) in cases {
        let before = services.counters().snapshot().refused(*why);
        let (back, _) = exchange(proxy, bytes).await;
        assert_eq!(back, *expected, "{name}");
        assert_eq!(services.counters().snapshot().refused(*why), before + 1, "{name}");
    }
    until("all closed", || services.counters().snapshot().open() == 0).await;
}

#[tokio::test]
async fn whoever_dawdles_loses_the_place() {
    let (services, proxy) = socks(short()).await;
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let mut trickle = request(1, any()).into_iter().cycle();
    // A byte every 50 ms: each keeps the stream lively, none completes the request in time.
    let end = loop {
        let byte = trickle.next().unwrap();
        if byte == 1 || stream.write_all(&[5, 255, 0][..1]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let mut back = [0; 16];
        match tokio::time::timeout(Duration::from_millis(50), stream.read(&mut back)).await {
            Err(_) => {}
            Ok(end) => break end,
        }
    };
    assert!(matches!(&end, Ok(0)) || end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    assert_eq!(services.counters().snapshot().refused(Refusal::Handshake), 1);
}

#[tokio::test]
async fn bytes_sent_before_the_answer_are_not_lost() {
    let (_services, proxy) = socks(Limits::default()).await;
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let eager = [request(1, echo().await), b"early".to_vec()].concat();
    stream.write_all(&eager).await.unwrap();
    stream.write_all(b" late").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).await.unwrap();
    assert_eq!(back, [CONNECTED, b"early late"].concat());
}

#[tokio::test]
async fn one_end_may_stop_sending_and_still_receive() {
    let (services, proxy) = socks(Limits::default()).await;
    let listener = TcpListener::bind(any()).await.unwrap();
    let mut client = connect(proxy, listener.local_addr().unwrap()).await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.write_all(b"all I have").await.unwrap();
    client.shutdown().await.unwrap();
    let mut got = String::new();
    server.read_to_string(&mut got).await.unwrap();
    assert_eq!(got, "all I have");
    // Much more than all buffers on the way hold.
    let body: Vec<u8> = (0..8_000_000_u32).map(|n| (n % 251) as u8).collect();
    let expected = body.clone();
    let sending = tokio::spawn(async move {
        server.write_all(&body).await.unwrap();
        server.shutdown().await.unwrap();
    });
    let mut back = Vec::new();
    client.read_to_end(&mut back).await.unwrap();
    sending.await.unwrap();
    assert!(back == expected);
    until("closed", || services.counters().snapshot().open() == 0).await;
    assert_eq!(services.counters().snapshot().reset, 0);
    assert_eq!(services.counters().snapshot().received_bytes, 8_000_000);
}

#[tokio::test]
async fn a_reset_is_passed_on_either_way() {
    let (services, proxy) = socks(Limits::default()).await;
    let listener = TcpListener::bind(any()).await.unwrap();
    for from_server in [true, false] {
        let client = connect(proxy, listener.local_addr().unwrap()).await;
        let (server, _) = listener.accept().await.unwrap();
        let (gone, mut left) = if from_server { (server, client) } else { (client, server) };
        gone.set_zero_linger().unwrap();
        drop(gone);
        let error = left.read(&mut [0; 16]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "from the server: {from_server}");
    }
    until("counted", || services.counters().snapshot().reset == 2).await;
}

#[tokio::test]
async fn a_reader_that_stops_holds_its_sender_back() {
    let (services, proxy) = socks(Limits::default()).await;
    let listener = TcpListener::bind(any()).await.unwrap();
    let mut client = connect(proxy, listener.local_addr().unwrap()).await;
    let (_server, _) = listener.accept().await.unwrap();
    let chunk = vec![0; 1 << 20];
    let mut taken = 0;
    while let Ok(written) = tokio::time::timeout(Duration::from_millis(500), client.write(&chunk)).await {
        taken += written.unwrap();
        assert!(taken < 64 << 20, "nobody reads, and still {taken} bytes were taken");
    }
    // What the proxy has written on is no more than what the server's socket holds.
    assert!(services.counters().snapshot().sent_bytes < taken as u64);
}

#[tokio::test]
async fn idle_streams_end_and_more_than_the_limit_are_reset() {
    let limits = Limits { idle: Duration::from_millis(200), streams: 2, ..Limits::default() };
    let (services, proxy) = socks(limits).await;
    let to = echo().await;
    let (mut one, _two) = (connect(proxy, to).await, connect(proxy, to).await);
    let (back, _) = exchange(proxy, &request(1, to)).await;
    assert_eq!(back, b"");
    assert_eq!(services.counters().snapshot().refused(Refusal::Limit), 1);
    let error = one.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    until("both idle", || services.counters().snapshot().idle == 2).await;
}

#[tokio::test]
async fn a_shutdown_lets_streams_finish_for_a_while() {
    let (services, proxy) = socks(Limits::default()).await;
    let to = echo().await;
    let (mut quick, mut slow) = (connect(proxy, to).await, connect(proxy, to).await);
    let ending = services.clone();
    let ended = tokio::spawn(async move { ending.shutdown(Duration::from_secs(1)).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(proxy).await.is_err(), "no longer listening");
    quick.write_all(b"still here").await.unwrap();
    quick.shutdown().await.unwrap();
    let mut back = String::new();
    quick.read_to_string(&mut back).await.unwrap();
    assert_eq!(back, "still here");
    assert_eq!(ended.await.unwrap(), 1, "one was left");
    assert!(slow.read(&mut [0; 1]).await.is_err());
}

/// An association: its stream, the client's socket, and where the proxy takes datagrams.
async fn associate(proxy: SocketAddr) -> (TcpStream, UdpSocket, SocketAddr) {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(&request(3, "0.0.0.0:0".parse().unwrap())).await.unwrap();
    let mut reply = [0; 12];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..6], [5, 0, 5, 0, 0, 1]);
    let relay = SocketAddr::from((
        <[u8; 4]>::try_from(&reply[6..10]).unwrap(),
        u16::from_be_bytes([reply[10], reply[11]]),
    ));
    (stream, UdpSocket::bind(any()).await.unwrap(), relay)
}

async fn receive(socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
    let mut buffer = vec![0; 65_536];
    let received = tokio::time::timeout(Duration::from_millis(300), socket.recv_from(&mut buffer)).await;
    let (length, from) = received.ok()?.unwrap();
    buffer.truncate(length);
    Some((buffer, from))
}

#[tokio::test]
async fn datagrams_go_and_come_back() {
    let (services, proxy) = socks(Limits::default()).await;
    let (stream, client, relay) = associate(proxy).await;
    let server = UdpSocket::bind(any()).await.unwrap();
    let port = server.local_addr().unwrap().port().to_be_bytes();
    let by_address = [&[0, 0, 0, 1, 127, 0, 0, 1][..], &port].concat();
    let by_name = [b"\0\0\0\x03\x09localhost".as_slice(), &port].concat();
    for header in [&by_address, &by_name] {
        for payload in [&b""[..], b"x", &[7; 9_000]] {
            client.send_to(&[header.as_slice(), payload].concat(), relay).await.unwrap();
            let (got, from) = receive(&server).await.expect("at the server");
            assert_eq!(got, payload);
            server.send_to(payload, from).await.unwrap();
            let (back, _) = receive(&client).await.expect("at the client");
            assert_eq!(back, [by_address.as_slice(), payload].concat());
        }
    }
    // Fragments, garbage, and others than the client are not passed on.
    let stranger = UdpSocket::bind(any()).await.unwrap();
    let fragment = [&[0, 0, 1][..], &by_address[3..], b"part"].concat();
    client.send_to(&fragment, relay).await.unwrap();
    client.send_to(b"\0", relay).await.unwrap();
    stranger.send_to(&[by_address.as_slice(), b"mine"].concat(), relay).await.unwrap();
    assert_eq!(receive(&server).await, None);
    let snapshot = services.counters().snapshot();
    assert_eq!((snapshot.refused(Refusal::Fragment), snapshot.datagrams_dropped), (1, 3));
    drop(stream);
    until("ended with its stream", || services.counters().snapshot().open() == 0).await;
}
