//! One request for the metrics of a gateway or agent.
//!
//! Metrics are served without TLS, on addresses of the private network. One HTTP/1.0 request over the standard library's TCP is
//! therefore enough, and the command stays without an HTTP client.

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// Time for the whole request, after the name is resolved.
const TIMEOUT: Duration = Duration::from_secs(10);
/// More than any gateway serves.
const MAX_BYTES: usize = 16 << 20;

/// The body at an `http://` URL. Its path is `/metrics` if it has none.
pub(crate) fn get(url: &str) -> Result<String, String> {
    let wrong = |why: String| format!("cannot read {}: {why}", shown(url));
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(wrong(
            "only http:// is supported; pipe the metrics with `curl -sf URL | warren capacity FILE --measured -`".into(),
        ));
    };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = if matches!(path, "" | "/") { "/metrics" } else { path };
    if host.contains('@') {
        return Err(wrong("a password in a URL is not supported; pipe the metrics with `curl`".to_owned()));
    }
    if host.is_empty()
        || !path.starts_with('/')
        || url.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return Err(wrong("the URL is invalid; write one like http://10.0.0.5:9586/metrics".to_owned()));
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_owned() } else { format!("{host}:80") };
    let response = fetch(&address, host, path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::ConnectionRefused => "; check the port and the option `--metrics` of the gateway",
            ErrorKind::TimedOut => "; check that this machine can reach the gateway",
            _ => "",
        };
        wrong(format!("{error}{hint}"))
    })?;
    body(&response).map_err(wrong)
}

/// A source for messages: a URL without its user, password, and query, which can be secrets.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return warren_check::clean(url) };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host.to_owned(), |(_, host)| format!("***@{host}"));
    let path = path.split_once(['?', '#']).map_or(path.to_owned(), |(path, _)| format!("{path}?***"));
    warren_check::clean(&format!("{scheme}://{host}{path}"))
}

fn fetch(address: &str, host: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let end = Instant::now() + TIMEOUT;
    let mut stream = connect(&addresses, end)?;
    stream.set_write_timeout(Some(left(end)?))?;
    // One write: a server that answers early would close the connection between two of them.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(late)?;
    let (mut response, mut chunk) = (Vec::new(), [0; 1 << 14]);
    loop {
        stream.set_read_timeout(Some(left(end)?))?;
        let count = match stream.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(late)?,
        };
        response.extend_from_slice(&chunk[..count]);
        if response.len() > MAX_BYTES {
            return Err(Error::other("the answer has more than 16 MiB"));
        }
        if count == 0 {
            return Ok(response);
        }
    }
}

/// A connection to the first address that answers. Each has an equal part of the time that is left, so that one dead address does
/// not use all of it.
fn connect(addresses: &[SocketAddr], end: Instant) -> std::io::Result<TcpStream> {
    let mut last = Error::new(ErrorKind::NotFound, "the name has no address");
    for (index, address) in addresses.iter().enumerate() {
        match TcpStream::connect_timeout(address, part(left(end)?, addresses.len() - index)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The part of a time for one of several addresses. Zero is not a timeout.
fn part(left: Duration, addresses: usize) -> Duration {
    let addresses = u32::try_from(addresses).unwrap_or(u32::MAX).max(1);
    (left / addresses).max(Duration::from_millis(1))
}

fn left(end: Instant) -> std::io::Result<Duration> {
    let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    left.ok_or_else(|| late(ErrorKind::TimedOut.into()))
}

/// An error in plain words if it is a timeout. Unix reports that of a read as `WouldBlock`.
fn late(error: Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Error::new(ErrorKind::TimedOut, format!("no complete answer in {} s", TIMEOUT.as_secs()))
        }
        _ => error,
    }
}

/// The body of a successful and complete answer.
fn body(response: &[u8]) -> Result<String, String> {
    let invalid = || "the answer is not HTTP; check the port".to_owned();
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(invalid)?;
    let head = std::str::from_utf8(&response[..end]).map_err(|_| invalid())?;
    let mut words = head.lines().next().unwrap_or_default().split_whitespace();
    let status = words.next().filter(|word| word.starts_with("HTTP/")).and_then(|_| words.next());
    match status.ok_or_else(invalid)? {
        "200" => {}
        other => {
            let other = warren_check::clean(other);
            return Err(format!("the server answered with status {other}; check the path, such as /metrics"));
        }
    }
    let body = complete(head, &response[end + 4..])?;
    String::from_utf8(body.to_vec()).map_err(|_| "the answer is not UTF-8 text".to_owned())
}

/// The body, unless the connection ended before its end.
fn complete<'a>(head: &str, body: &'a [u8]) -> Result<&'a [u8], String> {
    let field = |name: &str| {
        let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    };
    if field("transfer-encoding").is_some() {
        return Err("the answer is encoded; pipe the metrics with `curl`".to_owned());
    }
    let Some(length) = field("content-length") else { return Ok(body) };
    let length: usize = length.parse().map_err(|_| "the answer has an invalid Content-Length".to_owned())?;
    body.get(..length)
        .ok_or_else(|| format!("the answer ended after {} of {length} bytes; try again", body.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        for (url, expected) in [
            ("http://user:pass@word@host:9586/metrics?token=1", "http://***@host:9586/metrics?***"),
            ("http://host?token=@1", "http://host?***"),
            ("https://host/metrics", "https://host/metrics"),
            ("http://host/#\u{1b}[2J", "http://host/?***"),
            ("gateway.prom", "gateway.prom"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn each_address_has_its_part_of_the_time() {
        let ten = Duration::from_secs(10);
        assert_eq!((part(ten, 1), part(ten, 4)), (ten, Duration::from_millis(2500)));
        assert_eq!(part(Duration::ZERO, 2), Duration::from_millis(1));
    }

    #[test]
    fn a_timeout_is_named() {
        for kind in [ErrorKind::WouldBlock, ErrorKind::TimedOut] {
            let named = late(kind.into());
            assert_eq!(
                (named.kind(), named.to_string()),
                (ErrorKind::TimedOut, "no complete answer in 10 s".to_owned())
            );
        }
        assert_eq!(late(ErrorKind::ConnectionReset.into()).kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn an_incomplete_answer_is_refused() {
        let answer = |head: &str| body(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\nabc").as_bytes());
        assert_eq!(answer("content-length: 3"), Ok("abc".to_owned()));
        assert_eq!(answer("Content-Length: 2"), Ok("ab".to_owned()));
        assert_eq!(answer("Date: now"), Ok("abc".to_owned()));
        assert_eq!(
            answer("Content-Length: 4"),
            Err("the answer ended after 3 of 4 bytes; try again".to_owned())
        );
        assert!(answer("Content-Length: -1").is_err());
        assert!(answer("Transfer-Encoding: chunked").is_err());
    }
}
