//! Static forwards.

use std::{io::ErrorKind, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
};
use warren_proxy::{Limits, Refusal, Services, Target};

use crate::common::{any, direct, echo, until};

#[tokio::test]
async fn connections_reach_the_target_by_name() {
    let services = Services::new(Limits::default());
    let target: Target = format!("localhost:{}", echo().await.port()).parse().unwrap();
    let at = services.forward_tcp_here(any(), direct(), target).await.unwrap();
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).await.unwrap();
    assert_eq!(back, "hello");
}

#[tokio::test]
async fn a_target_that_refuses_is_passed_on_as_a_reset() {
    let services = Services::new(Limits::default());
    let free = TcpListener::bind(any()).await.unwrap().local_addr().unwrap();
    let at = services.forward_tcp_here(any(), direct(), free.into()).await.unwrap();
    let error = TcpStream::connect(at).await.unwrap().read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(services.counters().snapshot().refused(Refusal::Refused), 1);
}

#[tokio::test]
async fn each_client_gets_its_own_answers() {
    let limits = Limits { udp_idle: Duration::from_millis(300), udp_sessions: 3, ..Limits::default() };
    let services = Services::new(limits);
    let server = UdpSocket::bind(any()).await.unwrap();
    let at = services.forward_udp_here(any(), direct(), server.local_addr().unwrap().into()).await.unwrap();
    let mut clients = Vec::new();
    let mut buffer = [0; 64];
    for n in 0..3_u8 {
        let client = UdpSocket::bind(any()).await.unwrap();
        client.send_to(&[n; 5], at).await.unwrap();
        let (length, from) = server.recv_from(&mut buffer).await.unwrap();
        assert_eq!(buffer[..length], [n; 5]);
        clients.push((client, from));
    }
    for (n, (client, from)) in clients.iter().enumerate() {
        server.send_to(&[n as u8, 99], from).await.unwrap();
        let (length, sender) = client.recv_from(&mut buffer).await.unwrap();
        assert_eq!((&buffer[..length], sender), (&[n as u8, 99][..], at));
    }
    let fourth = UdpSocket::bind(any()).await.unwrap();
    fourth.send_to(b"no room", at).await.unwrap();
    until("the fourth is refused", || services.counters().snapshot().refused(Refusal::Limit) == 1).await;
    // Strangers do not speak for the target.
    let stranger = UdpSocket::bind(any()).await.unwrap();
    stranger.send_to(b"forged", clients[0].1).await.unwrap();
    until("dropped", || services.counters().snapshot().datagrams_dropped == 2).await;
    until("sessions end when idle", || services.counters().snapshot().open() == 0).await;
    fourth.send_to(b"room again", at).await.unwrap();
    let (length, _) = server.recv_from(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..length], b"room again");
}
