//! The credentials of the account: found in the order of botocore, exchanged for those of roles, cached.

mod plan;
mod stored;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_config::credential_process::CredentialProcessProvider;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::provider_config::ProviderConfig;
use aws_config::sso::SsoCredentialsProvider;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use aws_sdk_sts::config::Region;
use aws_sdk_sts::types::{Credentials as StsCredentials, PolicyDescriptorType, Tag};
use tf_provider_rs::{Diagnostic, NotKnown, Path};
use tokio::sync::Mutex;
use warren_managed::sets;

use self::plan::{METADATA, Mfa, Mistake, Plan, Role, Source};
use crate::client::{self, APP};
use crate::config::{AssumeRole, AwsConfig, RoleSession};
use crate::error::{ApiError, redacted_chain, unreachable};
use crate::http::{Clients, Unreachable};
use crate::settings::Settings;
use crate::tags;

/// Credentials could not be loaded. The text names the source, the reason and one thing to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoCredentials(pub(crate) String);

/// The credentials of a provider block. `base` is its configuration without credentials.
///
/// # Errors
/// The settings contradict each other, or are incomplete. Nothing is called yet.
pub(crate) fn provider(
    settings: &Settings,
    config: &AwsConfig,
    base: &SdkConfig,
    http: &Clients,
) -> Result<SharedCredentialsProvider, Diagnostic> {
    let (source, origin, mut roles) = match config.assume_role_with_web_identity.known() {
        Some(role) => {
            let token = match (role.web_identity_token.known(), role.web_identity_token_file.known()) {
                (Some(token), None) => Token::Text(token.0.clone().into()),
                (None, Some(path)) => Token::File(path.clone()),
                _ => {
                    return Err(Diagnostic::error(
                        "Invalid web identity",
                        "`assume_role_with_web_identity` needs exactly one of `web_identity_token_file` and \
                         `web_identity_token`. Set one of them.",
                    )
                    .at(Path::of("aws").attribute("assume_role_with_web_identity")));
                }
            };
            let role_of =
                Role { arn: role.role_arn.value().map_err(unknown)?.clone(), ..session_of(&role.session) };
            let web = WebIdentity { role: role_of, token, base: base.clone() };
            (SharedCredentialsProvider::new(web), "the web identity token", Vec::new())
        }
        None => {
            let Plan { source, roles } = plan::plan(settings).map_err(invalid)?;
            tracing::debug!(
                ?source,
                roles = roles.len(),
                profile = settings.selected.name,
                "credentials planned"
            );
            let origin = source.origin();
            (build(source, base, http), origin, roles)
        }
    };
    let first = config.assume_role.known().into_iter();
    for role in first.chain(config.assume_role_chain.known().into_iter().flatten()) {
        roles.push(role_of(role).map_err(unknown)?);
    }
    Ok(SharedCredentialsProvider::new(Resolved {
        source,
        origin,
        profile: settings.selected.name.clone(),
        roles,
        home: settings.variable("HOME").map(PathBuf::from),
        base: base.clone(),
        cached: Arc::default(),
    }))
}

fn unknown(error: NotKnown) -> Diagnostic {
    Diagnostic::from(ApiError::from(error)).at(Path::of("aws"))
}

fn invalid(mistake: Mistake) -> Diagnostic {
    Diagnostic::error("Invalid AWS credentials settings", mistake.0).at(Path::of("aws"))
}

/// A role of the provider block.
fn role_of(role: &AssumeRole) -> Result<Role, NotKnown> {
    Ok(Role {
        arn: role.role_arn.value()?.clone(),
        external_id: role.external_id.known().cloned(),
        tags: tags::known(&role.tags).into_iter().collect(),
        transitive_tag_keys: sets::known(&role.transitive_tag_keys).into_iter().collect(),
        source_identity: role.source_identity.known().cloned(),
        ..session_of(&role.session)
    })
}

