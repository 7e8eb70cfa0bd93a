//! The HTTP client of the stores, over a network that is a trait.

mod stall;

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

use crate::sums::Reported;
use stall::Stall;

/// Time to a connection, with the proxy's and TLS's part.
const CONNECT: Duration = Duration::from_secs(20);
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(20);
/// The longest answer of a proxy.
const MOST: usize = 8 << 10;

/// A byte stream.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// The network that connections pass through.
#[async_trait]
pub trait Network: fmt::Debug + Send + Sync + 'static {
    /// Connects to a port of a host, by name or address.
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>>;
}

/// The operating system's network.
#[derive(Debug, Clone, Copy)]
pub struct Direct;

#[async_trait]
impl Network for Direct {
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// Through the CONNECT method of an HTTP proxy, except for some hosts.
pub struct Proxy {
    host: String,
    port: u16,
    authorization: Option<Zeroizing<String>>,
    except: Vec<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// Hosts that no proxy reaches: this machine, and the metadata services of clouds.
const NEVER: &[&str] =
    &["localhost", "127.0.0.1", "::1", "169.254.169.254", "169.254.170.2", "metadata.google.internal"];

impl Proxy {
    /// Reads `http://[USER:PASSWORD@]HOST:PORT`, and a list as in `NO_PROXY`.
    ///
    /// # Errors
    /// The URL is no HTTP proxy. The text repeats nothing of it, since it may hold a password.
    pub fn new(url: &str, no_proxy: &str) -> Result<Self, &'static str> {
        let rest = url.split_once("://").map_or(Ok(url), |(scheme, rest)| {
            if scheme.eq_ignore_ascii_case("http") { Ok(rest) } else { Err("is not an http:// URL") }
        })?;
        let rest = rest.split('/').next().unwrap_or_default();
        let (user, at) = rest.rsplit_once('@').map_or((None, rest), |(user, at)| (Some(user), at));
        let uri: Uri = at.parse().map_err(|_| "is not HOST:PORT")?;
        let host = uri.host().ok_or("has no host")?.trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(80);
        let authorization = user.map(|user| {
            let plain = Zeroizing::new(unescape(user));
            Zeroizing::new(format!("Basic {}", STANDARD.encode(plain.as_slice())))
        });
        let except = no_proxy.split(',').map(|host| host.trim().trim_start_matches('.').to_ascii_lowercase());
        let except = except.filter(|host| !host.is_empty()).collect();
        Ok(Self { host, port, authorization, except })
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

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[async_trait]
impl Network for Proxy {
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        if self.bypasses(host) {
            return Direct.connect(host, port).await;
        }
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("proxy {}:{}: {error}", self.host, self.port))
        };
        let mut stream = Direct.connect(&self.host, self.port).await.map_err(named)?;
        let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = Zeroizing::new(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"));
        if let Some(authorization) = &self.authorization {
            request.push_str("Proxy-Authorization: ");
            request.push_str(authorization);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await.map_err(named)?;
        let answer = head(&mut stream).await.map_err(named)?;
        let line = answer.lines().next().unwrap_or_default();
        match line.split_whitespace().nth(1) {
            Some(status) if status.starts_with('2') => Ok(stream),
            _ => Err(named(io::Error::other(format!("{target}: {}", line.escape_debug())))),
        }
    }
}

/// The head of a proxy's answer. Nothing follows it: the client speaks first.
async fn head(stream: &mut Box<dyn Io>) -> io::Result<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        if read.len() >= MOST {
            return Err(io::Error::other("the answer is too long"));
        }
        read.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

/// The connector of stores.
#[derive(Clone)]
pub struct Http {
    client: Client<Dial, HttpRequestBody>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

impl Http {
    /// A client over `network`, which trusts the certificate authorities of this machine and those in `more` (PEM).
    ///
    /// # Errors
    /// There are no certificate authorities, or `more` holds none.
    pub fn new(network: Arc<dyn Network>, more: Option<&[u8]>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(pem) = more {
            let read = tokio_rustls::rustls::pki_types::CertificateDer::pem_slice_iter(pem);
            let (added, _) = roots.add_parsable_certificates(read.filter_map(Result::ok));
            if added == 0 {
                return Err("the CA file contains no certificate in PEM".to_owned());
            }
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let dial = Dial { network, tls: TlsConnector::from(Arc::new(config)) };
        let client = Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE).build(dial);
        Ok(Self { client })
    }
}

impl HttpConnector for Http {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Http {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.client.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { kind(&error) };
            HttpError::new(kind, error)
        })?;
        let (mut parts, body) = response.into_parts();
        parts.extensions.insert(Reported::of(&parts.headers));
        let body = HttpResponseBody::new(body.map_err(|error| HttpError::new(kind(&error), error)));
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// Whether the store's client may repeat the request.
fn kind(error: &(dyn std::error::Error + 'static)) -> HttpErrorKind {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
                _ => HttpErrorKind::Interrupted,
            };
        }
        next = error.source();
        if next.is_none()
            && error.downcast_ref::<hyper::Error>().is_some_and(|error| {
                error.is_closed()
                    || error.is_canceled()
                    || error.is_incomplete_message()
                    || error.is_body_write_aborted()
            })
        {
            return HttpErrorKind::Interrupted;
        }
    }
    HttpErrorKind::Request
}

/// Connects for the client: network, then TLS where the URL says so.
#[derive(Clone)]
struct Dial {
    network: Arc<dyn Network>,
    tls: TlsConnector,
}

impl tower_service::Service<Uri> for Dial {
    type Response = TokioIo<Pooled>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { network, tls } = self.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
            let secure = uri.scheme_str() == Some("https");
            let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
            let attempt = async {
                let stream = Stall::new(network.connect(&host, port).await?);
                if !secure {
                    return Ok::<Box<dyn Io>, io::Error>(Box::new(stream));
                }
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                Ok(Box::new(tls.connect(name, stream).await?))
            };
            let stream = tokio::time::timeout(CONNECT, attempt).await.unwrap_or_else(|_| {
                let text = format!("no connection within {} s", CONNECT.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, text))
            });
            let stream =
                stream.map_err(|error| io::Error::new(error.kind(), format!("{host}:{port}: {error}")))?;
            Ok(TokioIo::new(Pooled(stream)))
        })
    }
}

/// A connection of the pool.
struct Pooled(Box<dyn Io>);

impl Connection for Pooled {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Pooled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Pooled {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_is_read_and_its_password_not_shown() {
        let proxy = Proxy::new("http://ada:p%40ss@10.0.0.1:3128/", " .corp.example, x.org ,").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("10.0.0.1", 3128));
        assert_eq!(proxy.authorization.as_ref().unwrap().as_str(), "Basic YWRhOnBAc3M=");
        assert!(!format!("{proxy:?}").contains("YWRh"));
        for (host, expected) in [
            ("a.corp.example", true),
            ("corp.example", true),
            ("xcorp.example", false),
            ("x.org", true),
            ("s3.amazonaws.com", false),
            ("169.254.169.254", true),
        ] {
            assert_eq!(proxy.bypasses(host), expected, "{host}");
        }
        assert_eq!(Proxy::new("[::1]:1080", "").unwrap().host, "::1");
        assert!(Proxy::new("socks5://x:1", "").is_err());
    }
}
