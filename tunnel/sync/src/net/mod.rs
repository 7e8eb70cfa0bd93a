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
use http::header::{ACCEPT_ENCODING, HeaderValue};
use http::{StatusCode, Uri};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::adapt::Refusals;
use crate::sums::Reported;
use stall::Stall;

/// Time to a connection, with the proxy's and TLS's part.
const CONNECT: Duration = Duration::from_secs(20);
/// What is read from a connection before it is taken away. hyper's default, 400 KiB for each of many connections, is too much.
const BUFFER: usize = 256 << 10;
/// How long an idle connection is kept. Its receive window stays reserved in the network stack of a pod's tunnel, and hundreds of
/// them, left by many small objects, would leave no window to the large ones.
const IDLE: Duration = Duration::from_secs(2);

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

/// The connector of stores.
#[derive(Clone)]
pub struct Http {
    client: Client<Dial, HttpRequestBody>,
    as_stored: bool,
    refusals: Refusals,
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
        let mut client = Client::builder(TokioExecutor::new());
        // Without the timer, idle connections end only when the next request looks for one.
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).http1_max_buf_size(BUFFER);
        let client = client.build(dial);
        Ok(Self { client, as_stored: false, refusals: Refusals::default() })
    }

    /// Counts requests that a store refuses because there are too many. The store's client repeats them later.
    #[must_use]
    pub fn counting(self, refusals: Refusals) -> Self {
        Self { refusals, ..self }
    }

    /// Reads objects as they are stored: Google decompresses those of `Content-Encoding: gzip` for a client that does not
    /// accept it, and then has neither ranges nor a checksum of what it sends
    /// (<https://cloud.google.com/storage/docs/transcoding>).
    #[must_use]
    pub fn as_stored(self) -> Self {
        Self { as_stored: true, ..self }
    }
}

impl HttpConnector for Http {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Http {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if self.as_stored {
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let response = self.client.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { kind(&error) };
            HttpError::new(kind, error)
        })?;
        let (mut parts, body) = response.into_parts();
        if matches!(parts.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            self.refusals.add();
        }
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
    type Response = TokioIo<Box<dyn Io>>;
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
            Ok(TokioIo::new(stream))
        })
    }
}

impl Connection for Box<dyn Io> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A server that answers each connection with the next of these, and the refusals that the client counted.
    async fn refusals(answers: &'static [&'static str]) -> u64 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let server = async {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut bytes = [0; 1024];
                assert!(stream.read(&mut bytes).await.unwrap() > 0);
                let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.write_all(text.as_bytes()).await.unwrap();
            }
        };
        let counted = Refusals::default();
        let http = Http::new(Arc::new(Direct), None).unwrap().counting(counted.clone());
        let client = async {
            for _ in answers {
                let request = http::Request::get(format!("http://{at}/")).body(HttpRequestBody::empty());
                http.call(request.unwrap()).await.unwrap();
            }
        };
        tokio::join!(server, client);
        counted.count()
    }

    #[tokio::test]
    async fn answers_that_ask_for_fewer_requests_are_counted() {
        assert_eq!(refusals(&["200 OK", "404 Not Found", "500 Internal Server Error"]).await, 0);
        assert_eq!(refusals(&["503 Slow Down", "200 OK", "429 Too Many Requests"]).await, 2);
    }

    /// A network with one connection.
    #[derive(Debug)]
    struct Only(parking_lot::Mutex<Option<tokio::io::DuplexStream>>);

    #[async_trait]
    impl Network for Only {
        async fn connect(&self, _: &str, _: u16) -> io::Result<Box<dyn Io>> {
            Ok(Box::new(self.0.lock().take().ok_or(io::ErrorKind::AddrInUse)?))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends_without_another_request() {
        let (client, mut server) = tokio::io::duplex(1024);
        let http = Http::new(Arc::new(Only(parking_lot::Mutex::new(Some(client)))), None).unwrap();
        let serve = async {
            let mut bytes = [0; 1024];
            assert!(server.read(&mut bytes).await.unwrap() > 0);
            server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            let answered = tokio::time::Instant::now();
            assert_eq!(server.read(&mut bytes).await.unwrap(), 0);
            answered.elapsed()
        };
        let request = http::Request::get("http://store/").body(HttpRequestBody::empty()).unwrap();
        let (idle, answer) = tokio::join!(serve, http.call(request));
        answer.unwrap();
        assert!(idle >= IDLE && idle <= 3 * IDLE, "{idle:?}");
    }
}