/// A role that is not named yet, with the settings of its session.
fn session_of(session: &RoleSession) -> Role {
    let seconds = session.duration.known().and_then(|time| i32::try_from(time.duration().as_secs()).ok());
    Role {
        session_name: session.session_name.known().cloned(),
        seconds,
        policy: session.policy.known().cloned(),
        policy_arns: sets::known(&session.policy_arns).into_iter().collect(),
        ..Role::default()
    }
}

/// The provider of the SDK for a source.
fn build(source: Source, base: &SdkConfig, http: &Clients) -> SharedCredentialsProvider {
    let conf = ProviderConfig::without_region()
        .with_region(base.region().cloned())
        .with_http_client(http.calls.clone())
        .with_use_fips(base.use_fips())
        .with_use_dual_stack(base.use_dual_stack());
    let metadata = conf.clone().with_http_client(http.metadata.clone());
    let container = || EcsCredentialsProvider::builder().configure(&metadata).build();
    let instance = || ImdsCredentialsProvider::builder().configure(&metadata).build();
    match source {
        Source::Keys { id, secret, token, origin } => {
            SharedCredentialsProvider::new(Credentials::new(id, secret, token, None, origin))
        }
        Source::WebIdentity { role_arn, token_file, session_name } => {
            SharedCredentialsProvider::new(WebIdentity {
                role: Role { arn: role_arn, session_name, ..Role::default() },
                token: Token::File(token_file),
                base: base.clone(),
            })
        }
        Source::Sso { account_id, role_name, region, start_url, session } => {
            let sso = SsoCredentialsProvider::builder()
                .configure(&conf)
                .account_id(account_id)
                .role_name(role_name)
                .region(Region::new(region))
                .start_url(start_url);
            let sso = match session {
                Some(session) => sso.session_name(session),
                None => sso,
            };
            SharedCredentialsProvider::new(sso.build())
        }
        Source::Process(command) => SharedCredentialsProvider::new(CredentialProcessProvider::new(command)),
        Source::Container => SharedCredentialsProvider::new(container()),
        Source::Instance => SharedCredentialsProvider::new(instance()),
        Source::Metadata => SharedCredentialsProvider::new(
            CredentialsProviderChain::first_try("container", container()).or_else("instance", instance()),
        ),
    }
}

/// The credentials of the source, or of the last role.
struct Resolved {
    source: SharedCredentialsProvider,
    origin: &'static str,
    /// The profile, for advice.
    profile: String,
    roles: Vec<Role>,
    /// The home directory, with the sessions that the AWS CLI has stored.
    home: Option<PathBuf>,
    base: SdkConfig,
    cached: Arc<Mutex<Option<Credentials>>>,
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolved").field("origin", &self.origin).field("roles", &self.roles.len()).finish()
    }
}

/// Credentials are replaced this long before they expire.
const MARGIN: Duration = Duration::from_secs(5 * 60);

