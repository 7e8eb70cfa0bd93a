//! What a provider block resolves to, without a call to any service but those that issue credentials.

use std::sync::{Arc, Mutex, PoisonError};

use aws_config::SdkConfig;
use aws_config::retry::RetryMode;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use tf_provider_rs::{Diagnostic, Diagnostics};

use crate::client;
use crate::config::AwsConfig;
use crate::error::redacted_chain;

/// The settings and credentials of a provider block together with the environment and the shared files.
#[derive(Debug)]
pub struct Resolved {
    /// Such as `us-east-1`.
    pub region: Option<String>,
    /// The profile.
    pub profile: String,
    /// The ID of the access key, or why there is none.
    pub access_key_id: Result<String, String>,
    /// The URL of EC2 in the region.
    pub ec2_endpoint: Option<String>,
    /// The URL of STS in the region.
    pub sts_endpoint: Option<String>,
    /// Attempts for each call, if they are limited.
    pub max_attempts: Option<u32>,
    /// Whether the SDK limits the rate of calls as well.
    pub adaptive: bool,
    /// The file with certificate authorities.
    pub ca_bundle: Option<String>,
}

impl Resolved {
    /// Resolves a provider block, and exchanges its credentials for those of roles.
    ///
    /// # Errors
    /// A setting is invalid or incomplete.
    pub async fn of(config: &AwsConfig) -> Result<Resolved, Diagnostics> {
        let (sdk, settings) = client::load(config).await?;
        let provider = sdk.credentials_provider().ok_or_else(|| {
            Diagnostic::error(
                "AWS credentials not available",
                "The provider block has no source of credentials.",
            )
        })?;
        let credentials = provider.provide_credentials().await;
        Ok(Resolved {
            region: sdk.region().map(ToString::to_string),
            profile: settings.selected.name.clone(),
            access_key_id: credentials
                .map(|credentials| credentials.access_key_id().to_owned())
                .map_err(|error| redacted_chain(&error)),
            ec2_endpoint: endpoint(&sdk, async |sdk| {
                _ = client::client!(aws_sdk_ec2, &sdk).describe_regions().send().await;
            })
            .await,
            sts_endpoint: endpoint(&sdk, async |sdk| {
                _ = client::client!(aws_sdk_sts, &sdk).get_caller_identity().send().await;
            })
            .await,
            max_attempts: settings.max_attempts(config)?,
            adaptive: settings.retry_mode()? == RetryMode::Adaptive,
            ca_bundle: settings.ca_bundle(config).map(|path| path.display().to_string()),
        })
    }
}

/// The URL to which a call would be sent.
async fn endpoint(sdk: &SdkConfig, call: impl AsyncFn(SdkConfig)) -> Option<String> {
    let seen = Arc::new(Mutex::new(None));
    let recorder = Recorder(Arc::clone(&seen));
    let shared = SharedHttpConnector::new(recorder);
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "recorder");
    let sdk = sdk
        .to_builder()
        .http_client(http_client_fn(move |_, _| shared.clone()))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    call(sdk).await;
    seen.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Records the URL of a request instead of sending it.
#[derive(Debug)]
struct Recorder(Arc<Mutex<Option<String>>>);

impl HttpConnector for Recorder {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let url = request.uri().trim_end_matches('/').to_owned();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(url);
        HttpConnectorFuture::ready(Err(ConnectorError::user("not sent".into())))
    }
}
