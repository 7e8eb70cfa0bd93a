//! A plain HTTP client for loopback: whole request in, whole response out.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

/// A client without TLS, redirects or retries.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    inner: Client<HttpConnector, Full<Bytes>>,
}

impl HttpClient {
    pub(crate) fn new() -> Self {
        // The emulator closes each connection, so pooling would only race with that.
        let inner = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
        Self { inner }
    }

    /// Sends the request and reads the whole answer.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let (parts, body) = request.into_parts();
        let uri = parts.uri.clone();
        let response = self
            .inner
            .request(Request::from_parts(parts, Full::new(body)))
            .await
            .with_context(|| format!("no answer from {uri}"))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.with_context(|| format!("answer of {uri} was cut"))?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}
