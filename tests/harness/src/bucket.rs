//! Google Cloud Storage on loopback: of its XML API what reads and conditionally writes an object, for clients that have a
//! token of workload identity federation.
//!
//! Written from Google's reference (GET object, PUT object, preconditions by `x-goog-if-generation-match`; token exchange of the
//! Security Token Service): there is no schema of the XML API to hold it to.
//!
//! Calls, faults and kill points are those of every emulated cloud, see [`Front`]. Actions are `getObject`, `putObject` and
//! `exchangeToken`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use serde_json::json;

use crate::front::reply::{Rejection, Reply};
use crate::front::{Call, Cloud, Effect, Front, Hosted, Service};
use crate::google::discovery::decoded;
use crate::query::Params;

/// The condition of a write: the object's generation, or 0 where there must be none.
const CONDITION: &str = "x-goog-if-generation-match";
const GENERATION: &str = "x-goog-generation";
/// What a token of somebody else is exchanged for.
const TOKEN: &str = "ya29.double";

/// Buckets that are served. They end when the value is dropped.
#[derive(Debug)]
pub struct Bucket {
    hosted: Hosted,
    service: Arc<Objects>,
}

impl Bucket {
    /// Starts with nothing stored. There is every bucket that is asked for.
    ///
    /// # Errors
    /// There is no port.
    pub fn start() -> Result<Self> {
        let service = Arc::new(Objects::default());
        let hosted = Hosted::start("bucket", &service.front, Arc::clone(&service))?;
        Ok(Self { hosted, service })
    }

    /// What a client takes from its environment to come here. In `folder` go its credentials, as GitHub's
    /// `google-github-actions/auth` writes them: a token of its own, and where that is exchanged.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn environment(&self, folder: &Path) -> Result<[(&'static str, String); 3]> {
        let (subject, credentials) = (folder.join("subject"), folder.join("credentials.json"));
        std::fs::write(&subject, "a token of GitHub's")?;
        let text = json!({
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/github",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": format!("{}/v1/token", self.hosted.endpoint()),
            "credential_source": {"file": subject},
        });
        std::fs::write(&credentials, text.to_string())?;
        Ok([
            ("GOOGLE_APPLICATION_CREDENTIALS", credentials.display().to_string()),
            ("GOOGLE_BASE_URL", self.hosted.endpoint()),
            ("GOOGLE_ALLOW_HTTP", "true".to_owned()),
        ])
    }

    /// The record and the controls: calls, violations, faults, kill points.
    pub fn front(&self) -> &Front {
        &self.service.front
    }

    /// The text of an object, by bucket and key.
    pub fn object(&self, bucket: &str, key: &str) -> Option<String> {
        let stored = self.service.stored();
        let (_, text) = stored.objects.get(&format!("/{bucket}/{key}"))?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

#[derive(Debug, Default)]
struct Objects {
    front: Front,
    stored: Mutex<Stored>,
}

/// Objects by path, with their generations.
#[derive(Debug, Default)]
struct Stored {
    objects: BTreeMap<String, (u64, Bytes)>,
    generation: u64,
}

impl Objects {
    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cloud for Objects {
    type Request = http::Request<Bytes>;

    fn read(&self, raw: http::Request<Bytes>) -> (Call, Self::Request) {
        let action = match *raw.method() {
            Method::GET => "getObject",
            Method::PUT => "putObject",
            Method::POST if raw.uri().path() == "/v1/token" => "exchangeToken",
            _ => "other",
        };
        let mut params = Params::default();
        params.set("path", &decoded(raw.uri().path()));
        if let Some(condition) = header(raw.headers(), CONDITION) {
            params.set(CONDITION, condition);
        }
        let call = Call {
            sequence: 0,
            service: Service::Google,
            action: action.to_owned(),
            params,
            status: None,
            error: None,
            forwarded: false,
        };
        (call, raw)
    }

    async fn answer(&self, sequence: u64, request: Self::Request, _effect: Option<Effect>) -> Reply {
        self.front.note(sequence, |call| call.forwarded = true);
        let path = decoded(request.uri().path());
        if *request.method() == Method::POST && path == "/v1/token" {
            let issued = "urn:ietf:params:oauth:token-type:access_token";
            let token = json!({"access_token": TOKEN, "issued_token_type": issued, "token_type": "Bearer", "expires_in": 3600});
            let mut reply = Response::new(Bytes::from(token.to_string()));
            reply.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            return reply;
        }
        if header(request.headers(), "authorization") != Some(&format!("Bearer {TOKEN}")) {
            return refused(StatusCode::UNAUTHORIZED, "AuthenticationRequired").reply(Service::S3, sequence);
        }
        let mut stored = self.stored();
        let found = stored.objects.get(&path).map(|(generation, text)| (*generation, text.clone()));
        let answered = match *request.method() {
            Method::GET => found.ok_or_else(|| refused(StatusCode::NOT_FOUND, "NoSuchKey")),
            Method::PUT => {
                let condition =
                    header(request.headers(), CONDITION).and_then(|text| text.parse::<u64>().ok());
                if condition.is_none() {
                    let problem =
                        format!("{path} is written without {CONDITION}, whatever others wrote meanwhile");
                    self.front.violate(sequence, "putObject", problem);
                }
                if condition == Some(found.map_or(0, |(generation, _)| generation)) {
                    stored.generation += 1;
                    let generation = stored.generation;
                    stored.objects.insert(path, (generation, request.into_body()));
                    Ok((generation, Bytes::new()))
                } else {
                    Err(refused(StatusCode::PRECONDITION_FAILED, "PreconditionFailed"))
                }
            }
            _ => {
                self.front.violate(sequence, "other", format!("{} is not served", request.method()));
                Err(refused(StatusCode::NOT_IMPLEMENTED, "NotImplemented"))
            }
        };
        match answered {
            Ok((generation, text)) => told(generation, text),
            Err(rejection) => rejection.reply(Service::S3, sequence),
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn refused(status: StatusCode, code: &str) -> Rejection {
    Rejection::with_status(status, code, "refused by the double of Google Cloud Storage")
}

fn told(generation: u64, text: Bytes) -> Reply {
    let length = text.len();
    let mut reply = Response::new(text);
    let headers = reply.headers_mut();
    headers.insert(GENERATION, generation.into());
    headers.insert("last-modified", HeaderValue::from_static("Thu, 01 Jan 2026 00:00:00 GMT"));
    headers.insert("content-length", length.into());
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{generation}\"")) {
        headers.insert("etag", tag);
    }
    reply
}
