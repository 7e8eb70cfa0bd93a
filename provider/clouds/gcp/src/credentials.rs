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

/// Settings that all credentials have in common.
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
mod tests;
