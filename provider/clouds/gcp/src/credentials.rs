//! Credentials in the order of hashicorp/google: access token, credentials file, Application Default Credentials; then
//! impersonation.
//!
//! The credentials of google-cloud-auth are used for every type of file that it supports. It does not support
//! `external_account_authorized_user` (`gcloud auth login` with workforce identity federation), nor `CLOUDSDK_CONFIG`.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use google_cloud_auth::credentials::{
    self, AccessToken, AccessTokenCredentials, AccessTokenCredentialsProvider, CacheableResource,
    CredentialsProvider, EntityTag, external_account, impersonated, service_account, user_account,
};
use google_cloud_auth::errors::CredentialsError;
use http::header::{AUTHORIZATION, HeaderName};
use http::{Extensions, HeaderMap, HeaderValue};
use serde_json::Value;
use tf_provider_rs::{Diagnostic, Path};
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::config::GcpConfig;
use crate::error::{chain, non_empty, redact};

/// The credentials of a provider block, and the domain of the APIs that accept them.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) credentials: AccessTokenCredentials,
    pub(crate) universe: Option<String>,
}

/// Finds the credentials of a provider block. Nothing is called yet.
///
/// # Errors
/// A file is missing or malformed, or its type is not supported.
pub(crate) fn find(config: &GcpConfig, project: Option<&str>) -> Result<Found, Diagnostic> {
    let quota = quota_project(config, project);
    let token = config.access_token.known().map(|secret| secret.0.clone());
    let token = token.or_else(|| variable("GOOGLE_OAUTH_ACCESS_TOKEN")).and_then(non_empty);
    // The clients give precedence to the variable.
    let named = variable("GOOGLE_CLOUD_UNIVERSE_DOMAIN").or_else(|| config.universe_domain.known().cloned());
    let json = if token.is_none() { file(config)? } else { None };
    let in_file = json.as_ref().and_then(|json| json.get("universe_domain")?.as_str().map(str::to_owned));
    let universe = named.or(in_file);
    let options = Options { quota, universe };
    let source = match (token, json) {
        (Some(token), _) => AccessTokenCredentials::from(Bearer::new(Tokens::Fixed(token.into()), &options)),
        (None, Some(json)) => from_json(json, &options)?,
        (None, None) => {
            let builder = credentials::Builder::default();
            let builder =
                options.quota.iter().fold(builder, |builder, quota| builder.with_quota_project_id(quota));
            let builder =
                options.universe.iter().fold(builder, |builder, domain| builder.with_universe_domain(domain));
            builder.build_access_token_credentials().map_err(|error| unusable(&error))?
        }
    };
    let account = config.impersonate_service_account.known().cloned();
    let account = account.or_else(|| variable("GOOGLE_IMPERSONATE_SERVICE_ACCOUNT")).and_then(non_empty);
    let delegates = config.impersonate_service_account_delegates.known().cloned().unwrap_or_default();
    let credentials = match account {
        Some(account) => impersonate(source, &account, delegates, &options)?,
        None => source,
    };
    Ok(Found { credentials, universe: options.universe })
}

/// What every builder is told.
#[derive(Clone, Debug, Default)]
struct Options {
    quota: Option<String>,
    universe: Option<String>,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().and_then(non_empty)
}

/// The project for quota and billing. Without one, that of the credentials file counts.
fn quota_project(config: &GcpConfig, project: Option<&str>) -> Option<String> {
    let wanted = config.user_project_override.known().copied();
    let wanted = wanted.or_else(|| Some(matches!(variable("USER_PROJECT_OVERRIDE")?.as_str(), "true" | "1")));
    if wanted == Some(true) {
        let billing = config.billing_project.known().cloned();
        let billing = billing.or_else(|| variable("GOOGLE_BILLING_PROJECT"));
        return billing.or_else(|| project.map(str::to_owned));
    }
    variable("GOOGLE_CLOUD_QUOTA_PROJECT")
}

