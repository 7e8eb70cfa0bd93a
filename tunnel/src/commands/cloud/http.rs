//! HTTP requests, over TLS if the URL says so.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

use crate::runtime::problem::{Context as _, Problem, Result};

/// Timeout for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a response: a parameter has at most 8 KB, a secret 64 KiB.
const MAX_SIZE: usize = 256 * 1024;

/// A response.
pub(in crate::commands) struct Answer {
    pub(in crate::commands) status: StatusCode,
    /// May hold a secret.
    pub(in crate::commands) body: Zeroizing<Vec<u8>>,
}

impl Answer {
    /// The body as text, for services that return plain text.
    pub(in crate::commands) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim().to_owned()
    }
}

/// Sends a request whose URI is absolute.
///
/// # Errors
/// No response in time. The error names the host, but nothing of the request.
pub(in crate::commands) async fn send(request: Request<Full<Bytes>>) -> Result<Answer> {
    let uri = request.uri().clone();
    let host = uri.host().unwrap_or_default().to_owned();
    let talk = async {
        let tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await;
        let stream = stream.while_doing(|| format!("connecting to {host}"))?;
        if !tls {
            return exchange(stream, request).await;
        }
        let name = ServerName::try_from(host.clone()).while_doing(|| format!("resolving {host}"))?;
        let stream = TlsConnector::from(Arc::new(trust()?)).connect(name, stream).await;
        exchange(stream.while_doing(|| format!("TLS with {host}"))?, request).await
    };
    let unheard = || Problem::new(format!("{host} did not answer within {} s", RESPONSE_TIMEOUT.as_secs()));
    tokio::time::timeout(RESPONSE_TIMEOUT, talk).await.unwrap_or_else(|_| Err(unheard()))
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    mut request: Request<Full<Bytes>>,
) -> Result<Answer> {
    let uri = request.uri().clone();
    let host = uri.authority().map(ToString::to_string).unwrap_or_default();
    let doing = || format!("request to {host}");
    // Servers, unlike proxies, expect a path instead of an absolute URI.
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().while_doing(doing)?;
    let value = header::HeaderValue::from_str(&host).while_doing(doing)?;
    request.headers_mut().entry(header::HOST).or_insert(value);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.while_doing(doing)?;
    let answer = async {
        let response = sender.send_request(request).await.while_doing(doing)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_SIZE).collect().await.while_doing(doing)?;
        Ok(Answer { status, body: Zeroizing::new(body.to_bytes().to_vec()) })
    };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        // The connection may end after the whole response has arrived.
        _ = connection => answer.await,
    }
}

/// The machine's own certificate authorities.
fn trust() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Problem::new("this machine has no CA certificates")
            .hint("install the package ca-certificates, or set SSL_CERT_FILE"));
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .while_doing(|| "TLS".to_owned())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
