//! The HTTP proxy against real clients and wrong ones.

use std::time::Duration;

use crate::common::{any, direct, echo, exchange, http, http_mirror, run, short, until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use warren_proxy::{Credentials, Limits, Refusal, Services};

#[tokio::test]
async fn curl_goes_through_with_and_without_connect() {
    let (services, proxy) = http(Limits::default()).await;
    let server = http_mirror().await;
    let proxy = proxy.to_string();
    let url = format!("http://localhost:{}/path?query", server.port());
    let (code, text) = run("curl", &["-sS", "-i", "--proxy", &proxy, &url]).await;
    assert_eq!(code, 0, "{text}");
    let host = format!("host: localhost:{}", server.port());
    for expected in ["GET /path?query HTTP/1.1\r\n", &host, "via: 1.1 warren"] {
        assert!(text.to_lowercase().contains(&expected.to_lowercase()), "{expected} in {text}");
    }
    for forbidden in ["Proxy-Connection", "X-Hop", "Keep-Alive"] {
        assert!(!text.to_lowercase().contains(&forbidden.to_lowercase()), "{forbidden} in {text}");
    }
    let (code, text) = run("curl", &["-sS", "--proxytunnel", "--proxy", &proxy, &url]).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("GET /path?query HTTP/1.1"));
    until("all closed", || services.counters().snapshot().open() == 0).await;
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let (_services, proxy) = http(Limits::default()).await;
    let (one, other) = (http_mirror().await, http_mirror().await);
    let script = format!(
        r#"
import http.client
proxy = http.client.HTTPConnection("{proxy}")
for server in ["{one}", "{one}", "{other}", "{other}"]:
    proxy.request("POST", f"http://{{server}}/", headers={{"X-Check": "1"}})
    answer = proxy.getresponse()
    print(answer.status, answer.read().split(b"\n")[0].decode(), answer.getheader("via"))
tunnel = http.client.HTTPConnection("{proxy}")
tunnel.set_tunnel("{one}".split(":")[0], int("{one}".split(":")[1]))
tunnel.request("GET", "/through")
print(tunnel.getresponse().read().decode().splitlines()[1])
"#
    );
    let (code, text) = run("python3", &["-c", &script]).await;
    assert_eq!(code, 0, "{text}");
    let expected = "200 connection 1 1.1 warren\n".repeat(4) + "GET /through HTTP/1.1\n";
    assert_eq!(text, expected, "each server saw one connection");
}

#[tokio::test]
async fn bodies_of_any_framing_pass_whole() {
    let (_services, proxy) = http(Limits::default()).await;
    let script = format!(
        r#"
import hashlib, http.client, http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_PUT(self):
        body = b""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size); self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(body), 70000):
            part = body[at:at + 70000]
            self.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")
    def do_HEAD(self):
        self.send_response(200); self.send_header("Content-Length", "12345"); self.end_headers()
    def do_DELETE(self):
        self.send_response(204); self.end_headers()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = "http://127.0.0.1:%d/" % server.server_port
proxy = http.client.HTTPConnection("{proxy}")
body = bytes(range(256)) * 20000
for given in [body, iter([body[:100], body[100:]])]:
    proxy.request("PUT", url, body=given)
    back = proxy.getresponse().read()
    print(hashlib.sha256(back).digest() == hashlib.sha256(body).digest())
proxy.request("HEAD", url); answer = proxy.getresponse(); print(answer.getheader("content-length"), answer.read())
proxy.request("DELETE", url); answer = proxy.getresponse(); print(answer.status, answer.read())
"#
    );
    let (code, text) = run("python3", &["-c", &script]).await;
    assert_eq!((code, text.as_str()), (0, "True\nTrue\n12345 b''\n204 b''\n"));
}