/// The contents of the credentials file, if there is one.
fn file(config: &GcpConfig) -> Result<Option<Value>, Diagnostic> {
    const VARIABLES: [&str; 3] = ["GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON"];
    let named = config.credentials.known().map(|secret| secret.0.clone());
    let named = named.or_else(|| VARIABLES.iter().find_map(|name| variable(name))).and_then(non_empty);
    let (path, must) = match named {
        Some(contents) if contents.trim_start().starts_with('{') => {
            return parse(&contents, "`gcp.credentials` or GOOGLE_CREDENTIALS").map(Some);
        }
        Some(path) => (PathBuf::from(path), true),
        None => match variable("GOOGLE_APPLICATION_CREDENTIALS") {
            Some(path) => (PathBuf::from(path), true),
            None => match well_known() {
                Some(path) => (path, false),
                None => return Ok(None),
            },
        },
    };
    match std::fs::read_to_string(&path) {
        Ok(contents) => parse(&contents, &path.display().to_string()).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must => Ok(None),
        Err(error) => Err(Diagnostic::error(
            "Google Cloud credentials file cannot be read",
            format!(
                "{}: {}. Correct `gcp.credentials`, GOOGLE_CREDENTIALS or GOOGLE_APPLICATION_CREDENTIALS.",
                path.display(),
                error.to_string().split(" (os error").next().unwrap_or_default()
            ),
        )
        .at(Path::of("gcp"))),
    }
}

/// The file of `gcloud auth application-default login`.
fn well_known() -> Option<PathBuf> {
    let folder = std::env::var_os("CLOUDSDK_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config/gcloud")))?;
    Some(folder.join("application_default_credentials.json"))
}

/// Parses a credentials file. The error of the parser may quote the file, so only its position is shown.
fn parse(contents: &str, what: &str) -> Result<Value, Diagnostic> {
    serde_json::from_str(contents).map_err(|error| {
        Diagnostic::error(
            "Google Cloud credentials file is malformed",
            format!(
                "{what} is not JSON (line {}, column {}). Create the file again with `gcloud auth application-default \
                 login`.",
                error.line(),
                error.column()
            ),
        )
        .at(Path::of("gcp"))
    })
}

/// Applies quota project and domain to a builder, and builds it.
macro_rules! build {
    ($builder:expr, $options:expr) => {{
        let builder = $builder;
        let builder =
            $options.quota.iter().fold(builder, |builder, quota| builder.with_quota_project_id(quota));
        builder.build_access_token_credentials().map_err(|error| unusable(&error))
    }};
}

/// The credentials in a file.
fn from_json(json: Value, options: &Options) -> Result<AccessTokenCredentials, Diagnostic> {
    let kind = json.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let domain = options.universe.as_ref();
    match kind.as_str() {
        "authorized_user" => build!(user_account::Builder::new(json), options),
        "service_account" => {
            let builder = service_account::Builder::new(json);
            build!(
                domain.iter().fold(builder, |builder, domain| builder.with_universe_domain(*domain)),
                options
            )
        }
        "external_account" if json.pointer("/credential_source/certificate").is_some() => {
            Err(unsupported("The credentials file identifies the workload by an X.509 certificate"))
        }
        "external_account" => {
            let builder = external_account::Builder::new(json);
            build!(
                domain.iter().fold(builder, |builder, domain| builder.with_universe_domain(*domain)),
                options
            )
        }
        "impersonated_service_account" if source_kind(&json) == Some(WORKFORCE) => {
            let Some((url, source)) =
                json.get("service_account_impersonation_url").zip(json.get("source_credentials"))
            else {
                return Err(incomplete(&kind));
            };
            let account = url.as_str().and_then(account_in).ok_or_else(|| incomplete(&kind))?;
            let delegates = json.get("delegates").and_then(Value::as_array).into_iter().flatten();
            let delegates = delegates.filter_map(|item| item.as_str().map(str::to_owned)).collect();
            impersonate(from_json(source.clone(), options)?, account, delegates, options)
        }
        "impersonated_service_account" => {
            let builder = impersonated::Builder::new(json);
            build!(
                domain.iter().fold(builder, |builder, domain| builder.with_universe_domain(*domain)),
                options
            )
        }
        WORKFORCE => {
            let refresh = Refresh::of(&json).ok_or_else(|| incomplete(&kind))?;
            let quota = json.get("quota_project_id").and_then(Value::as_str).map(str::to_owned);
            let options = Options { quota: options.quota.clone().or(quota), ..options.clone() };
            Ok(AccessTokenCredentials::from(Bearer::new(
                Tokens::Refreshed(refresh, Mutex::default()),
                &options,
            )))
        }
        "" => Err(unsupported("The credentials file has no type")),
        kind => Err(unsupported(&format!("The credentials file has type `{kind}`"))),
    }
}

