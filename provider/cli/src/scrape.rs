//! One request for the metrics of a gateway.
//!
//! Metrics are served without TLS, on addresses of the private network. One HTTP/1.0 request over the standard library's TCP is
//! therefore enough, and the command stays without an HTTP client.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// Time for the whole request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// More than any gateway serves.
const MAX_BYTES: usize = 16 << 20;

/// The body at an `http://` URL. Its path is `/metrics` if it has none.
pub(crate) fn get(url: &str) -> Result<String, String> {
    let wrong = |why: String| format!("cannot read {url}: {why}");
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(wrong(format!(
            "only http:// is supported; pipe the metrics with `curl -sf {url} | warren capacity FILE --measured -`"
        )));
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if matches!(path, "" | "/") { "/metrics" } else { path };
    if host.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) || host.contains('@') {
        return Err(wrong("the URL is invalid; write one like http://10.0.0.5:9586/metrics".to_owned()));
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_owned() } else { format!("{host}:80") };
    let response = fetch(&address, host, path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::ConnectionRefused => "; check the port and the option `--metrics` of the gateway",
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "; check that this machine can reach the gateway",
            _ => "",
        };
        wrong(format!("{error}{hint}"))
    })?;
    body(&response).map_err(wrong)
}

fn fetch(address: &str, host: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let end = Instant::now() + TIMEOUT;
    let late = || std::io::Error::new(ErrorKind::TimedOut, "no complete answer in 10 s");
    let left = || end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()).ok_or_else(late);
    let mut last = None;
    for address in address.to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&address, left()?) {
            Ok(stream) => stream,
            Err(error) => {
                last = Some(error);
                continue;
            }
        };
        stream.set_write_timeout(Some(left()?))?;
        // One write: a server that answers early would close the connection between two of them.
        let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let (mut response, mut chunk) = (Vec::new(), [0; 1 << 14]);
        loop {
            stream.set_read_timeout(Some(left()?))?;
            let count = stream.read(&mut chunk)?;
            response.extend_from_slice(&chunk[..count]);
            if response.len() > MAX_BYTES {
                return Err(std::io::Error::other("the answer has more than 16 MiB"));
            }
            if count == 0 {
                return Ok(response);
            }
        }
    }
    Err(last.unwrap_or_else(|| std::io::Error::new(ErrorKind::NotFound, "the name has no address")))
}

/// The body of a successful answer.
fn body(response: &[u8]) -> Result<String, String> {
    let invalid = || "the answer is not HTTP; check the port".to_owned();
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(invalid)?;
    let head = std::str::from_utf8(&response[..end]).map_err(|_| invalid())?;
    let mut words = head.lines().next().unwrap_or_default().split_whitespace();
    let status = words.next().filter(|word| word.starts_with("HTTP/")).and_then(|_| words.next());
    match status.ok_or_else(invalid)? {
        "200" => {}
        other => {
            return Err(format!("the server answered with status {other}; check the path, such as /metrics"));
        }
    }
    String::from_utf8(response[end + 4..].to_vec()).map_err(|_| "the answer is not UTF-8 text".to_owned())
}
