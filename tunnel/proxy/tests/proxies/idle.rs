//! What streams cost that say nothing.

use std::fs;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use warren_proxy::{Limits, Services};

use crate::common::{any, direct, until};

const STREAMS: usize = 4_500;

fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Opens streams that have each moved some bytes once, so that every buffer has been needed once.
async fn streams(listener: &TcpListener, through: std::net::SocketAddr) -> Vec<(TcpStream, TcpStream)> {
    let mut pairs = Vec::new();
    for _ in 0..STREAMS {
        let mut client = TcpStream::connect(through).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(b"once").await.unwrap();
        server.read_exact(&mut [0; 4]).await.unwrap();
        server.write_all(b"once").await.unwrap();
        client.read_exact(&mut [0; 4]).await.unwrap();
        pairs.push((client, server));
    }
    pairs
}

/// Four descriptors a stream: two of the proxy, two of its neighbours, who are in this process too.
#[tokio::test]
async fn idle_streams_hold_almost_no_memory() {
    let listener = TcpListener::bind(any()).await.unwrap();
    let to = listener.local_addr().unwrap();
    // The neighbours' own part, measured without a proxy between them.
    let before = resident_bytes();
    let plain = streams(&listener, to).await;
    let neighbours = resident_bytes() - before;
    drop(plain);

    let services = Services::new(Limits::default());
    let at = services.forward_tcp_here(any(), direct(), to.into()).await.unwrap();
    let before = resident_bytes();
    let pairs = streams(&listener, at).await;
    let grown = resident_bytes().saturating_sub(before);
    assert_eq!(services.counters().snapshot().open(), STREAMS as u64);
    println!(
        "{STREAMS} idle streams: {} bytes each, and the neighbours {} each",
        grown / STREAMS,
        neighbours / STREAMS
    );
    assert!(grown / STREAMS < 4_096, "{} bytes a stream", grown / STREAMS);
    drop(pairs);
    until("all closed", || services.counters().snapshot().open() == 0).await;
}
