//! Requests through an HTTP proxy or the tunnel of this process, except to some hosts.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_sync::net::{Direct, Io, Network};
use warren_transport::tls::{Proxy, ProxyError};

/// Hosts that no proxy reaches: this machine, and the metadata services of clouds.
const NEVER: &[&str] =
    &["localhost", "127.0.0.1", "::1", "169.254.169.254", "169.254.170.2", "metadata.google.internal"];

/// Hosts that are reached directly.
#[derive(Debug)]
struct Except(Vec<String>);

impl Except {
    /// Reads a list as in `NO_PROXY`.
    fn new(no_proxy: &str) -> Self {
        let except = no_proxy.split(',').map(|host| host.trim().trim_start_matches('.').to_ascii_lowercase());
        Self(except.filter(|host| !host.is_empty()).collect())
    }

    /// Whether it has a host. As in curl, a name also excepts the names below it.
    fn has(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        NEVER.contains(&host.as_str())
            || self.0.iter().any(|name| {
                name == "*"
                    || host
                        .strip_suffix(name.as_str())
                        .is_some_and(|left| left.is_empty() || left.ends_with('.'))
            })
    }
}

/// The tunnel of this process, and the hosts that are reached without it.
#[derive(Debug)]
pub(super) struct Within {
    tunnel: Arc<dyn Network>,
    except: Except,
}

impl Within {
    /// Reads a list as in `NO_PROXY`.
    pub(super) fn new(tunnel: Arc<dyn Network>, no_proxy: &str) -> Self {
        Self { tunnel, except: Except::new(no_proxy) }
    }
}

#[async_trait]
impl Network for Within {
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        if self.except.has(host) {
            return Direct.connect(host, port).await;
        }
        self.tunnel.connect(host, port).await
    }
}

/// A proxy, and the hosts that are reached without it.
#[derive(Debug)]
pub(super) struct Proxied {
    proxy: Proxy,
    except: Except,
}

impl Proxied {
    /// Reads the URL of a proxy, and a list as in `NO_PROXY`.
    ///
    /// # Errors
    /// The URL is not that of an HTTP proxy.
    pub(super) fn new(url: &str, no_proxy: &str) -> Result<Self, ProxyError> {
        Ok(Self { proxy: url.parse()?, except: Except::new(no_proxy) })
    }
}

#[async_trait]
impl Network for Proxied {
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        if self.except.has(host) {
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
            assert_eq!(proxied.except.has(host), expected, "{host}");
        }
        assert_eq!(Proxied::new("[::1]:1080", "").unwrap().proxy.host, "::1");
        assert!(Proxied::new("socks5://x:1", "").is_err());
    }
}
