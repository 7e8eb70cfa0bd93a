//! Real sockets of this machine on both sides of the proxies.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    process::Command,
};
use warren_proxy::{Limits, Outbound, Services, dns::SystemNames, net::System};

pub(crate) type Direct = Arc<Outbound<System, SystemNames>>;

pub(crate) fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

pub(crate) fn direct() -> Direct {
    Arc::new(Outbound::new(System, SystemNames, Duration::from_secs(5)))
}

pub(crate) fn short() -> Limits {
    Limits { handshake: Duration::from_millis(300), ..Limits::default() }
}

pub(crate) async fn socks(limits: Limits) -> (Services, SocketAddr) {
    let services = Services::new(limits);
    let at = services.socks(any(), direct(), None).await.unwrap();
    (services, at)
}

pub(crate) async fn http(limits: Limits) -> (Services, SocketAddr) {
    let services = Services::new(limits);
    let at = services.http(any(), direct(), None).await.unwrap();
    (services, at)
}

/// Sends everything back, and its end.
pub(crate) async fn echo() -> SocketAddr {
    let listener = TcpListener::bind(any()).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                _ = tokio::io::copy(&mut read, &mut write).await;
                _ = write.shutdown().await;
            });
        }
    });
    at
}

/// A server that answers every HTTP request with what it was sent.
pub(crate) async fn http_mirror() -> SocketAddr {
    let listener = TcpListener::bind(any()).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut connection = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            connection += 1;
            tokio::spawn(async move {
                let mut seen = Vec::new();
                loop {
                    let head = loop {
                        if let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
                            break seen.drain(..end + 4).collect::<Vec<u8>>();
                        }
                        let mut chunk = [0; 4096];
                        match stream.read(&mut chunk).await {
                            Ok(0) | Err(_) => return,
                            Ok(length) => seen.extend_from_slice(&chunk[..length]),
                        }
                    };
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let body = format!("connection {connection}\n{head}");
                    let fields = "Connection: keep-alive, X-Hop\r\nX-Hop: secret\r\nKeep-Alive: timeout=5";
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{fields}\r\n\r\n{body}",
                        body.len()
                    );
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    at
}

/// A program, its exit code and what it printed.
pub(crate) async fn run(program: &str, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(program).args(arguments).env_clear().env("PATH", "/usr/bin:/bin").output();
    let output = tokio::time::timeout(Duration::from_secs(60), output).await.unwrap().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

/// What comes back for `bytes` until the stream ends, by FIN or reset; whether it was FIN.
pub(crate) async fn exchange(to: SocketAddr, bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut back = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut back)).await;
    (back, end.expect("the stream ends").is_ok())
}

/// Waits until `what` holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
