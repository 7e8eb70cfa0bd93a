//! The HTTP/1.1 before the frames: requests as the gateway reads them, and its answers.

use std::fmt::Write as _;

/// HTTP path of tunnels.
pub const TUNNEL_PATH: &str = "/warren/tunnel";
/// The protocol after the upgrade, with its version.
pub const PROTOCOL: &str = "warren-tunnel/1";
/// The longest head of a request or response.
pub const LONGEST_HEAD: usize = 8 << 10;
/// The longest body of a request.
pub const LONGEST_BODY: usize = 64 << 10;
const HEADERS: usize = 64;

/// The header of a request for a tunnel that says to which other connections it belongs.
const BUNDLE: &str = "warren-bundle";
/// The header of its answer: how many connections a bundle may have.
const CONNECTIONS: &str = "warren-connections";

/// What connections of one bundle share: random, known to their two ends only.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// Of random bytes.
    #[must_use]
    pub fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    fn parse(text: &str) -> Option<Self> {
        let digits =
            Some(text).filter(|text| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u128::from_str_radix(digits, 16).ok().map(|number| Self(number.to_be_bytes()))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The bundle of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It is the first connection of the bundle.
    First(Token),
    /// The bundle exists.
    Another(Token),
}

impl Membership {
    /// That of the bundle.
    #[must_use]
    pub fn token(self) -> Token {
        match self {
            Self::First(token) | Self::Another(token) => token,
        }
    }
}

/// A request, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Bytes of the body.
    pub body: usize,
}

/// The reason why the bytes are not a request or response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// Not HTTP/1.
    #[error("not HTTP/1.1")]
    Malformed,
    /// The head is longer than [`LONGEST_HEAD`].
    #[error("a head of more than 8 KiB")]
    LongHead,
    /// The body is longer than [`LONGEST_BODY`], or its length is not told.
    #[error("a body of more than 64 KiB, or without a length")]
    LongBody,
}

impl Head {
    /// Reads a request; with it comes where the body begins. `None`: more is to come.
    ///
    /// # Errors
    /// When no request can come of it.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HttpError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let end = match request.parse(bytes) {
            Ok(httparse::Status::Complete(end)) if end <= LONGEST_HEAD => end,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Ok(None),
            Ok(_) => return Err(HttpError::LongHead),
            Err(_) => return Err(HttpError::Malformed),
        };
        let headers: Vec<(String, String)> = request
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).trim().to_owned();
                (header.name.to_ascii_lowercase(), value)
            })
            .collect();
        let mut head = Self {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            headers,
            body: 0,
        };
        if head.header("transfer-encoding").is_some() {
            return Err(HttpError::LongBody);
        }
        let length = head.header("content-length").map_or(Ok(0), str::parse);
        head.body = length.ok().filter(|length| *length <= LONGEST_BODY).ok_or(HttpError::LongBody)?;
        Ok(Some((head, end)))
    }

    /// The first value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    /// Whether it requests a tunnel in a supported version.
    #[must_use]
    pub fn asks_for_tunnel(&self) -> bool {
        let offered = self.header("upgrade").unwrap_or_default();
        self.method == "GET"
            && self.target == TUNNEL_PATH
            && self.body == 0
            && offered.split(',').any(|protocol| protocol.trim().eq_ignore_ascii_case(PROTOCOL))
    }

    /// The bundle of the connection; `None`: an earlier version, which has one connection.
    #[must_use]
    pub fn membership(&self) -> Option<Membership> {
        let (kind, token) = self.header(BUNDLE)?.split_once(' ')?;
        let token = Token::parse(token)?;
        match kind {
            "first" => Some(Membership::First(token)),
            "another" => Some(Membership::Another(token)),
            _ => None,
        }
    }
}

/// The request for a tunnel.
#[must_use]
pub fn tunnel_request(host: &str, membership: Option<Membership>) -> String {
    let header =
        |kind, Token(token): Token| format!("{BUNDLE}: {kind} {:032x}\r\n", u128::from_be_bytes(token));
    let bundle = match membership {
        Some(Membership::First(token)) => header("first", token),
        Some(Membership::Another(token)) => header("another", token),
        None => String::new(),
    };
    format!(
        "GET {TUNNEL_PATH} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n{bundle}\r\n"
    )
}