/// The type of files of workforce identity federation.
const WORKFORCE: &str = "external_account_authorized_user";

fn source_kind(json: &Value) -> Option<&str> {
    json.get("source_credentials")?.get("type")?.as_str()
}

/// The service account in the URL `.../serviceAccounts/ACCOUNT:generateAccessToken`.
fn account_in(url: &str) -> Option<&str> {
    url.rsplit_once('/')?.1.split_once(':').map(|(account, _)| account)
}

fn impersonate(
    source: AccessTokenCredentials,
    account: &str,
    delegates: Vec<String>,
    options: &Options,
) -> Result<AccessTokenCredentials, Diagnostic> {
    let mut builder =
        impersonated::Builder::from_source_credentials(source.into()).with_target_principal(account);
    if !delegates.is_empty() {
        builder = builder.with_delegates(delegates);
    }
    if let Some(domain) = &options.universe {
        builder = builder.with_universe_domain(domain);
    }
    build!(builder, options)
}

fn unsupported(what: &str) -> Diagnostic {
    Diagnostic::error(
        "Google Cloud credentials are not supported",
        format!(
            "{what}. Use a file of type `authorized_user`, `service_account`, `impersonated_service_account`, \
             `{WORKFORCE}`, or `external_account` with a token from a file, a URL, a program or AWS."
        ),
    )
    .at(Path::of("gcp"))
}

fn incomplete(kind: &str) -> Diagnostic {
    Diagnostic::error(
        "Google Cloud credentials file is incomplete",
        format!(
            "A file of type `{kind}` lacks a member that its type requires. Create the file again with `gcloud auth \
             application-default login`."
        ),
    )
    .at(Path::of("gcp"))
}

fn unusable(error: &google_cloud_auth::build_errors::Error) -> Diagnostic {
    let reason = redact(&chain(error));
    let reason = match reason.strip_prefix("cannot parse the credentials file ") {
        Some(what) => format!("The credentials file is incomplete: {what}"),
        None => format!("The credentials cannot be loaded: {reason}"),
    };
    Diagnostic::error(
        "Google Cloud credentials cannot be used",
        format!(
            "{reason}. Create the file again, such as with `gcloud auth application-default login`, or set \
             GOOGLE_APPLICATION_CREDENTIALS to another one."
        ),
    )
    .at(Path::of("gcp"))
}

/// Tokens that google-cloud-auth does not issue.
struct Bearer {
    tokens: Tokens,
    quota: Option<String>,
    universe: Option<String>,
}

enum Tokens {
    Fixed(Zeroizing<String>),
    Refreshed(Refresh, Mutex<Option<(Zeroizing<String>, Instant)>>),
}

/// A refresh token of workforce identity federation.
struct Refresh {
    url: String,
    client_id: String,
    client_secret: Zeroizing<String>,
    token: Zeroizing<String>,
}

impl Refresh {
    fn of(json: &Value) -> Option<Refresh> {
        let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
        Some(Refresh {
            url: text("token_url").unwrap_or_else(|| "https://sts.googleapis.com/v1/oauth/token".to_owned()),
            client_id: text("client_id")?,
            client_secret: text("client_secret")?.into(),
            token: text("refresh_token")?.into(),
        })
    }

    /// Exchanges the refresh token as google-auth does (`google/oauth2/sts.py`, `refresh_token`): a form, with the client
    /// in the header.
    async fn exchange(&self) -> Result<(Zeroizing<String>, Duration), CredentialsError> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", self.token.as_str())];
        let answer = reqwest::Client::new()
            .post(&self.url)
            .basic_auth(&self.client_id, Some(self.client_secret.as_str()))
            .form(&form)
            .timeout(Duration::from_secs(30))
            .send()
            .await
            .map_err(|error| CredentialsError::from_source(true, error.without_url()))?;
        let status = answer.status();
        let json: Value = answer.json().await.unwrap_or_default();
        let Some(token) = json.get("access_token").and_then(Value::as_str).filter(|_| status.is_success())
        else {
            let reason = json.get("error_description").or_else(|| json.get("error")).and_then(Value::as_str);
            let text = format!(
                "the token endpoint answered with status {}: {}; sign in again with `gcloud auth application-default \
                 login`",
                status.as_u16(),
                reason.unwrap_or("no reason given")
            );
            return Err(CredentialsError::from_msg(status.is_server_error(), text));
        };
        let seconds = json.get("expires_in").and_then(Value::as_u64).unwrap_or(3600);
        Ok((token.to_owned().into(), Duration::from_secs(seconds)))
    }
}

