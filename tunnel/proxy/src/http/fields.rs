//! Header fields on their way through a proxy (RFC 9110 section 7.6, RFC 9112 section 3.2.2).

use hyper::{
    HeaderMap, Method, Uri, Version,
    header::{CONNECTION, HOST, HeaderName, HeaderValue, VIA},
    http::{request, uri::PathAndQuery},
};

use crate::target::{Host, Target};

/// Fields of one connection only, whether Connection names them or not.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authentication-info",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Why a request is not one for a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotForProxy {
    /// A path without a host: the client treats the proxy as the server.
    #[error("this is a proxy: request http://HOST/PATH, or CONNECT HOST:PORT")]
    Origin,
    /// A scheme that needs CONNECT.
    #[error("only http: URLs are forwarded; use CONNECT for other schemes")]
    Scheme,
    /// Not `HOST:PORT`.
    #[error("CONNECT needs HOST:PORT")]
    Authority,
    /// The host is none.
    #[error("the host of the request is not valid")]
    Host,
}

/// The target of CONNECT: host and port, nothing else.
///
/// # Errors
/// When it is something else.
pub fn connect_target(uri: &Uri) -> Result<Target, NotForProxy> {
    let authority = uri.authority().ok_or(NotForProxy::Authority)?;
    if uri.scheme().is_some() || uri.path_and_query().is_some() {
        return Err(NotForProxy::Authority);
    }
    authority.as_str().parse().map_err(|_| NotForProxy::Authority)
}

/// The target of a request in absolute form.
///
/// # Errors
/// When it is in another form.
pub fn absolute_target(uri: &Uri) -> Result<Target, NotForProxy> {
    match uri.scheme_str() {
        None => return Err(NotForProxy::Origin),
        Some("http") => {}
        Some(_) => return Err(NotForProxy::Scheme),
    }
    let authority = uri.authority().ok_or(NotForProxy::Host)?;
    // Of user information in a URI nothing is understood, and nothing is passed on (RFC 9110 section 4.2.4).
    if authority.as_str().contains('@') {
        return Err(NotForProxy::Host);
    }
    let host: Host = authority.host().parse().map_err(|_| NotForProxy::Host)?;
    // `port_u16` is `None` for a port that is none, too.
    let port = match authority.as_str().rsplit_once(':') {
        Some((_, digits)) if !digits.ends_with(']') => authority.port_u16().filter(|port| *port != 0),
        _ => Some(80),
    };
    Ok(Target::new(host, port.ok_or(NotForProxy::Host)?))
}

/// Makes a proxy's request the server's: origin form, the host from the target alone, nothing of our connection.
pub fn outward(parts: &mut request::Parts) {
    strip(&mut parts.headers);
    let authority = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    parts.headers.remove(HOST);
    if let Some(Ok(host)) = authority {
        parts.headers.insert(HOST, host);
    }
    let path = match parts.uri.path_and_query() {
        // RFC 9112 section 3.2.4: OPTIONS of a server as a whole.
        Some(path) if parts.method == Method::OPTIONS && path.as_str() == "/" => {
            PathAndQuery::from_static("*")
        }
        Some(path) => path.clone(),
        None => PathAndQuery::from_static("/"),
    };
    parts.uri = Uri::from(path);
    via(&mut parts.headers, parts.version);
    parts.version = Version::HTTP_11;
}

/// Removes headers of the server's connection, and adds `Via`.
pub fn inward(headers: &mut HeaderMap, version: Version) {
    strip(headers);
    via(headers, version);
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(*name);
    }
}

fn via(headers: &mut HeaderMap, version: Version) {
    let value = if version == Version::HTTP_10 { "1.0 warren" } else { "1.1 warren" };
    headers.append(VIA, HeaderValue::from_static(value));
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn targets_are_hosts_with_ports() {
        let connect = |text: &str| connect_target(&text.parse().unwrap()).map(|target| target.to_string());
        assert_eq!(connect("s3.example:443").unwrap(), "s3.example:443");
        assert_eq!(connect("[fd00::1]:443").unwrap(), "[fd00::1]:443");
        for wrong in
            ["s3.example", "user@s3.example:443", "http://s3.example:443/", "/path", "s3.example:0", "*"]
        {
            assert!(connect(wrong).is_err(), "{wrong}");
        }
        let absolute = |text: &str| absolute_target(&text.parse().unwrap()).map(|target| target.to_string());
        assert_eq!(absolute("http://S3.example").unwrap(), "s3.example:80");
        assert_eq!(absolute("http://[fd00::1]/x").unwrap(), "[fd00::1]:80");
        assert_eq!(absolute("http://[fd00::1]:81/x").unwrap(), "[fd00::1]:81");
        assert_eq!(absolute("http://10.0.0.1:8080/x?y").unwrap(), "10.0.0.1:8080");
        assert_eq!(absolute("/x"), Err(NotForProxy::Origin));
        assert_eq!(absolute("https://s3.example/"), Err(NotForProxy::Scheme));
        for wrong in
            ["http://u:p@s3.example/", "http://s3.example:0/", "http://s3.example:99999/", "http://-a/"]
        {
            assert_eq!(absolute(wrong), Err(NotForProxy::Host), "{wrong}");
        }
    }

    #[test]
    fn what_belongs_to_the_connection_stays() {
        let request = Request::get("http://s3.example:8080/bucket?list")
            .header("host", "attacker.example")
            .header("connection", "x-hop, Keep-Alive")
            .header("x-hop", "1")
            .header("keep-alive", "5")
            .header("proxy-authorization", "Basic secret")
            .header("proxy-connection", "keep-alive")
            .header("te", "trailers")
            .header("upgrade", "websocket")
            .header("x-amz-date", "now")
            .body(())
            .unwrap();
        let (mut parts, ()) = request.into_parts();
        outward(&mut parts);
        let headers: Vec<_> = parts
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(parts.uri, "/bucket?list");
        assert_eq!(headers, ["x-amz-date: now", "host: s3.example:8080", "via: 1.1 warren"]);
    }

    #[test]
    fn options_of_the_server_is_a_star() {
        let (mut parts, ()) = Request::options("http://s3.example").body(()).unwrap().into_parts();
        outward(&mut parts);
        assert_eq!(parts.uri, "*");
    }
}
