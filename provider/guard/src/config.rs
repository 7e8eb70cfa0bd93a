//! The guard's part of the provider block.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use tf_provider_rs::async_trait;

/// The guard's part of the provider configuration.
#[derive(Clone, Debug, Default)]
pub struct GuardConfig {
    /// The routing domain: inside it no two ranges may overlap.
    pub fabric: String,
    /// The repository or team whose Terraform state manages the objects.
    pub owner: String,
    /// Location of the claims of all owners. `None` disables claims.
    pub claims: Option<ClaimsUrl>,
    /// Options for `s3://` locations.
    pub s3: S3Options,
    /// Options for `gs://` locations.
    pub gcs: GcsOptions,
}

/// Options for `s3://` locations. Options that are not set come from the environment (`AWS_REGION`,
/// `AWS_ACCESS_KEY_ID`, ...).
#[derive(Clone, Default)]
pub struct S3Options {
    /// The endpoint of an emulator or of another S3 implementation.
    pub endpoint: Option<String>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// Allows `http://` endpoints.
    pub allow_http: bool,
    /// A file with more certificate authorities, in PEM format.
    pub ca_bundle: Option<PathBuf>,
    /// Source of credentials that the caller resolves.
    pub credentials: Option<Arc<dyn CredentialSource>>,
}

impl fmt::Debug for S3Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Options")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("allow_http", &self.allow_http)
            .field("ca_bundle", &self.ca_bundle)
            .field("credentials", &self.credentials.as_ref().map(|_| "(redacted)"))
            .finish()
    }
}

/// Provides credentials for S3. Called before every request, so implementations should cache and refresh.
#[async_trait]
pub trait CredentialSource: Send + Sync + 'static {
    /// The current credentials.
    ///
    /// # Errors
    /// The reason why there are none, as text without secrets.
    async fn credentials(&self) -> Result<S3Credentials, String>;
}

/// Credentials for S3; not shown by `Debug`.
#[derive(Clone)]
pub struct S3Credentials {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: String,
    /// `AWS_SESSION_TOKEN` of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Credentials(redacted)")
    }
}

/// Options for `gs://` locations. Options that are not set come from the environment (`GOOGLE_BASE_URL`,
/// `GOOGLE_ALLOW_HTTP`, ...).
#[derive(Clone, Default)]
pub struct GcsOptions {
    /// Source of access tokens that the caller obtains.
    pub tokens: Option<Arc<dyn TokenSource>>,
}

impl fmt::Debug for GcsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcsOptions").field("tokens", &self.tokens.as_ref().map(|_| "(redacted)")).finish()
    }
}

/// Provides access tokens for Google Cloud. Called before every request, so implementations should cache and refresh.
#[async_trait]
pub trait TokenSource: Send + Sync + 'static {
    /// The current token.
    ///
    /// # Errors
    /// The reason why there is none, as text without secrets.
    async fn token(&self) -> Result<String, String>;
}

/// Location of the claims document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimsUrl {
    /// A local file: a path or `file:///path`.
    File(PathBuf),
    /// `s3://bucket/key`.
    S3 {
        /// The bucket.
        bucket: String,
        /// The object.
        key: String,
    },
    /// `gs://bucket/key`.
    Gcs {
        /// The bucket.
        bucket: String,
        /// The object.
        key: String,
    },
}

/// An invalid location of claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimsUrlError {
    /// The text is empty.
    #[error("the claims location is empty; use a path, file:///path, s3://bucket/key or gs://bucket/key")]
    Empty,
    /// An unknown scheme.
    #[error(
        "`{0}://` is not supported for claims; use a path, file:///path, s3://bucket/key or gs://bucket/key"
    )]
    Scheme(String),
    /// The bucket or the key is missing.
    #[error("`{0}` needs a bucket and a key, such as s3://acme-tfstate/warren/claims.json")]
    BucketAndKey(String),
    /// A `file://` URL that is not an absolute local path.
    #[error("`{0}` is not an absolute local path; use file:///path/claims.json or only the path")]
    File(String),
}

impl FromStr for ClaimsUrl {
    type Err = ClaimsUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return if text.is_empty() {
                Err(ClaimsUrlError::Empty)
            } else {
                Ok(ClaimsUrl::File(text.into()))
            };
        };
        match scheme {
            "file" => url::Url::parse(text)
                .ok()
                .and_then(|url| url.to_file_path().ok())
                .map(ClaimsUrl::File)
                .ok_or_else(|| ClaimsUrlError::File(text.to_owned())),
            "s3" | "gs" => {
                let (bucket, key) = rest
                    .split_once('/')
                    .filter(|(bucket, key)| !bucket.is_empty() && !key.trim_matches('/').is_empty())
                    .ok_or_else(|| ClaimsUrlError::BucketAndKey(text.to_owned()))?;
                let (bucket, key) = (bucket.to_owned(), key.to_owned());
                Ok(if scheme == "s3" {
                    ClaimsUrl::S3 { bucket, key }
                } else {
                    ClaimsUrl::Gcs { bucket, key }
                })
            }
            other => Err(ClaimsUrlError::Scheme(other.to_owned())),
        }
    }
}

impl fmt::Display for ClaimsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimsUrl::File(path) => write!(f, "{}", path.display()),
            ClaimsUrl::S3 { bucket, key } => write!(f, "s3://{bucket}/{key}"),
            ClaimsUrl::Gcs { bucket, key } => write!(f, "gs://{bucket}/{key}"),
        }
    }
}