/// Tokens are replaced this long before they expire.
const MARGIN: Duration = Duration::from_secs(60);

impl Bearer {
    fn new(tokens: Tokens, options: &Options) -> Bearer {
        Bearer { tokens, quota: options.quota.clone(), universe: options.universe.clone() }
    }

    async fn token(&self) -> Result<Zeroizing<String>, CredentialsError> {
        match &self.tokens {
            Tokens::Fixed(token) => Ok(token.clone()),
            Tokens::Refreshed(refresh, cached) => {
                let mut cached = cached.lock().await;
                if let Some((token, expiry)) = &*cached
                    && Instant::now() + MARGIN < *expiry
                {
                    return Ok(token.clone());
                }
                let (token, lifetime) = refresh.exchange().await?;
                *cached = Some((token.clone(), Instant::now() + lifetime));
                Ok(token)
            }
        }
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").field("quota", &self.quota).finish_non_exhaustive()
    }
}

impl CredentialsProvider for Bearer {
    async fn headers(&self, _: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        const QUOTA: HeaderName = HeaderName::from_static("x-goog-user-project");
        let token = self.token().await?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.as_str())).map_err(|_| {
            CredentialsError::from_msg(false, "the access token contains characters that no header has")
        })?;
        bearer.set_sensitive(true);
        let mut data = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        if let Some(quota) = self.quota.as_deref().and_then(|quota| HeaderValue::from_str(quota).ok()) {
            data.insert(QUOTA, quota);
        }
        Ok(CacheableResource::New { entity_tag: EntityTag::new(), data })
    }

    async fn universe_domain(&self) -> Option<String> {
        self.universe.clone()
    }
}