impl Resolved {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let mut cached = self.cached.lock().await;
        if let Some(credentials) = &*cached
            && credentials.expiry().is_none_or(|expiry| expiry > SystemTime::now() + MARGIN)
        {
            return Ok(credentials.clone());
        }
        match (self.fresh().await, &*cached) {
            (Ok(credentials), _) => {
                *cached = Some(credentials.clone());
                Ok(credentials)
            }
            // As botocore does while the credentials are valid.
            (Err(error), Some(old)) if old.expiry().is_some_and(|expiry| expiry > SystemTime::now()) => {
                tracing::warn!(reason = redacted_chain(&error), "the credentials could not be renewed yet");
                Ok(old.clone())
            }
            (Err(error), _) => Err(error),
        }
    }

    /// New credentials of the last role. A session that the AWS CLI has stored replaces the roles before it.
    async fn fresh(&self) -> Result<Credentials, CredentialsError> {
        let (mut credentials, roles) = match self.roles.iter().rposition(|role| role.mfa.is_some()) {
            Some(at) => (self.stored(&self.roles[at]).await?, &self.roles[at + 1..]),
            None => {
                let found = self.source.provide_credentials().await;
                (found.map_err(|error| self.explain(&error))?, self.roles.as_slice())
            }
        };
        for role in roles {
            credentials = self.assume(role, credentials).await?;
        }
        Ok(credentials)
    }

    /// The session of a role that requires an MFA code.
    async fn stored(&self, role: &Role) -> Result<Credentials, CredentialsError> {
        let found = match &self.home {
            Some(home) => stored::session(home, role).await,
            None => None,
        };
        let Mfa { serial, profile } = role.mfa.clone().unwrap_or_default();
        found.ok_or_else(|| {
            failed(format!(
                "Profile `{profile}` requires an MFA code (`mfa_serial = {serial}`), and a Terraform provider cannot \
                 prompt for one. Run `aws sts get-caller-identity --profile {}` and enter the code, then re-run the \
                 command: the provider uses the session that the AWS CLI stores, until it expires.",
                self.profile
            ))
        })
    }

    async fn assume(&self, role: &Role, credentials: Credentials) -> Result<Credentials, CredentialsError> {
        let provider = SharedCredentialsProvider::new(credentials);
        let sdk = self.base.to_builder().credentials_provider(provider).build();
        let tag = |(key, value): &(String, String)| Tag::builder().key(key).value(value).build().ok();
        let tags: Vec<Tag> = role.tags.iter().filter_map(tag).collect();
        let some = |texts: &[String]| (!texts.is_empty()).then(|| texts.to_vec());
        let assumed = client::client!(aws_sdk_sts, &sdk)
            .assume_role()
            .role_arn(&role.arn)
            .role_session_name(role.session_name.as_deref().unwrap_or(APP))
            .set_external_id(role.external_id.clone())
            .set_duration_seconds(role.seconds)
            .set_policy(role.policy.clone())
            .set_policy_arns(policies(role))
            .set_tags((!tags.is_empty()).then_some(tags))
            .set_transitive_tag_keys(some(&role.transitive_tag_keys))
            .set_source_identity(role.source_identity.clone())
            .send()
            .await
            .map_err(|error| refused(role, "AssumeRole", &error))?;
        session(role, assumed.credentials)
    }

    /// The error of a source with advice.
    fn explain(&self, error: &CredentialsError) -> CredentialsError {
        if let Some(told) = find::<NoCredentials>(error) {
            return failed(told.0.clone());
        }
        let (origin, profile) = (self.origin, &self.profile);
        let reason = redacted_chain(error);
        if let Some(dead) = find::<Unreachable>(error) {
            return failed(format!(
                "AWS credentials from {origin} could not be loaded: {} {NETWORK}",
                unreachable(dead)
            ));
        }
        let missing = matches!(error, CredentialsError::CredentialsNotLoaded(_));
        // Some networks answer in place of the metadata service.
        let detail = if missing { String::new() } else { format!(" ({reason})") };
        failed(match origin {
            _ if reason.contains("Invalid Configuration") => format!(
                "AWS credentials from {origin} could not be loaded: {reason}. Remove the custom endpoint, or the setting \
                 that it contradicts."
            ),
            // `GetRoleCredentials` returns it if the permission set is not assigned.
            "IAM Identity Center (SSO)" if reason.contains("ForbiddenException") => format!(
                "IAM Identity Center (SSO) refuses the role of profile `{profile}`: {reason}. Check `sso_account_id` and \
                 `sso_role_name`, and whether the role is assigned to you."
            ),
            "IAM Identity Center (SSO)" => format!(
                "The session of profile `{profile}` in IAM Identity Center (SSO) is missing or has expired: {reason}. \
                 Run `aws sso login --profile {profile}`, then re-run the command."
            ),
            "credential_process" => {
                let reason = reason.replace(
                    "Error retrieving credentials: external process exited with code exit status:",
                    "the program exited with status",
                );
                let reason = reason.trim_end_matches("Stderr:").trim_end_matches(['.', ' ']);
                format!(
                    "The `credential_process` of profile `{profile}` failed: {reason}. Run the program in a shell to see \
                     its output."
                )
            }
            _ if missing || origin == METADATA => format!(
                "No AWS credentials were found in {origin}{detail}. Run `aws configure sso` and `aws sso login`, name a profile \
                 with AWS_PROFILE or `aws.profile`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
            ),
            _ => format!(
                "AWS credentials from {origin} could not be loaded: {reason}. Correct the settings of the source, or \
                 name another one with AWS_PROFILE or `aws.profile`."
            ),
        })
    }
}

