//! Requests through an HTTP proxy, except to some hosts.

use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_sync::net::{Direct, Io, Network};
use warren_transport::tls::{Proxy, ProxyError};

/// Hosts that no proxy reaches: this machine, and the metadata services of clouds.
const NEVER: &[&str] =
    &["localhost", "127.0.0.1", "::1", "169.254.169.254", "169.254.170.2", "metadata.google.internal"];

/// A proxy, and the hosts that are reached without it.
#[derive(Debug)]
pub(super) struct Proxied {
    proxy: Proxy,
    except: Vec<String>,
}

impl Proxied {
    /// Reads the URL of a proxy, and a list as in `NO_PROXY`.
    ///
    /// # Errors
    /// The URL is not that of an HTTP proxy.
    pub(super) fn new(url: &str, no_proxy: &str) -> Result<Self, ProxyError> {
        let except = no_proxy.split(',').map(|host| host.trim().trim_start_matches('.').to_ascii_lowercase());
        Ok(Self { proxy: url.parse()?, except: except.filter(|host| !host.is_empty()).collect() })
    }

    /// Whether a host is reached without the proxy. As in curl, a name also excepts the names below it.
    fn bypasses(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        NEVER.contains(&host.as_str())
            || self.except.iter().any(|name| {
                name == "*"
                    || host
                        .strip_suffix(name.as_str())
                        .is_some_and(|left| left.is_empty() || left.ends_with('.'))
            })
    }
}

#[async_trait]
impl Network for Proxied {
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        if self.bypasses(host) {
            return Direct.connect(host, port).await;
        }
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("proxy {:?}: {error}", self.proxy));
        let mut stream = Direct.connect(&self.proxy.host, self.proxy.port).await.map_err(named)?;
        stream.write_all(self.proxy.request(host, port).as_bytes()).await.map_err(named)?;
        let mut answer = Vec::new();
        let status = loop {
            // Nothing follows the answer: the client speaks first.
            answer.push(stream.read_u8().await.map_err(named)?);
            match Proxy::answer(&answer) {
                Ok(None) => {}
                Ok(Some((status, _))) => break status,
                Err(error) => return Err(named(io::Error::other(error))),
            }
        };
        if (200..300).contains(&status) {
            return Ok(stream);
        }
        let text = String::from_utf8_lossy(&answer);
        let line = text.lines().next().unwrap_or_default();
        Err(named(io::Error::other(format!("{host}:{port}: {}", line.escape_debug()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_is_read_and_its_password_not_shown() {
        let proxied = Proxied::new("http://ada:p%40ss@10.0.0.1:3128/", " .corp.example, x.org ,").unwrap();
        assert_eq!((proxied.proxy.host.as_str(), proxied.proxy.port), ("10.0.0.1", 3128));
        let request = proxied.proxy.request("s3.amazonaws.com", 443);
        assert!(request.contains("Proxy-Authorization: Basic YWRhOnBAc3M=\r\n"), "{request:?}");
        assert!(!format!("{proxied:?}").contains("YWRh"));
        for (host, expected) in [
            ("a.corp.example", true),
            ("corp.example", true),
            ("xcorp.example", false),
            ("x.org", true),
            ("s3.amazonaws.com", false),
            ("169.254.169.254", true),
        ] {
            assert_eq!(proxied.bypasses(host), expected, "{host}");
        }
        assert_eq!(Proxied::new("[::1]:1080", "").unwrap().proxy.host, "::1");
        assert!(Proxied::new("socks5://x:1", "").is_err());
    }
}
