//! HTTP proxies (RFC 9110 section 9.3.6).

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use warren_wire::stream::http::{HttpError, parse_status};
use zeroize::Zeroizing;

/// A proxy that connects by `CONNECT`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    authorization: Option<Zeroizing<String>>,
}

/// The reason why a proxy URL is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// Not `http://`.
    #[error("only http:// proxies are supported")]
    Scheme,
    /// No host, or a port that is none.
    #[error("no host and port")]
    Address,
}

impl FromStr for Proxy {
    type Err = ProxyError;

    /// From `http://[user[:password]@]host[:port]`, as `HTTPS_PROXY` has it; the port is 80 unless told.
    fn from_str(text: &str) -> Result<Self, ProxyError> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(ProxyError::Scheme),
            None => text,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().map_err(|_| ProxyError::Address)?)
            }
            _ => (address, 80),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || port == 0 {
            return Err(ProxyError::Address);
        }
        let authorization = user.map(|user| {
            let decoded = Zeroizing::new(decode_percent(user));
            Zeroizing::new(STANDARD.encode(&*decoded))
        });
        Ok(Self { host, port, authorization })
    }
}

impl Proxy {
    /// The request to connect to `host:port`.
    pub fn request(&self, host: &str, port: u16) -> Zeroizing<String> {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let mut text = Zeroizing::new(format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n"));
        if let Some(authorization) = &self.authorization {
            text.push_str("Proxy-Authorization: Basic ");
            text.push_str(authorization);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text
    }

    /// Status and end of its answer, when that is all there.
    ///
    /// # Errors
    /// The answer is not valid, or too long.
    pub fn answer(bytes: &[u8]) -> Result<Option<(u16, usize)>, HttpError> {
        parse_status(bytes)
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn decode_percent(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex.filter(|_| byte == b'%') {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_environments_have() {
        let proxy: Proxy = "http://user:p%40ss@proxy.corp:3128/".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.corp", 3128));
        assert_eq!(
            *proxy.request("gw.example.net", 443),
            "CONNECT gw.example.net:443 HTTP/1.1\r\nHost: gw.example.net:443\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"
        );
        assert!(!format!("{proxy:?}").contains("dXNl"));
        let proxy: Proxy = "[2001:db8::1]:8080".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("2001:db8::1", 8080));
        assert_eq!("proxy".parse::<Proxy>().unwrap().port, 80);
        assert_eq!("socks5://a:1".parse::<Proxy>(), Err(ProxyError::Scheme));
        assert_eq!("http://:1".parse::<Proxy>(), Err(ProxyError::Address));
        assert_eq!("http://a:x".parse::<Proxy>(), Err(ProxyError::Address));
        assert_eq!(decode_percent("a%2"), b"a%2");
    }
}