impl ProvideCredentials for Resolved {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }
}

/// A token of an OIDC provider.
enum Token {
    Text(zeroize::Zeroizing<String>),
    File(String),
}

/// A role for a token of an OIDC provider.
struct WebIdentity {
    role: Role,
    token: Token,
    base: SdkConfig,
}

impl fmt::Debug for WebIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebIdentity").field("role", &self.role.arn).finish_non_exhaustive()
    }
}

impl WebIdentity {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let token = match &self.token {
            Token::Text(text) => text.clone(),
            Token::File(path) => tokio::fs::read_to_string(path).await.map(Into::into).map_err(|error| {
                failed(format!(
                    "The web identity token in `{path}` cannot be read: {}. Check AWS_WEB_IDENTITY_TOKEN_FILE or \
                     `web_identity_token_file`.",
                    redacted_chain(&error)
                ))
            })?,
        };
        let role = &self.role;
        let assumed = client::client!(aws_sdk_sts, &self.base)
            .assume_role_with_web_identity()
            .role_arn(&role.arn)
            .role_session_name(role.session_name.as_deref().unwrap_or(APP))
            .web_identity_token(token.trim())
            .set_duration_seconds(role.seconds)
            .set_policy(role.policy.clone())
            .set_policy_arns(policies(role))
            .send()
            .await
            .map_err(|error| refused(role, "AssumeRoleWithWebIdentity", &error))?;
        session(role, assumed.credentials)
    }
}

impl ProvideCredentials for WebIdentity {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }
}

fn policies(role: &Role) -> Option<Vec<PolicyDescriptorType>> {
    let descriptor = |arn: &String| PolicyDescriptorType::builder().arn(arn).build();
    (!role.policy_arns.is_empty()).then(|| role.policy_arns.iter().map(descriptor).collect())
}

/// The credentials of a role's session.
fn session(role: &Role, credentials: Option<StsCredentials>) -> Result<Credentials, CredentialsError> {
    let Some(credentials) = credentials else {
        return Err(failed(format!("STS returned no credentials for role {}. Apply again.", role.arn)));
    };
    let expiry = SystemTime::try_from(*credentials.expiration()).ok();
    Ok(Credentials::new(
        credentials.access_key_id,
        credentials.secret_access_key,
        Some(credentials.session_token),
        expiry,
        "AssumeRole",
    ))
}

/// Advice where the source of credentials cannot be reached.
const NETWORK: &str = "Check the region (`aws.region`, AWS_REGION, the profile), custom endpoints, the network, and the \
                       proxy in HTTPS_PROXY, then re-run the command.";

/// STS did not return credentials.
fn refused(
    role: &Role,
    call: &str,
    error: &(impl aws_sdk_sts::error::ProvideErrorMetadata + std::error::Error + 'static),
) -> CredentialsError {
    if let Some(dead) = find::<Unreachable>(error) {
        let why = unreachable(dead);
        return failed(format!("Role {} could not be assumed ({call}): {why} {NETWORK}", role.arn));
    }
    let reason = match (error.code(), error.message()) {
        (Some(code), Some(message)) => crate::redact::redact(&format!("{code}: {message}")),
        (Some(code), None) => code.to_owned(),
        (None, _) => redacted_chain(error),
    };
    failed(format!(
        "Role {} could not be assumed ({call}): {reason}. Check the ARN, the trust policy of the role, and the \
         permission `sts:{call}` of the source credentials.",
        role.arn
    ))
}

fn failed(text: String) -> CredentialsError {
    CredentialsError::provider_error(NoCredentials(text))
}

/// The first error of type `E` among an error and its causes.
pub(crate) fn find<'a, E: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
