//! Google Cloud Storage on loopback: objects, lists, and uploads in parts of its XML API, for claims and for `sync`.
//!
//! Written from Google's reference of the XML API, which has no schema: see `docs/google-double.md`. Bytes and uploads are in
//! memory.
//!
//! Calls, faults and kill points are those of every emulated cloud, see [`Front`]. Actions are `listObjects`, `getObject`,
//! `headObject`, `putObject`, `deleteObject`, `createUpload`, `uploadPart`, `completeUpload`, `abortUpload`, and those of tokens:
//! `getToken` of the metadata service, `exchangeToken` of the Security Token Service.

mod dates;
mod objects;
mod tokens;
mod uploads;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::json;

use crate::front::reply::{Rejection, Reply};
use crate::front::{Call, Cloud, Effect, Front, Hosted, Service};
use crate::google::discovery::decoded;
use crate::query::Params;
use objects::{Object, Stored};
use tokens::Tokens;

/// The condition of a write: the object's generation, or 0 where there must be none.
const CONDITION: &str = "x-goog-if-generation-match";
const METADATA: &str = "/computeMetadata/v1/instance/service-accounts/default/token";

/// Which buckets there are, and how they answer.
#[derive(Clone, Debug)]
pub struct BucketConfig {
    /// The buckets that exist; if empty, every bucket that is asked for.
    pub names: Vec<String>,
    /// Whether each write must have a condition, as those of claims have.
    pub conditional: bool,
    /// The most objects in one page of a list; those of the service have 1,000.
    pub page: usize,
    /// Where to listen.
    pub address: SocketAddr,
}

impl Default for BucketConfig {
    fn default() -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { names: Vec::new(), conditional: false, page: 1000, address }
    }
}

/// Buckets that are served. They end when the value is dropped.
#[derive(Debug)]
pub struct Bucket {
    hosted: Hosted,
    service: Arc<Storage>,
}

impl Bucket {
    /// Starts with nothing stored, for claims: every bucket exists, and writes have conditions.
    ///
    /// # Errors
    /// There is no port.
    pub fn start() -> Result<Self> {
        Self::start_with(BucketConfig { conditional: true, ..BucketConfig::default() })
    }

    /// Starts with nothing stored.
    ///
    /// # Errors
    /// There is no port.
    pub fn start_with(config: BucketConfig) -> Result<Self> {
        let address = config.address;
        let service = Arc::new(Storage {
            front: Front::default(),
            config,
            stored: Mutex::default(),
            tokens: Mutex::default(),
        });
        let hosted = Hosted::start_at("bucket", address, &service.front, Arc::clone(&service))?;
        Ok(Self { hosted, service })
    }

    /// The URL to give to clients, without a trailing slash.
    pub fn endpoint(&self) -> String {
        self.hosted.endpoint()
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
            "token_url": format!("{}/v1/token", self.endpoint()),
            "credential_source": {"file": subject},
        });
        std::fs::write(&credentials, text.to_string())?;
        Ok([
            ("GOOGLE_APPLICATION_CREDENTIALS", credentials.display().to_string()),
            ("GOOGLE_BASE_URL", self.endpoint()),
            ("GOOGLE_ALLOW_HTTP", "true".to_owned()),
        ])
    }

    /// Accepts more tokens than those that are issued here.
    pub fn trust(&self, accepts: impl Fn(&str) -> bool + Send + 'static) {
        self.service.tokens().trust(Box::new(accepts));
    }

    /// The record and the controls: calls, violations, faults, kill points.
    pub fn front(&self) -> &Front {
        &self.service.front
    }

    /// The text of an object, by bucket and key.
    pub fn object(&self, bucket: &str, key: &str) -> Option<String> {
        let bytes = self.bytes(bucket, key)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The bytes of an object as they are stored.
    pub fn bytes(&self, bucket: &str, key: &str) -> Option<Bytes> {
        self.service.stored().find(bucket, key).map(|object| object.bytes.clone())
    }

    /// The keys of a bucket, in their order.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        self.service.stored().below(bucket, "", "").map(|(key, _)| key.to_owned()).collect()
    }

    /// Stores an object as another client would, with headers such as `content-encoding`.
    pub fn put(&self, bucket: &str, key: &str, bytes: impl Into<Bytes>, headers: &[(&str, &str)]) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.service.stored().insert(bucket, key, bytes.into(), headers, None);
    }

    /// The number of uploads in parts that are neither completed nor aborted.
    pub fn uploads(&self) -> usize {
        self.service.stored().pending()
    }

    /// Forgets all uploads in parts, as after an abort by somebody else or by a lifecycle rule.
    pub fn forget_uploads(&self) {
        self.service.stored().forget();
    }
}

