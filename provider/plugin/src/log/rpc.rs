//! One record per call of the client, with the fields of terraform-plugin-go (`internal/logging/keys.go`), on its
//! logger `sdk.proto`.
//!
//! ```text
//! {"@level":"trace","@message":"Served request","@module":"sdk.proto","tf_rpc":"ReadResource","tf_req_id":"..",
//!  "tf_resource_type":"notes_note","tf_req_duration_ms":12,"diagnostic_error_count":0, ..}
//! ```
//!
//! The call's span carries the fields, so every line that is logged during the call has them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tonic::codegen::http::Request;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::diagnostic::{Diagnostics, Severity};

/// The version of the protocol that is served.
const PROTOCOL: &str = "6.11";

/// Wraps a server so that it logs each call of the provider's service.
#[derive(Clone)]
pub(crate) struct LogCalls {
    address: Arc<str>,
}

impl LogCalls {
    /// A layer for the provider with this registry address.
    pub(crate) fn of(address: &str) -> LogCalls {
        LogCalls { address: address.into() }
    }
}

impl<S> tower::Layer<S> for LogCalls {
    type Service = Logged<S>;

    fn layer(&self, inner: S) -> Logged<S> {
        Logged { inner, address: Arc::clone(&self.address) }
    }
}

/// A server that logs each call.
#[derive(Clone)]
pub(crate) struct Logged<S> {
    inner: S,
    address: Arc<str>,
}

impl<S, B> tower::Service<Request<B>> for Logged<S>
where
    S: tower::Service<Request<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Other services of the plugin host have nothing to log.
        let span =
            request.uri().path().strip_prefix("/tfplugin6.Provider/").map(|rpc| span(rpc, &self.address));
        let answer = self.inner.call(request);
        let Some(span) = span else { return Box::pin(answer) };
        let logged = async move {
            tracing::trace!(target: "sdk.proto", "Received request");
            let begun = Instant::now();
            let answer = answer.await;
            let tf_req_duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::trace!(target: "sdk.proto", tf_req_duration_ms, "Served request");
            answer
        };
        Box::pin(logged.instrument(span))
    }
}

/// The span of a call. Its level is the highest, so that its fields are on every line that is logged.
fn span(tf_rpc: &str, tf_provider_addr: &str) -> Span {
    tracing::error_span!(
        target: "sdk.proto",
        "call",
        tf_rpc,
        tf_provider_addr,
        tf_req_id = request_id(),
        tf_proto_version = PROTOCOL,
        tf_resource_type = Empty,
        tf_data_source_type = Empty,
        tf_ephemeral_resource_type = Empty,
        tf_list_resource_type = Empty,
        tf_action_type = Empty,
        tf_function_name = Empty,
        diagnostic_error_count = Empty,
        diagnostic_warning_count = Empty,
    )
}

/// A random UUID.
fn request_id() -> String {
    let bits = (rand::random::<u128>() & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// What a call is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Resource,
    DataSource,
    Ephemeral,
    ListResource,
    Action,
    Function,
}

/// Adds the name of what the current call is about to its record.
pub(crate) fn about(subject: Subject, name: &str) {
    let field = match subject {
        Subject::Resource => "tf_resource_type",
        Subject::DataSource => "tf_data_source_type",
        Subject::Ephemeral => "tf_ephemeral_resource_type",
        Subject::ListResource => "tf_list_resource_type",
        Subject::Action => "tf_action_type",
        Subject::Function => "tf_function_name",
    };
    Span::current().record(field, name);
}

/// Logs the diagnostics of a response without their details, which may quote values.
pub(crate) fn diagnostics(diagnostics: &Diagnostics) {
    let count = |severity| {
        let found = diagnostics.0.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        u64::try_from(found).unwrap_or(u64::MAX)
    };
    let span = Span::current();
    span.record("diagnostic_error_count", count(Severity::Error));
    span.record("diagnostic_warning_count", count(Severity::Warning));
    for diagnostic in &diagnostics.0 {
        let diagnostic_summary = diagnostic.summary.as_str();
        let diagnostic_attribute = diagnostic.path.as_ref().map(ToString::to_string);
        // An error is shown to the user by the client, so it is not an error of the provider process.
        let diagnostic_severity = match diagnostic.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
        };
        tracing::debug!(
            target: "sdk.proto",
            diagnostic_severity, diagnostic_summary, diagnostic_attribute,
            "Response contains diagnostic"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_random_uuids() {
        let id = request_id();
        assert_eq!(id.len(), 36);
        assert_eq!((&id[14..15], id.split('-').count()), ("4", 5));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert_ne!(id, request_id());
    }
}
