//! The path of the requests: through a proxy of the tunnel, or directly.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use warren_sync::net::{Direct, Network};
use warren_transport::tls::ProxyError;

use super::proxy::{Proxied, Within};
use super::stores::Variables;
use crate::runtime::problem::{Problem, Result};
use crate::runtime::uapi;

/// Where `warren-tunnel agent` serves its HTTP proxy, unless told otherwise.
const AGENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3128);
/// Loopback answers at once.
const PATIENCE: Duration = Duration::from_millis(500);

/// The path, with a word for logs.
pub(super) fn find(direct: bool, get: Variables<'_>) -> Result<(Arc<dyn Network>, String)> {
    if direct {
        return Ok((Arc::new(Direct), "direct".to_owned()));
    }
    for name in ["HTTPS_PROXY", "https_proxy"] {
        let Some(url) = get(name).filter(|url| !url.is_empty()) else { continue };
        let except = get("NO_PROXY").or_else(|| get("no_proxy")).unwrap_or_default();
        // The URL may hold a password, so it is not repeated.
        let proxy = Proxied::new(&url, &except).map_err(|why| {
            let why = match why {
                ProxyError::Scheme => "is not an http:// URL",
                ProxyError::Address => "has no valid host and port",
            };
            Problem::new(format!("{name} {why}")).hint("set it to http://HOST:PORT, or use --direct")
        })?;
        return Ok((Arc::new(proxy), format!("proxy of {name}")));
    }
    // An agent with an interface needs no proxy: the kernel routes to it.
    let inside = uapi::running()
        .iter()
        .any(|name| uapi::status_of(name).is_ok_and(|status| status.services.is_some()));
    if !inside {
        return Ok((Arc::new(Direct), "no proxy".to_owned()));
    }
    if TcpStream::connect_timeout(&AGENT, PATIENCE).is_err() {
        return Err(Problem::new(format!(
            "an agent without an interface is running, but its HTTP proxy does not answer on {AGENT}"
        ))
        .hint("set HTTPS_PROXY to the address of its --http-proxy, or use --direct to bypass the tunnel"));
    }
    let except = get("NO_PROXY").unwrap_or_default();
    let proxy =
        Proxied::new(&AGENT.to_string(), &except).map_err(|why| Problem::new(format!("{AGENT}: {why}")))?;
    Ok((Arc::new(proxy), format!("proxy of the agent, {AGENT}")))
}

/// The path through a tunnel of this process.
pub(super) fn within(tunnel: Arc<dyn Network>, get: Variables<'_>) -> (Arc<dyn Network>, String) {
    let except = get("NO_PROXY").or_else(|| get("no_proxy")).unwrap_or_default();
    (Arc::new(Within::new(tunnel, &except)), "tunnel of this process".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(direct: bool, proxy: &'static str) -> Result<String> {
        find(direct, &|name| (name == "HTTPS_PROXY").then(|| proxy.to_owned())).map(|(_, path)| path)
    }

    #[test]
    fn the_environment_names_the_proxy_unless_direct() {
        assert_eq!(path(false, "http://u:secret@127.0.0.1:1").unwrap(), "proxy of HTTPS_PROXY");
        assert_eq!(path(true, "http://127.0.0.1:1").unwrap(), "direct");
        let refused = path(false, "socks5h://u:secret@127.0.0.1:1").unwrap_err();
        assert_eq!(refused.what(), "HTTPS_PROXY is not an http:// URL");
    }
}