#[derive(Debug)]
struct Storage {
    front: Front,
    config: BucketConfig,
    stored: Mutex<Stored>,
    tokens: Mutex<Tokens>,
}

/// A request, by bucket and key.
#[derive(Debug)]
struct Asked {
    action: &'static str,
    bucket: String,
    key: String,
    query: Params,
    headers: HeaderMap,
    body: Bytes,
    path: String,
}

impl Asked {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the condition on the generation holds; `None` without one.
    fn condition(&self, found: Option<&Object>) -> Option<bool> {
        let wanted = self.header(CONDITION)?.parse::<u64>().ok()?;
        Some(wanted == found.map_or(0, |object| object.generation))
    }
}

fn refused(status: StatusCode, code: &str, message: &str) -> Rejection {
    Rejection::with_status(status, code, message)
}

/// The operation, by method and query.
fn action(method: &Method, path: &str, key: &str, query: &Params) -> &'static str {
    let (upload, uploads) = (query.has_name("uploadId"), query.has_name("uploads"));
    match (method, key.is_empty()) {
        (&Method::POST, _) if path == "/v1/token" => "exchangeToken",
        (&Method::GET, _) if path == METADATA => "getToken",
        (&Method::GET, true) if query.get("list-type") == "2" => "listObjects",
        (&Method::GET, false) if !upload => "getObject",
        (&Method::HEAD, false) => "headObject",
        (&Method::PUT, false) if upload => "uploadPart",
        (&Method::PUT, false) => "putObject",
        (&Method::POST, false) if uploads => "createUpload",
        (&Method::POST, false) if upload => "completeUpload",
        (&Method::DELETE, false) if upload => "abortUpload",
        (&Method::DELETE, false) => "deleteObject",
        _ => "other",
    }
}

/// The parameters that the reference lists for an operation.
fn parameters(action: &str) -> &'static [&'static str] {
    match action {
        "listObjects" => &["list-type", "prefix", "continuation-token", "max-keys", "start-after"],
        "getObject" | "headObject" | "deleteObject" => &["generation"],
        "uploadPart" => &["partNumber", "uploadId"],
        "createUpload" => &["uploads"],
        "completeUpload" | "abortUpload" => &["uploadId"],
        _ => &[],
    }
}

impl Storage {
    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the reference does not allow, or what is not emulated.
    fn problem(&self, asked: &Asked) -> Option<String> {
        if asked.action == "other" {
            return Some(format!("{} is not served", asked.path));
        }
        let known = parameters(asked.action);
        let query = asked.query.iter().map(|(name, _)| name).find(|name| !known.contains(name));
        let writes = matches!(asked.action, "putObject" | "createUpload");
        let allowed = |name: &str| match name.strip_prefix("x-goog-") {
            Some(rest) if rest.starts_with("meta-") || rest == "storage-class" => writes,
            Some("if-generation-match") => !matches!(asked.action, "uploadPart" | "listObjects"),
            Some("hash") => matches!(asked.action, "putObject" | "uploadPart"),
            Some("user-project") => true,
            Some(_) => false,
            None => !name.starts_with("x-amz-"),
        };
        let header = asked.headers.keys().map(http::HeaderName::as_str).find(|name| !allowed(name));
        if let Some(name) = query.or(header) {
            return Some(format!("{name} is no parameter of {}", asked.action));
        }
        if asked.key.len() > 1024 || asked.key.contains(['\r', '\n']) || matches!(&*asked.key, "." | "..") {
            return Some("names have at most 1,024 bytes and no line breaks".to_owned());
        }
        let unconditional = asked.action == "putObject" && asked.header(CONDITION).is_none();
        (self.config.conditional && unconditional).then(|| {
            format!("{} is written without {CONDITION}, whatever others wrote meanwhile", asked.path)
        })
    }

