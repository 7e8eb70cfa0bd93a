//! SDK clients, created once. Region and credentials come from the same sources as in the AWS CLI.

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use tf_provider_rs::{NotKnown, async_trait};
use warren_guard::{CredentialSource, S3Credentials};

use crate::config::AwsConfig;
use crate::retry;

/// The name of the provider in user agents and role sessions.
const APP: &str = "terraform-provider-warren";

/// Loads the SDK configuration. It uses the network only if neither the configuration nor the environment
/// nor files name a region; it then queries the instance metadata service.
///
/// # Errors
/// A role without an ARN.
pub(crate) async fn load(config: &AwsConfig) -> Result<SdkConfig, NotKnown> {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .retry_config(retry::config(config.max_attempts.known().copied()))
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
    if let Some(profile) = config.profile.known() {
        loader = loader.profile_name(profile);
    }
    if let Some(url) = config.endpoint_url.known() {
        loader = loader.endpoint_url(url);
    }
    let base = loader.load().await;
    let Some(role) = config.assume_role.known() else { return Ok(base) };
    let mut provider = AssumeRoleProvider::builder(role.role_arn.value()?)
        .session_name(role.session_name.known().map_or(APP, String::as_str))
        .configure(&base);
    if let Some(external_id) = role.external_id.known() {
        provider = provider.external_id(external_id);
    }
    let credentials = SharedCredentialsProvider::new(provider.build().await);
    Ok(base.into_builder().credentials_provider(credentials).build())
}

/// A client of a service (the name of its crate), which follows the policy of retries and logs its calls.
macro_rules! client {
    ($service:ident, $sdk:expr) => {{
        let (sdk, service) = ($sdk, stringify!($service));
        let (classifier, identities) = $crate::retry::policy(service, sdk);
        $service::Client::from_conf(
            $service::config::Builder::from(sdk)
                .retry_partition($crate::retry::partition())
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
        let found = self.0.provide_credentials().await.map_err(|error| {
            // The sources of this error may quote a token endpoint's answer.
            format!("no AWS credentials: {error}; set AWS_PROFILE or run `aws sso login`")
        })?;
        Ok(S3Credentials {
            access_key_id: found.access_key_id().to_owned(),
            secret_access_key: found.secret_access_key().to_owned(),
            session_token: found.session_token().map(str::to_owned),
        })
    }
}
