//! SDK clients, created once. Region and credentials come from the same sources as in the AWS CLI.

use std::sync::Arc;
use std::time::Duration;

use aws_config::identity::IdentityCache;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use tf_provider_rs::{Diagnostic, async_trait};
use warren_guard::{CredentialSource, S3Credentials};

use crate::config::AwsConfig;
use crate::credentials;
use crate::error::redacted_chain;
use crate::http;
use crate::retry;
use crate::settings::Settings;

/// The name of the provider in user agents and role sessions.
pub(crate) const APP: &str = "terraform-provider-warren";

/// How long loading credentials may take: a program of `credential_process` may open a browser.
const CREDENTIALS: Duration = Duration::from_secs(120);

/// Loads the SDK configuration, and the settings that it follows from. It uses the network only if neither the configuration nor the environment
/// nor files name a region; it then queries the instance metadata service.
///
/// # Errors
/// Settings of the provider block, the environment or the shared files are invalid.
pub(crate) async fn load(config: &AwsConfig) -> Result<(SdkConfig, Settings), Diagnostic> {
    let settings = Settings::load(config).await?;
    let http = http::clients(settings.ca_bundle(config).as_deref())?;
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .profile_files(settings.files.clone())
        .profile_name(settings.selected.name.clone())
        .http_client(http.calls.clone())
        .no_credentials()
        .identity_cache(IdentityCache::lazy().load_timeout(CREDENTIALS).build())
        .retry_config(retry::config(settings.max_attempts(config)?).with_retry_mode(settings.retry_mode()?))
        .timeout_config(
            TimeoutConfig::builder()
                .connect_timeout(Duration::from_secs(5))
                // Not for the whole attempt, which includes the wait for the budget of the service.
                .read_timeout(Duration::from_secs(60))
                .build(),
        );
    if let Ok(app) = AppName::new(APP) {
        loader = loader.app_name(app);
    }
    if let Some(region) = config.region.known() {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(url) = config.endpoint_url.known() {
        loader = loader.endpoint_url(url);
    }
    if let Some(fips) = config.use_fips_endpoint.known() {
        loader = loader.use_fips(*fips);
    }
    if let Some(dualstack) = config.use_dualstack_endpoint.known() {
        loader = loader.use_dual_stack(*dualstack);
    }
    let base = loader.load().await;
    // A custom endpoint has no variants, so the settings do not apply, as in botocore. The SDK would refuse them.
    let base = match base.endpoint_url() {
        Some(_) => base.into_builder().use_fips(false).use_dual_stack(false).build(),
        None => base,
    };
    // Calls for credentials happen while the cache of the other calls loads.
    let issuing = base.to_builder().identity_cache(IdentityCache::no_cache()).build();
    let credentials = credentials::provider(&settings, config, &issuing, &http)?;
    Ok((base.into_builder().credentials_provider(credentials).build(), settings))
}

/// A client of a service (the name of its crate), which follows the policy of retries and logs its calls.
macro_rules! client {
    ($service:ident, $sdk:expr) => {{
        let (sdk, service) = ($sdk, stringify!($service));
        let (classifier, identities) = $crate::retry::policy(service, sdk);
        $service::Client::from_conf(
            $service::config::Builder::from(sdk)
                .retry_partition($crate::retry::partition(service, sdk))
                .retry_classifier(classifier)
                .identity_cache(identities)
                .interceptor($crate::token::RequestTokens)
                .interceptor($crate::call_log::CallLog)
                .build(),
        )
    }};
}
pub(crate) use client;

/// Settings for a create call that accepts no idempotency token. The SDK must not retry it, because a retry
/// after a lost response would create a second object. [`warren_managed::adopt::ensure`] retries it, and
/// looks for the first object before it does.
pub(crate) fn once() -> aws_sdk_ec2::config::Builder {
    aws_sdk_ec2::Config::builder().retry_config(RetryConfig::disabled())
}

/// `enable` or `disable`, which every option of transit gateways and their attachments writes in a type of its own.
pub(crate) fn switch<T: From<&'static str>>(on: bool) -> T {
    T::from(if on { "enable" } else { "disable" })
}

/// The account's credentials, for claims in S3. The SDK caches and refreshes them.
pub(crate) struct Credentials(SharedCredentialsProvider);

impl Credentials {
    pub(crate) fn shared(provider: &SharedCredentialsProvider) -> Arc<dyn CredentialSource> {
        Arc::new(Credentials(provider.clone()))
    }
}

#[async_trait]
impl CredentialSource for Credentials {
    async fn credentials(&self) -> Result<S3Credentials, String> {
        let found = self.0.provide_credentials().await.map_err(|error| redacted_chain(&error))?;
        Ok(S3Credentials {
            access_key_id: found.access_key_id().to_owned(),
            secret_access_key: found.secret_access_key().to_owned(),
            session_token: found.session_token().map(str::to_owned),
        })
    }
}