    fn respond(
        &self,
        sequence: u64,
        asked: &Asked,
        effect: Option<&Effect>,
    ) -> std::result::Result<Reply, Rejection> {
        match asked.action {
            "exchangeToken" => return Ok(self.tokens().exchange(&asked.body)),
            "getToken" => return tokens::of_instance(asked),
            _ => self.tokens().check(asked)?,
        }
        if let Some(problem) = self.problem(asked) {
            let served = asked.action != "other";
            self.front.violate(sequence, asked.action, problem.clone());
            return Err(match served {
                true => refused(StatusCode::BAD_REQUEST, "InvalidArgument", &problem),
                false => refused(StatusCode::NOT_IMPLEMENTED, "NotImplemented", &problem),
            });
        }
        if !self.config.names.is_empty() && !self.config.names.contains(&asked.bucket) {
            let message = "The specified bucket does not exist.";
            return Err(refused(StatusCode::NOT_FOUND, "NoSuchBucket", message));
        }
        let claimed = asked.header("x-goog-hash").unwrap_or_default().split(',').map(str::trim);
        let mut claimed = claimed.filter(|hash| hash.starts_with("crc32c="));
        if claimed.any(|hash| hash != objects::checksum(&asked.body)) {
            let message = "The CRC32C you specified did not match what we received.";
            return Err(refused(StatusCode::BAD_REQUEST, "BadDigest", message));
        }
        let mut stored = self.stored();
        let corrupt = effect == Some(&Effect::Corrupt);
        match asked.action {
            "listObjects" => stored.list(asked, self.config.page),
            "getObject" | "headObject" => stored.get(asked, corrupt),
            "putObject" => stored.put(asked, corrupt),
            "deleteObject" => stored.delete(asked),
            "createUpload" => Ok(stored.create_upload(asked)),
            "uploadPart" => stored.upload_part(asked, corrupt),
            "completeUpload" => stored.complete(asked),
            _ => stored.abort(asked),
        }
    }
}

impl Cloud for Storage {
    type Request = Asked;

    fn read(&self, raw: http::Request<Bytes>) -> (Call, Asked) {
        let (parts, body) = raw.into_parts();
        let path = parts.uri.path().to_owned();
        let (bucket, key) = path.trim_start_matches('/').split_once('/').unwrap_or((&path[1..], ""));
        let query = Params::from_form(parts.uri.query().unwrap_or_default().as_bytes());
        let action = action(&parts.method, &path, key, &query);
        let (bucket, key) = (decoded(bucket), decoded(key));
        let mut params = query.clone();
        params.set("path", &decoded(&path));
        params.set("key", &key);
        if let Some(condition) = parts.headers.get(CONDITION).and_then(|value| value.to_str().ok()) {
            params.set(CONDITION, condition);
        }
        let call = Call {
            sequence: 0,
            service: Service::GoogleStorage,
            action: action.to_owned(),
            params,
            status: None,
            error: None,
            forwarded: false,
        };
        (call, Asked { action, bucket, key, query, headers: parts.headers, body, path })
    }

    async fn answer(&self, sequence: u64, request: Asked, effect: Option<Effect>) -> Reply {
        self.front.note(sequence, |call| call.forwarded = true);
        self.respond(sequence, &request, effect.as_ref())
            .unwrap_or_else(|rejection| rejection.reply(Service::GoogleStorage, sequence))
    }
}
