//! HTTP/1 of this process's own services: metrics, the page for operators, credentials.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

/// From the first byte of a request to the last of its head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;

/// An answer to a request.
pub type Answer = Response<Full<Bytes>>;

/// Answers the requests of one connection, which ends after `lifetime` at the latest.
pub(crate) async fn serve<F: Future<Output = Answer>>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    lifetime: Duration,
    answer: impl Fn(Request<Incoming>) -> F,
) {
    let service = service_fn(|request| {
        let answer = answer(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    _ = tokio::time::timeout(lifetime, connection).await;
}

/// An answer in JSON that no cache may store.
pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
