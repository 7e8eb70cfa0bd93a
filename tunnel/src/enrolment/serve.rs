//! HTTP over a connection that is already encrypted. One request a connection, within a time and a size.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use warren_wire::enrolment::{ChannelBinding, Kind, Problem, REQUEST_MAX};

use super::server::{Enrolment, Request, Response};

/// The longest head of a request.
const HEAD: usize = 8 * 1024;

/// Answers one request and closes. `within` is for the request to arrive, and once more for the answer to leave.
///
/// # Errors
/// The connection broke, or nothing whole came in time.
pub async fn serve<S>(
    stream: S,
    remote: SocketAddr,
    binding: ChannelBinding,
    enrolment: Arc<Enrolment>,
    within: Duration,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let enrolment = Arc::clone(&enrolment);
        async move {
            let response = answer(request, remote, binding, &enrolment, within).await;
            Ok::<_, Infallible>(whole(response))
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(within)
        .keep_alive(false)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // A peer that does not take its answer is not waited for.
    match timeout(within * 3, connection).await {
        Ok(result) => result,
        Err(_) => Ok(()),
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    remote: SocketAddr,
    binding: ChannelBinding,
    enrolment: &Enrolment,
    within: Duration,
) -> Response {
    let (head, body) = request.into_parts();
    let body = match timeout(within, Limited::new(body, REQUEST_MAX).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => {
            let detail = format!("at most {REQUEST_MAX} bytes are taken, and the whole body must come");
            return Response::from(&Problem::new(Kind::TooLarge, detail));
        }
        Err(_) => {
            let detail = format!("the body did not come within {} s", within.as_secs());
            return Response::from(&Problem::new(Kind::Slow, detail));
        }
    };
    let content_type =
        head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let request = Request {
        remote,
        binding,
        method: head.method.as_str(),
        path: head.uri.path(),
        content_type,
        body: &body,
    };
    enrolment.handle(request).await
}

fn whole(response: Response) -> hyper::Response<Full<Bytes>> {
    let mut out = hyper::Response::new(Full::new(Bytes::from(response.body)));
    // The statuses are our own.
    *out.status_mut() = response.status.try_into().unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    out.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    if let Some(seconds) = response.retry_after {
        out.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    out
}
