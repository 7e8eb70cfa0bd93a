//! Answers, and errors in the dialect of each service.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde_json::json;

use super::call::Service;
use crate::xml::Element;

/// A whole answer.
pub(crate) type Reply = Response<Bytes>;

/// What becomes of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The client gets this answer.
    Answer(Reply),
    /// The client's connection ends without an answer.
    Cut,
}

/// An error as the service words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Rejection {
    /// A client error, status 400.
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: code.to_owned(), message: message.into() }
    }

    pub(crate) fn with_status(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, ..Self::new(code, message) }
    }

    /// The answer in the service's format.
    pub(crate) fn reply(&self, service: Service, sequence: u64) -> Reply {
        self.reply_to(service, "", sequence)
    }

    /// The answer to an action in the service's format.
    pub(crate) fn reply_to(&self, service: Service, action: &str, sequence: u64) -> Reply {
        let (code, message) = (self.code.as_str(), self.message.as_str());
        let id = format!("00000000-0000-4000-8000-{sequence:012}");
        let error = |name: &str| {
            let mut error = Element::new(name);
            error.children = vec![Element::leaf("Code", code), Element::leaf("Message", message)];
            error
        };
        let (kind, body) = match service {
            Service::Ecr | Service::Ssm | Service::Logs | Service::Route53Resolver => {
                ("application/x-amz-json-1.1", json!({"__type": code, "message": message}).to_string())
            }
            Service::Google => {
                ("application/json; charset=UTF-8", google(action, self.status, code, message))
            }
            Service::RunPod => {
                let problem = json!({"title": code, "status": self.status.as_u16(), "detail": message});
                ("application/problem+json", problem.to_string())
            }
            Service::S3 | Service::GoogleStorage => ("application/xml", error("Error").document()),
            Service::AutoScaling | Service::Sts | Service::Iam | Service::Route53 => {
                let mut root = Element::new("ErrorResponse");
                root.children = vec![error("Error"), Element::leaf("RequestId", &id)];
                root.children[0].children.insert(0, Element::leaf("Type", "Sender"));
                ("text/xml", root.document())
            }
            Service::Ec2 | Service::Other => {
                let mut errors = Element::new("Errors");
                errors.children.push(error("Error"));
                let mut root = Element::new("Response");
                root.children = vec![errors, Element::leaf("RequestID", &id)];
                ("text/xml;charset=UTF-8", root.document())
            }
        };
        let mut reply = Response::new(Bytes::from(body));
        *reply.status_mut() = self.status;
        reply.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
        if service == Service::RunPod && self.status == StatusCode::TOO_MANY_REQUESTS {
            reply.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        reply
    }
}

/// The error document of Google, whose services differ in what they add to code and message.
fn google(action: &str, status: StatusCode, reason: &str, message: &str) -> String {
    let canonical = match status.as_u16() {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ALREADY_EXISTS",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let mut error = json!({"code": status.as_u16(), "message": message});
    // A reason of `google.rpc.ErrorInfo` is in the details, besides one of the older kind.
    let detailed = reason != canonical && reason.contains('_') && reason == reason.to_ascii_uppercase();
    let older = match reason {
        _ if detailed && canonical == "PERMISSION_DENIED" && !reason.contains("QUOTA") => "forbidden",
        _ if detailed => "rateLimitExceeded",
        reason => reason,
    };
    if older != canonical {
        let domain = if older.to_lowercase().contains("limit") { "usageLimits" } else { "global" };
        error["errors"] = json!([{"message": message, "domain": domain, "reason": older}]);
    }
    let service = action.split('.').next().unwrap_or_default();
    if service != "compute" {
        error["status"] = json!(canonical);
    }
    if detailed {
        let domain = format!("{service}.googleapis.com");
        let metadata = json!({"containerType": "PROJECT", "containerId": "1", "location": "us-central1"});
        error["details"] = json!([
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason, "domain": domain, "metadata": metadata,
            },
            {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": message},
        ]);
    } else if status == StatusCode::FORBIDDEN && reason == "quotaExceeded" {
        let localized = "type.googleapis.com/google.rpc.LocalizedMessage";
        error["details"] = json!([{"@type": localized, "locale": "en-US", "message": message}]);
    }
    json!({ "error": error }).to_string()
}

/// The error code in an answer's body, whichever dialect it is in.
pub(crate) fn error_code(reply: &Reply) -> Option<String> {
    if reply.status().is_success() {
        return None;
    }
    if let Ok(body) = serde_json::from_slice::<serde_json::Value>(reply.body()) {
        if let Some(reason) = body["error"]["errors"][0]["reason"].as_str() {
            return Some(reason.to_owned());
        }
        if let Some(status) = body["error"]["status"].as_str() {
            return Some(status.to_owned());
        }
        if let Some(title) = body["title"].as_str() {
            return Some(title.to_owned());
        }
        let kind = body["__type"].as_str()?;
        return Some(kind.rsplit('#').next().unwrap_or(kind).to_owned());
    }
    let tree = Element::parse(&String::from_utf8_lossy(reply.body())).ok()?;
    let paths = ["Errors/Error/Code", "Error/Code", "Code"];
    paths.iter().map(|path| tree.text_at(path)).find(|code| !code.is_empty()).map(str::to_owned)
}

/// A successful answer of our own.
pub(crate) fn xml(tree: &Element) -> Reply {
    let mut reply = Response::new(Bytes::from(tree.document()));
    reply
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/xml;charset=UTF-8"));
    reply
}

/// Replaces the body of an answer.
pub(crate) fn with_body(reply: Reply, tree: &Element) -> Reply {
    let (mut parts, _) = reply.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Bytes::from(tree.document()))
}