/// The response that turns the connection into a tunnel. Bundles may have `connections`.
#[must_use]
pub fn tunnel_response(connections: usize) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n{CONNECTIONS}: {connections}\r\n\r\n"
    )
}

/// The number of connections that a complete [`tunnel_response`] permits; 1 for one of an earlier version.
#[must_use]
pub fn permitted_connections(response: &[u8]) -> usize {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    let _ = parsed.parse(response);
    let header = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(CONNECTIONS));
    let text = header.and_then(|header| std::str::from_utf8(header.value).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(1)
}

/// Any other answer, after which the connection is closed; `retry_after` is in seconds.
#[must_use]
pub fn response(status: u16, content_type: &str, retry_after: Option<u32>, body: &[u8]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    };
    let mut head = String::new();
    _ = write!(
        head,
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    if let Some(seconds) = retry_after {
        _ = write!(head, "Retry-After: {seconds}\r\n");
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// Status and end of a response's head; `None`: more is to come.
///
/// # Errors
/// When no response can come of it.
pub fn parse_status(bytes: &[u8]) -> Result<Option<(u16, usize)>, HttpError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => Ok(Some((response.code.unwrap_or(0), end))),
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => Ok(None),
        Ok(httparse::Status::Partial) => Err(HttpError::LongHead),
        Err(_) => Err(HttpError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_is_asked_for_and_granted() {
        let text = tunnel_request("gw.example.net", None);
        let (head, end) = Head::parse(text.as_bytes()).unwrap().unwrap();
        assert!(head.asks_for_tunnel());
        assert_eq!((head.header("host"), end), (Some("gw.example.net"), text.len()));
        assert_eq!(Head::parse(&text.as_bytes()[..text.len() - 1]), Ok(None));
        assert_eq!(head.membership(), None);
        let answer = tunnel_response(8);
        assert_eq!(permitted_connections(answer.as_bytes()), 8);
        let earlier = answer.replace("warren-connections: 8\r\n", "");
        assert_eq!(permitted_connections(earlier.as_bytes()), 1);
        assert_eq!(parse_status(answer.as_bytes()), Ok(Some((101, answer.len()))));
        assert_eq!(parse_status(b"HTTP/1.1 101"), Ok(None));
    }

    #[test]
    fn the_bundle_of_a_connection_is_told() {
        let token = Token::new(*b"0123456789abcdef");
        let membership = |text: &str| Head::parse(text.as_bytes()).unwrap().unwrap().0.membership();
        for one in [Membership::First(token), Membership::Another(token)] {
            assert_eq!(membership(&tunnel_request("a", Some(one))), Some(one));
        }
        for wrong in [
            "first",
            "first 12",
            "last 30313233343536373839616263646566",
            "first +0313233343536373839616263646566",
        ] {
            let text = format!("GET / HTTP/1.1\r\nWarren-Bundle: {wrong}\r\n\r\n");
            assert_eq!(membership(&text), None, "{wrong}");
        }
        assert!(!format!("{token:?}").contains("30"));
    }

    #[test]
    fn others_are_told_apart() {
        let parse = |text: &str| Head::parse(text.as_bytes());
        let plain = parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().unwrap().0;
        assert!(!plain.asks_for_tunnel());
        let later = tunnel_request("a", None).replace("warren-tunnel/1", "warren-tunnel/9");
        assert!(!parse(&later).unwrap().unwrap().0.asks_for_tunnel());
        let both = tunnel_request("a", None).replace("warren-tunnel/1", "warren-tunnel/9, warren-tunnel/1");
        assert!(parse(&both).unwrap().unwrap().0.asks_for_tunnel());
        let post = parse("POST /x HTTP/1.1\r\nContent-Length: 12\r\n\r\n").unwrap().unwrap().0;
        assert_eq!(post.body, 12);
        assert_eq!(parse("POST /x HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), Err(HttpError::LongBody));
        assert_eq!(parse("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Err(HttpError::LongBody));
        assert_eq!(parse("\u{16}\u{3}\u{1}"), Err(HttpError::Malformed));
        assert_eq!(parse(&format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(9000))), Err(HttpError::LongHead));
        let answer = response(404, "text/plain", None, b"not here\n");
        assert_eq!(parse_status(&answer).unwrap().unwrap().0, 404);
    }
}
