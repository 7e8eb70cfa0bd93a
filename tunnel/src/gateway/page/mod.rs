//! The page for operators: one HTML file without anything from elsewhere, and the JSON that it polls.
//!
//! ```text
//! browser --GET /----------> page.html, which is part of the binary
//!         --GET /page.json-> this gateway's report, and the reports of the other gateways of the file
//! ```
//!
//! Names of pods are theirs to choose. The page only ever sets them as text, and its policy runs no other script than its own.

mod credential;
mod fabric;
mod others;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use ring::digest::{SHA256, digest};

use crate::runtime::metrics::{Answer, RequestHead};

pub use credential::Credential;
pub use fabric::{Fabric, GatewayView};
pub(super) use others::Others;

/// The page.
const HTML: &str = include_str!("page.html");
/// The path of the data that the page polls.
pub const DATA_PATH: &str = "/page.json";

/// Serves the page and its data.
pub struct Page {
    credential: Option<Credential>,
    policy: String,
}

impl Page {
    /// A page for holders of a password, or for everyone on this machine.
    #[must_use]
    pub fn new(credential: Option<Credential>) -> Self {
        Self { credential, policy: policy() }
    }

    /// Answers a request for the page or its data; `None` for other paths. `data` may fail for a while.
    pub fn answer(&self, request: &RequestHead, data: impl FnOnce() -> Option<Bytes>) -> Option<Answer> {
        let path = request.uri.path();
        if path != "/" && path != DATA_PATH {
            return None;
        }
        if let Some(refusal) = self.refuse(request) {
            return Some(refusal);
        }
        Some(if path == "/" {
            self.response(StatusCode::OK, "text/html; charset=utf-8", HTML)
        } else {
            match data() {
                Some(data) => self.response(StatusCode::OK, "application/json", data),
                None => self.refusal(StatusCode::SERVICE_UNAVAILABLE, "the control thread does not answer\n"),
            }
        })
    }

    /// Admits, with a password, whoever knows it. Without one, only requests for a name of this machine: a page of a stranger whose
    /// name leads here (DNS rebinding) has another one.
    fn refuse(&self, request: &RequestHead) -> Option<Answer> {
        let header = |name: HeaderName| request.headers.get(name).and_then(|value| value.to_str().ok());
        let Some(credential) = &self.credential else {
            let text = "this page is served for localhost only: open http://127.0.0.1 with the port\n";
            let local = is_loopback(header(HOST).unwrap_or_default());
            return (!local).then(|| self.refusal(StatusCode::FORBIDDEN, text));
        };
        if header(AUTHORIZATION).is_some_and(|given| credential.admits(given)) {
            return None;
        }
        let mut refusal = self.refusal(StatusCode::UNAUTHORIZED, "the password is missing or wrong\n");
        let challenge = HeaderValue::from_static("Basic realm=\"warren-tunnel gateway\", charset=\"UTF-8\"");
        refusal.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        Some(refusal)
    }

    fn refusal(&self, status: StatusCode, text: &'static str) -> Answer {
        self.response(status, "text/plain; charset=utf-8", text)
    }

    fn response(&self, status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
        let mut response = Response::new(Full::new(body.into()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, content_type),
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (X_FRAME_OPTIONS, "DENY"),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Ok(policy) = HeaderValue::from_str(&self.policy) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

/// The page's own script and style, named by their hashes, and requests to where it came from. Nothing else.
fn policy() -> String {
    let hash = |tag: &str| {
        let inside =
            HTML.split_once(&format!("<{tag}>")).and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
        let inside = inside.map_or("", |(inside, _)| inside);
        format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, inside.as_bytes())))
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        hash("script"),
        hash("style")
    )
}

/// Whether the value of `Host` is a name or address of this machine, with any port: a forwarded one may differ.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