#[tokio::test]
async fn clients_are_told_why_not() {
    let services = Services::new(short());
    let proxy = services.http(any(), direct(), None).await.unwrap();
    let free = TcpListener::bind(any()).await.unwrap().local_addr().unwrap();
    let cases = [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "400 Bad Request", "this is a proxy"),
        ("GET https://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n".into(), "400 Bad Request", "CONNECT"),
        ("GET http://u:p@a.example/ HTTP/1.1\r\nHost: x\r\n\r\n".into(), "400 Bad Request", "is not valid"),
        ("CONNECT a.example HTTP/1.1\r\nHost: x\r\n\r\n".into(), "400 Bad Request", "HOST:PORT"),
        (format!("CONNECT {free} HTTP/1.1\r\nHost: x\r\n\r\n"), "502 Bad Gateway", "connection refused"),
        (format!("GET http://{free}/ HTTP/1.1\r\nHost: x\r\n\r\n"), "502 Bad Gateway", "connection refused"),
        ("CONNECT nothing.invalid:80 HTTP/1.1\r\nHost: x\r\n\r\n".into(), "502 Bad Gateway", "no such name"),
        ("nonsense\r\n\r\n".into(), "400 Bad Request", ""),
        (
            "GET http://127.0.0.1:1/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".into(),
            "400 Bad Request",
            "",
        ),
        (format!("GET http://127.0.0.1:1/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(70_000)), "431", ""),
        (format!("GET http://127.0.0.1:1/ HTTP/1.1\r\n{}\r\n", "X: 1\r\n".repeat(200)), "431", ""),
    ];
    for (request, status, text) in cases {
        let request = request.replacen("\r\n", "\r\nConnection: close\r\n", usize::from(!text.is_empty()));
        let (back, _) = exchange(proxy, request.as_bytes()).await;
        let back = String::from_utf8(back).unwrap();
        let first = request.lines().next().unwrap();
        assert!(back.starts_with(&format!("HTTP/1.1 {status}")) && back.contains(text), "{first}: {back}");
    }
    assert_eq!(services.counters().snapshot().refused(Refusal::Refused), 2);
    assert_eq!(services.counters().snapshot().refused(Refusal::Name), 1);
    assert_eq!(services.counters().snapshot().refused(Refusal::Malformed), 7);
}

#[tokio::test]
async fn users_need_their_password() {
    let services = Services::new(Limits::default());
    let credentials = Credentials::parse("ada:secret").unwrap();
    let proxy = services.http(any(), direct(), Some(credentials)).await.unwrap().to_string();
    let url = format!("http://{}/", http_mirror().await);
    let (code, text) = run("curl", &["-sS", "--proxy", &proxy, "--proxy-user", "ada:secret", &url]).await;
    assert_eq!(code, 0, "{text}");
    assert!(!text.to_lowercase().contains("proxy-authorization"), "the password goes no further: {text}");
    let (_, text) = run("curl", &["-sS", "-i", "--proxy", &proxy, "--proxy-user", "ada:wrong", &url]).await;
    assert!(
        text.contains("407 Proxy Authentication Required") && text.contains("roxy-authenticate: Basic"),
        "{text}"
    );
    let (code, _) = run("curl", &["-sS", "--proxytunnel", "--proxy", &proxy, &url]).await;
    assert_eq!(code, 56, "CONNECT too");
}

#[tokio::test]
async fn whoever_dawdles_loses_the_place() {
    let (services, proxy) = http(short()).await;
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(b"GET http://a.example/ HTTP/1.1\r\nHost").await.unwrap();
    let mut back = Vec::new();
    _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut back)).await.expect("it ends");
    assert_eq!(services.counters().snapshot().refused(Refusal::Handshake), 1);
}

#[tokio::test]
async fn bytes_after_connect_are_not_lost_and_both_ends_may_stop() {
    let (services, proxy) = http(Limits::default()).await;
    let request = format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\nearly", echo().await);
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"));
    stream.write_all(b" late").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "early late");
    until("closed", || services.counters().snapshot().open() == 0).await;
    assert_eq!(services.counters().snapshot().reset, 0);
}
