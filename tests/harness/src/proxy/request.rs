//! What a client asked: service, action, parameters.

use bytes::Bytes;
use http::{Method, header};
use serde_json::Value;

use super::route53;
use crate::botocore_model::{Models, Sent};
use crate::front::{Call, Service, is_read};
use crate::query::Params;

/// A request on its way through the proxy.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) sequence: u64,
    pub(super) service: Service,
    pub(super) action: String,
    /// Changed by stations that rewrite; query services are forwarded from here.
    pub(super) params: Params,
    pub(super) json: Option<Value>,
    pub(super) region: String,
    raw: http::Request<Bytes>,
}

impl Request {
    pub(super) fn parse(raw: http::Request<Bytes>, models: &Models) -> Self {
        let (region, service) = scope(&raw);
        let mut service = Service::named(&service);
        if matches!(service, Service::Route53 | Service::S3) {
            return Self::rest(raw, service, region, models);
        }
        let target = raw.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
        let target = target.and_then(|target| target.rsplit_once('.')).map(|(_, action)| action.to_owned());
        let mut json = None;
        let (action, params) = if let Some(action) = target {
            json = serde_json::from_slice(raw.body()).ok();
            (action, json.as_ref().map(Params::from_json).unwrap_or_default())
        } else {
            let form = Params::from_form(if raw.method() == Method::GET {
                raw.uri().query().unwrap_or_default().as_bytes()
            } else {
                raw.body()
            });
            if raw.uri().path() == "/" && form.has("Action") {
                if service == Service::Other && form.get("Version") == "2016-11-15" {
                    service = Service::Ec2;
                }
                (form.get("Action").to_owned(), form)
            } else {
                (format!("{} {}", raw.method(), raw.uri().path()), form)
            }
        };
        Self { sequence: 0, service, action, params, json, region, raw }
    }

    /// A request whose action follows from its method and path.
    fn rest(raw: http::Request<Bytes>, service: Service, region: String, models: &Models) -> Self {
        let query = Params::from_form(raw.uri().query().unwrap_or_default().as_bytes());
        let route = (raw.method().as_str(), raw.uri().path());
        let sent = Sent { query: &query, headers: raw.headers(), body: raw.body() };
        let found = models.rest(service, route, &sent);
        let (action, json) = found.unwrap_or_else(|| (format!("{} {}", route.0, route.1), Value::Null));
        let params = if service == Service::S3 { s3(&raw, query) } else { Params::from_json(&json) };
        Self { sequence: 0, service, action, params, json: Some(json), region, raw }
    }

    pub(super) fn is_read(&self) -> bool {
        is_read(&self.action)
    }

    /// Whether the parameters are form fields that may be rewritten on the way.
    pub(super) fn is_form(&self) -> bool {
        matches!(self.service, Service::Ec2 | Service::Sts) && self.params.has("Action")
    }

    pub(super) fn call(&self) -> Call {
        Call {
            sequence: self.sequence,
            service: self.service,
            action: self.action.clone(),
            params: self.params.clone(),
            status: None,
            error: None,
            forwarded: false,
        }
    }

    /// The request for the emulator.
    pub(super) fn outgoing(&self) -> http::Request<Bytes> {
        let mut request = self.raw.clone();
        if self.service == Service::Route53 {
            *request.body_mut() = route53::unescaped(request.body());
        }
        if self.service == Service::Ec2 && self.is_form() {
            *request.method_mut() = Method::POST;
            *request.uri_mut() = http::Uri::from_static("/");
            *request.body_mut() = Bytes::from(self.params.to_form());
            let form = header::HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8");
            request.headers_mut().insert(header::CONTENT_TYPE, form);
        }
        // The client library writes these for the new connection and the new length.
        for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION, header::EXPECT] {
            request.headers_mut().remove(name);
        }
        request
    }
}

/// Region and service from the credential scope `key/date/region/service/aws4_request` of the header or the URL.
fn scope(raw: &http::Request<Bytes>) -> (String, String) {
    let header =
        raw.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let signed = Params::from_form(raw.uri().query().unwrap_or_default().as_bytes());
    let credential = match header.split_once("Credential=") {
        Some((_, rest)) => rest.split([',', ' ']).next().unwrap_or_default(),
        None => signed.get("X-Amz-Credential"),
    };
    let mut parts = credential.split('/').skip(2);
    let region = parts.next().unwrap_or("us-east-1").to_owned();
    (region, parts.next().unwrap_or_default().to_owned())
}

/// An object and its conditions, as calls of S3 are recorded.
fn s3(raw: &http::Request<Bytes>, query: Params) -> Params {
    let mut params = query;
    let path = raw.uri().path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    params.set("bucket", bucket);
    params.set("key", key);
    for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
        if let Some(value) = raw.headers().get(&name).and_then(|value| value.to_str().ok()) {
            params.set(name.as_str(), value);
        }
    }
    params
}
