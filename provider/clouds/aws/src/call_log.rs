//! One line per attempt of an API call: service, operation, attempt, status, request ID and duration.
//!
//! Requests and responses themselves are never logged, since they contain credentials and secrets.

use std::time::Instant;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata};
use aws_smithy_runtime_api::client::retries::RequestAttempts;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};

/// Headers with the request ID: of most services, and of S3.
const REQUEST_ID: [&str; 2] = ["x-amzn-requestid", "x-amz-request-id"];

/// Logs the attempts of a client's calls.
#[derive(Debug)]
pub(crate) struct CallLog;

/// When the attempt began.
#[derive(Debug)]
struct Begun(Instant);

impl Storable for Begun {
    type Storer = StoreReplace<Begun>;
}

impl Intercept for CallLog {
    fn name(&self) -> &'static str {
        "CallLog"
    }

    fn read_before_attempt(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        cfg.interceptor_state().store_put(Begun(Instant::now()));
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (service, operation) =
            cfg.load::<Metadata>().map_or(("", ""), |metadata| (metadata.service(), metadata.name()));
        let attempt = cfg.load::<RequestAttempts>().map(RequestAttempts::attempts);
        let begun = cfg.load::<Begun>().map(|begun| begun.0);
        let duration_ms = begun.and_then(|begun| u64::try_from(begun.elapsed().as_millis()).ok());
        let response = context.response();
        let status = response.map(|response| response.status().as_u16());
        let request_id =
            response.and_then(|response| REQUEST_ID.iter().find_map(|name| response.headers().get(*name)));
        let failure = match context.output_or_error() {
            Some(Err(error)) if error.is_timeout_error() => Some("timeout".to_owned()),
            Some(Err(error)) if error.is_connector_error() => Some("no connection".to_owned()),
            Some(Err(_)) => Some(response.and_then(code).unwrap_or_else(|| "error".to_owned())),
            _ => None,
        };
        tracing::debug!(
            service,
            operation,
            attempt,
            status,
            request_id,
            duration_ms,
            failure,
            "called the AWS API"
        );
        Ok(())
    }
}

/// The error code of a response: in a header, in the XML of EC2 and similar services, or in the JSON of others.
pub(crate) fn code(response: &HttpResponse) -> Option<String> {
    if let Some(code) = response.headers().get("x-amzn-errortype") {
        return Some(code.split(':').next().unwrap_or(code).to_owned());
    }
    let body = std::str::from_utf8(response.body().bytes()?).ok()?;
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let code = match json.as_ref().and_then(|json| json["__type"].as_str()) {
        Some(name) => name.rsplit('#').next()?,
        None => body.split_once("<Code>")?.1.split_once("</Code>")?.0,
    };
    let plain = code.len() <= 100 && code.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    plain.then(|| code.to_owned())
}