impl AccessTokenCredentialsProvider for Bearer {
    async fn access_token(&self) -> Result<AccessToken, CredentialsError> {
        Ok(AccessToken { token: self.token().await?.as_str().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use tf_provider_rs::Attr;
    use tf_provider_rs::model::Secret;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::error::{Failure as _, Named as _, Remedy};

    fn with_file(json: &Value) -> GcpConfig {
        GcpConfig { credentials: Attr::Known(Secret(json.to_string())), ..GcpConfig::default() }
    }

    async fn headers(credentials: &AccessTokenCredentials) -> HeaderMap {
        match credentials.headers(Extensions::new()).await.unwrap() {
            CacheableResource::New { data, .. } => data,
            CacheableResource::NotModified => HeaderMap::new(),
        }
    }

    /// Answers requests in order, and returns them.
    async fn serve(listener: TcpListener, answers: &[(u16, Value)]) -> Vec<String> {
        let mut requests = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(request(&mut stream).await);
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status} Told\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: \
                 close\r\n\r\n",
                body.len()
            );
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
        requests
    }

    /// Reads a request with its body.
    async fn request(stream: &mut TcpStream) -> String {
        let mut read = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&read).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    return text;
                }
            }
            let mut buffer = [0; 4096];
            let got = stream.read(&mut buffer).await.unwrap();
            assert!(got > 0, "the request ended early: {text}");
            read.extend_from_slice(&buffer[..got]);
        }
    }

    async fn local() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        (listener, url)
    }

    /// What a user sees of a call for which these credentials give no token.
    async fn told(config: &GcpConfig) -> String {
        let found = find(config, Some("acme-ml")).unwrap();
        let clients = crate::client::Clients::new(Some("http://127.0.0.1:9"), Some(&found)).await.unwrap();
        let call = clients.networks.get().set_project("acme-ml").set_network("hub").send();
        let error = call.await.named("networks.get").unwrap_err();
        assert_eq!(error.remedy(), Remedy::Final);
        let told = Diagnostic::from(error);
        format!("{}\n{}", told.summary, told.detail)
    }

    /// `gcloud auth application-default login`, after the session length of an organisation has passed: the answers that
    /// pulumi/pulumi-gcp issue 479 and cline/cline issue 4080 quote.
    #[tokio::test]
    async fn an_expired_login_is_told_with_the_command_that_renews_it() {
        let mut all = Vec::new();
        for answer in [
            serde_json::json!({ "error": "invalid_grant", "error_description": "reauth related error (invalid_rapt)",
                "error_uri": "https://support.google.com/a/answer/9368756", "error_subtype": "invalid_rapt" }),
            serde_json::json!({ "error": "invalid_grant",
                "error_description": "reauth related error (rapt_required)", "error_subtype": "rapt_required" }),
        ] {
            let (listener, url) = local().await;
            let json = serde_json::json!({ "type": "authorized_user", "client_id": "c", "client_secret": "hidden",
                "refresh_token": "1//hidden", "token_uri": url });
            let config = with_file(&json);
            let answers = [(400, answer)];
            let (told, _) = tokio::join!(told(&config), serve(listener, &answers));
            assert!(!told.contains("hidden"), "{told}");
            all.push(told.replace(&url, "URL"));
        }
        insta::assert_snapshot!(all.join("\n---\n"));
    }

    /// The file of google-github-actions/auth: a token from GitHub's endpoint, exchanged at STS, then for a token of a
    /// service account. The requests are those of google-auth (`identity_pool.py`, `external_account.py`, `sts.py`).
    #[tokio::test]
    async fn a_github_job_impersonates_a_service_account() {
        let (listener, url) = local().await;
        let config = with_file(&github(&url));
        let found = find(&config, Some("acme-ml")).unwrap();
        let answers = [
            (200, serde_json::json!({ "value": "oidc" })),
            (
                200,
                serde_json::json!({ "access_token": "federated", "token_type": "Bearer", "expires_in": 3600,
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token" }),
            ),
            (200, serde_json::json!({ "accessToken": "ya29.account", "expireTime": "2099-01-01T00:00:00Z" })),
        ];
        let (sent, requests) = tokio::join!(headers(&found.credentials), serve(listener, &answers));
        assert_eq!(sent["authorization"], "Bearer ya29.account");
        assert!(requests[0].starts_with("GET /oidc?audience=x "), "{}", requests[0]);
        assert!(requests[0].contains("authorization: Bearer request-token"), "{}", requests[0]);
        assert!(requests[1].contains("subject_token=oidc"), "{}", requests[1]);
        assert!(requests[2].contains("authorization: Bearer federated"), "{}", requests[2]);
        assert!(requests[2].starts_with(&format!("POST {ACCOUNT} ")), "{}", requests[2]);
    }

    /// The answers are those of STS to a token that the attribute condition rejects
    /// (terraform-google-modules/terraform-example-foundation issue 1362), and of IAM to an identity that may not
    /// impersonate the account (google-github-actions/auth issue 340).
    #[tokio::test]
    async fn a_rejected_github_job_is_told_why() {
        let exchanged = serde_json::json!({ "access_token": "federated", "token_type": "Bearer", "expires_in": 3600,
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token" });
        let rejected = serde_json::json!({ "error": "unauthorized_client",
            "error_description": "The given credential is rejected by the attribute condition." });
        let denied = serde_json::json!({ "error": { "code": 403, "status": "PERMISSION_DENIED",
            "message": "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
            "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "IAM_PERMISSION_DENIED",
                "domain": "iam.googleapis.com", "metadata": { "permission": "iam.serviceAccounts.getAccessToken" } }] } });
        let token = || (200, serde_json::json!({ "value": "oidc" }));
        let mut all = Vec::new();
        for answers in [vec![token(), (401, rejected)], vec![token(), (200, exchanged), (403, denied)]] {
            let (listener, url) = local().await;
            let config = with_file(&github(&url));
            let (told, _) = tokio::join!(told(&config), serve(listener, &answers));
            all.push(told.replace(&url, "URL"));
        }
        insta::assert_snapshot!(all.join("\n---\n"));
    }

    const ACCOUNT: &str =
        "/v1/projects/-/serviceAccounts/ci@acme-ml.iam.gserviceaccount.com:generateAccessToken";

    fn github(url: &str) -> Value {
        serde_json::json!({
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/github/providers/acme",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": format!("{url}/v1/token"),
            "credential_source": {
                "url": format!("{url}/oidc?audience=x"),
                "headers": { "Authorization": "Bearer request-token" },
                "format": { "type": "json", "subject_token_field_name": "value" },
            },
            "service_account_impersonation_url": format!("{url}{ACCOUNT}"),
        })
    }

    /// Answers one request with a token, and returns the request.
    async fn token_endpoint(listener: TcpListener) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&request).contains("refresh_token=") {
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "the request ended early");
            request.extend_from_slice(&buffer[..read]);
        }
        let body = r#"{"access_token":"issued","expires_in":3600,"token_type":"Bearer"}"#;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    }

    /// The request is that of google-auth (`google/oauth2/sts.py`): a form, with the client in the header.
    #[tokio::test]
    async fn a_workforce_identity_is_refreshed_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/oauth/token", listener.local_addr().unwrap());
        let json = serde_json::json!({
            "type": "external_account_authorized_user", "token_url": url, "client_id": "client",
            "client_secret": "hidden", "refresh_token": "1//refresh", "quota_project_id": "billed",
        });
        let found = find(&with_file(&json), Some("acme-ml")).unwrap();
        assert!(!format!("{found:?}").contains("hidden"));
        let (request, first) = tokio::join!(token_endpoint(listener), headers(&found.credentials));
        assert!(request.starts_with("POST /v1/oauth/token "), "{request}");
        assert!(request.contains("authorization: Basic Y2xpZW50OmhpZGRlbg=="), "{request}");
        assert!(request.ends_with("grant_type=refresh_token&refresh_token=1%2F%2Frefresh"), "{request}");
        assert_eq!(first["authorization"], "Bearer issued");
        assert_eq!(first["x-goog-user-project"], "billed");
        // The endpoint is gone, so the token must be the cached one.
        assert_eq!(headers(&found.credentials).await["authorization"], "Bearer issued");
    }

    #[tokio::test]
    async fn an_access_token_replaces_the_file_and_is_billed_as_configured() {
        let config = GcpConfig {
            access_token: Attr::Known(Secret("ya29.mine".into())),
            user_project_override: true.into(),
            ..with_file(&serde_json::json!({ "type": "nothing" }))
        };
        let found = find(&config, Some("acme-ml")).unwrap();
        let sent = headers(&found.credentials).await;
        assert_eq!(sent["authorization"], "Bearer ya29.mine");
        assert_eq!(sent["x-goog-user-project"], "acme-ml");
        let config = GcpConfig { billing_project: "billing".into(), ..config };
        let found = find(&config, Some("acme-ml")).unwrap();
        assert_eq!(headers(&found.credentials).await["x-goog-user-project"], "billing");
    }

    #[tokio::test]
    async fn the_domain_of_the_file_counts() {
        let json = serde_json::json!({
            "type": "external_account_authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
            "universe_domain": "apis.example",
        });
        assert_eq!(find(&with_file(&json), None).unwrap().universe.as_deref(), Some("apis.example"));
        let config = GcpConfig { universe_domain: "other.example".into(), ..with_file(&json) };
        assert_eq!(find(&config, None).unwrap().universe.as_deref(), Some("other.example"));
        // A service account is impersonated with a workforce identity.
        let url = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@p.iam.gserviceaccount.com:generateAccessToken";
        assert_eq!(account_in(url), Some("a@p.iam.gserviceaccount.com"));
        let json = serde_json::json!({
            "type": "impersonated_service_account", "service_account_impersonation_url": url,
            "source_credentials": json,
        });
        assert!(find(&with_file(&json), None).is_ok());
    }

    #[test]
    fn unusable_files_are_told_without_their_contents() {
        let told: Vec<String> = [
            r#"{"type":"authorized_user","refresh_token":"1//hidden""#.to_owned(),
            serde_json::json!({ "type": "api_key", "key": "hidden" }).to_string(),
            serde_json::json!({ "type": "external_account_authorized_user", "client_secret": "hidden" })
                .to_string(),
            serde_json::json!({ "type": "external_account", "credential_source": { "certificate": { "use_default_certificate_config": true } } })
                .to_string(),
            serde_json::json!({ "type": "external_account", "audience": "a" }).to_string(),
            serde_json::json!({ "type": "service_account", "client_email": "a@b", "private_key": "hidden" }).to_string(),
            "{}".to_owned(),
            "/nowhere/key.json".to_owned(),
        ]
        .into_iter()
        .map(|text| {
            let config = GcpConfig { credentials: Attr::Known(Secret(text)), ..GcpConfig::default() };
            let told = find(&config, None).unwrap_err();
            format!("{}\n{}", told.summary, told.detail)
        })
        .collect();
        let told = told.join("\n---\n");
        assert!(!told.contains("hidden"), "{told}");
        insta::assert_snapshot!(told);
    }
}
