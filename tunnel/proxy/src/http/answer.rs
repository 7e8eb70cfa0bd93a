//! The proxy's own responses.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderName, HeaderValue, PROXY_AUTHENTICATE},
};

use crate::{
    net::DialError,
    outbound::{NameError, Unreached},
    target::Target,
};

/// A server's body, or our own words.
pub(super) type Body = Either<Incoming, Full<Bytes>>;

/// RFC 9209: which proxy failed, and at what.
const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// An answer of a line for people.
pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut text = text.into();
    text.push('\n');
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// CONNECT has worked.
pub(super) fn connected() -> Response<Body> {
    Response::new(Either::Right(Full::default()))
}

/// Requests a user and a password.
pub(super) fn who_are_you() -> Response<Body> {
    let mut response =
        plain(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "this proxy requires a user and a password");
    let challenge = HeaderValue::from_static("Basic realm=\"warren\", charset=\"UTF-8\"");
    response.headers_mut().insert(PROXY_AUTHENTICATE, challenge);
    response
}

/// A target was not reached.
pub(super) fn unreached(target: &Target, error: Unreached) -> Response<Body> {
    let (status, word) = match error {
        Unreached::Name(NameError::Unknown | NameError::Failed) => (StatusCode::BAD_GATEWAY, "dns_error"),
        Unreached::Dial(DialError::Refused) => (StatusCode::BAD_GATEWAY, "connection_refused"),
        Unreached::Dial(DialError::HostUnreachable | DialError::NetworkUnreachable | DialError::NoRoute) => {
            (StatusCode::BAD_GATEWAY, "destination_ip_unroutable")
        }
        Unreached::Dial(DialError::TimedOut) => (StatusCode::GATEWAY_TIMEOUT, "connection_timeout"),
        Unreached::Dial(DialError::NotPermitted) => (StatusCode::FORBIDDEN, "destination_ip_prohibited"),
        Unreached::Dial(DialError::Exhausted) => {
            (StatusCode::SERVICE_UNAVAILABLE, "connection_limit_reached")
        }
        Unreached::Dial(DialError::Failed) => (StatusCode::BAD_GATEWAY, "proxy_internal_error"),
    };
    let mut response = plain(status, format!("warren-tunnel: {target}: {error}"));
    if let Ok(value) = HeaderValue::from_str(&format!("warren; error={word}")) {
        response.headers_mut().insert(PROXY_STATUS, value);
    }
    response
}
