//! Where the credentials come from, decided in the order of botocore (`botocore/credentials.py`) without any call.
//!
//! ```text
//! keys in the environment          skipped if the provider block names a profile
//! role of the profile              source_profile or credential_source, recursively
//! web identity                     of the environment (skipped as above), then of the profile
//! SSO of the profile
//! keys in the credentials file
//! credential_process
//! keys in the configuration file
//! container role, then the role of the instance
//! ```

use std::fmt;

use aws_config::profile::Profile;
use aws_runtime::env_config::section::SsoSession;

use crate::settings::{By, Settings};

/// Where the credentials come from.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) source: Source,
    /// Roles to assume one after the other.
    pub(crate) roles: Vec<Role>,
}

/// The first credentials.
#[derive(PartialEq, Eq)]
pub(crate) enum Source {
    /// Access keys, and whether they come from the environment.
    Keys { id: String, secret: String, token: Option<String>, origin: &'static str },
    /// A role for the token in a file.
    WebIdentity { role_arn: String, token_file: String, session_name: Option<String> },
    /// IAM Identity Center.
    Sso { account_id: String, role_name: String, region: String, start_url: String, session: Option<String> },
    /// The output of a program.
    Process(String),
    /// The role of the container.
    Container,
    /// The role of the instance.
    Instance,
    /// The role of the container, else that of the instance.
    Metadata,
}

/// Everywhere, if nothing is configured.
pub(crate) const METADATA: &str = "environment variables, shared files, and the container and instance roles";

/// Without keys, and without the arguments of a program.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.origin())
    }
}

impl Source {
    /// The source in messages.
    pub(crate) fn origin(&self) -> &'static str {
        match self {
            Source::Keys { origin, .. } => origin,
            Source::WebIdentity { .. } => "the web identity token",
            Source::Sso { .. } => "IAM Identity Center (SSO)",
            Source::Process(_) => "credential_process",
            Source::Container => "the container's credentials endpoint",
            Source::Instance => "the instance metadata service",
            Source::Metadata => METADATA,
        }
    }
}

/// A role to assume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) arn: String,
    pub(crate) external_id: Option<String>,
    pub(crate) session_name: Option<String>,
    pub(crate) seconds: Option<i32>,
    pub(crate) policy: Option<String>,
    pub(crate) policy_arns: Vec<String>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) transitive_tag_keys: Vec<String>,
    pub(crate) source_identity: Option<String>,
    pub(crate) mfa: Option<Mfa>,
}

/// A role that requires a code of an MFA device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mfa {
    /// The ID of the device.
    pub(crate) serial: String,
    /// The profile that contains the role.
    pub(crate) profile: String,
}

/// A mistake in the environment or the shared files: what is wrong, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake(pub(crate) String);

fn mistake<T>(text: impl Into<String>) -> Result<T, Mistake> {
    Err(Mistake(text.into()))
}

/// Decides where the credentials come from.
///
/// # Errors
/// Settings contradict each other, or are incomplete.
pub(crate) fn plan(settings: &Settings) -> Result<Plan, Mistake> {
    if let Some(profile) = settings.profile() {
        // Not even keys in the environment make up for it (`SSOTokenProvider`).
        sso_section(settings, profile)?;
    }
    let explicit = settings.selected.by == By::Block;
    if !explicit && let Some(source) = environment(settings)? {
        return Ok(Plan { source, roles: Vec::new() });
    }
    let name = settings.selected.name.as_str();
    let profile = settings.profile();
    if let Some(profile) = profile.filter(|profile| has_role(profile)) {
        let mut visited = vec![name.to_owned()];
        return role_of(settings, profile, &mut visited);
    }
    let source = profile_source(settings, name, !explicit)?.unwrap_or(Source::Metadata);
    Ok(Plan { source, roles: Vec::new() })
}

/// Access keys in the environment (`EnvProvider`).
fn environment(settings: &Settings) -> Result<Option<Source>, Mistake> {
    let Some(id) = settings.variable("AWS_ACCESS_KEY_ID") else { return Ok(None) };
    let Some(secret) = settings.variable("AWS_SECRET_ACCESS_KEY") else {
        return mistake(
            "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not. Set both variables, or unset both to use a \
             profile.",
        );
    };
    let token = ["AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"].iter().find_map(|name| settings.variable(name));
    Ok(Some(Source::Keys { id, secret, token, origin: "environment variables" }))
}

/// A profile with a web identity token has a role, but no source (`_has_assume_role_config_vars`).
fn has_role(profile: &Profile) -> bool {
    profile.get("role_arn").is_some() && profile.get("web_identity_token_file").is_none()
}

fn has_keys(profile: &Profile) -> bool {
    ["aws_access_key_id", "aws_secret_access_key"].iter().any(|entry| profile.get(entry).is_some())
}

/// The role of a profile, and those that lead to it (`AssumeRoleProvider`).
fn role_of(settings: &Settings, profile: &Profile, visited: &mut Vec<String>) -> Result<Plan, Mistake> {
    let name = profile.name();
    let text = |entry: &str| profile.get(entry).map(str::to_owned);
    let role = Role {
        arn: text("role_arn").unwrap_or_default(),
        external_id: text("external_id"),
        session_name: text("role_session_name"),
        seconds: profile.get("duration_seconds").and_then(|seconds| seconds.trim().parse().ok()),
        mfa: text("mfa_serial").map(|serial| Mfa { serial, profile: name.to_owned() }),
        ..Role::default()
    };
    let mut plan = match (profile.get("source_profile"), profile.get("credential_source")) {
        (Some(_), Some(_)) => {
            return mistake(format!(
                "Profile `{name}` contains both `source_profile` and `credential_source`. Remove one of them."
            ));
        }
        (None, None) => {
            return mistake(format!(
                "Profile `{name}` contains `role_arn` without `source_profile` or `credential_source`, so it has no \
                 credentials with which to assume the role. Add one of them."
            ));
        }
        (None, Some(source)) => Plan { source: named(settings, name, source)?, roles: Vec::new() },
        (Some(source), None) => source_profile(settings, name, source, visited)?,
    };
    plan.roles.push(role);
    Ok(plan)
}

/// The source in `credential_source`; names are compared without case.
fn named(settings: &Settings, profile: &str, source: &str) -> Result<Source, Mistake> {
    match source.to_ascii_lowercase().as_str() {
        "environment" => environment(settings)?.map_or_else(
            || {
                mistake(format!(
                    "Profile `{profile}` uses the credentials in environment variables, but AWS_ACCESS_KEY_ID is not \
                     set. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or change `credential_source`."
                ))
            },
            Ok,
        ),
        "ecscontainer" => Ok(Source::Container),
        "ec2instancemetadata" => Ok(Source::Instance),
        _ => mistake(format!(
            "Profile `{profile}` contains `credential_source = {source}`, which does not exist. Use `Environment`, \
             `EcsContainer` or `Ec2InstanceMetadata`."
        )),
    }
}

/// The credentials of `source`, from which `profile` assumes a role.
fn source_profile(
    settings: &Settings,
    profile: &str,
    source: &str,
    visited: &mut Vec<String>,
) -> Result<Plan, Mistake> {
    let Some(found) = settings.merged.get_profile(source) else {
        return mistake(format!(
            "Profile `{profile}` names `source_profile = {source}`, which is not in the shared files. Correct the name, \
             or create the profile."
        ));
    };
    let loops = visited.iter().any(|seen| seen == source) && !(source == profile && has_keys(found));
    if loops {
        return mistake(format!(
            "The profiles form a loop: {} leads back to `{source}`. Change `source_profile` of one of them.",
            visited.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ));
    }
    visited.push(source.to_owned());
    if has_role(found) && !has_keys(found) {
        return role_of(settings, found, visited);
    }
    match profile_source(settings, source, false)? {
        Some(source) => Ok(Plan { source, roles: Vec::new() }),
        None => mistake(format!(
            "Profile `{source}`, the `source_profile` of `{profile}`, contains no credentials. Add keys, SSO settings or \
             a `credential_process` to it."
        )),
    }
}

/// Credentials that a profile contains, without a role; `environment` lets variables name the web identity
/// (`ProfileProviderBuilder`).
fn profile_source(settings: &Settings, name: &str, environment: bool) -> Result<Option<Source>, Mistake> {
    let profile = settings.merged.get_profile(name);
    let entry = |entry: &str| profile.and_then(|profile| profile.get(entry)).map(str::to_owned);
    if let Some(source) = web_identity(settings, &entry, environment)? {
        return Ok(Some(source));
    }
    let Some(profile) = profile else { return Ok(None) };
    if let Some(source) = sso(settings, profile)? {
        return Ok(Some(source));
    }
    if let Some(stored) = settings.credentials.get_profile(name)
        && let Some(source) = keys(stored, "the shared credentials file")?
    {
        return Ok(Some(source));
    }
    if profile.get("login_session").is_some() {
        return mistake(format!(
            "Profile `{name}` signs in with `aws login`, which the provider does not support. Run `aws configure \
             export-credentials --profile {name} --format process` as the `credential_process` of another profile."
        ));
    }
    if let Some(command) = entry("credential_process") {
        return Ok(Some(Source::Process(command)));
    }
    keys(profile, "the shared configuration file")
}

/// A role for a token in a file (`AssumeRoleWithWebIdentityProvider`): each part may come from the environment or the
/// profile.
fn web_identity(
    settings: &Settings,
    entry: &impl Fn(&str) -> Option<String>,
    environment: bool,
) -> Result<Option<Source>, Mistake> {
    let part = |variable: &str, name: &str| {
        let from_environment = environment.then(|| settings.env.get(variable).ok()).flatten();
        from_environment.or_else(|| entry(name)).filter(|value| !value.is_empty())
    };
    let Some(token_file) = part("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file") else {
        return Ok(None);
    };
    let Some(role_arn) = part("AWS_ROLE_ARN", "role_arn") else {
        return mistake(
            "A web identity token is configured, but no role. Set AWS_ROLE_ARN, or add `role_arn` to the profile.",
        );
    };
    let session_name = part("AWS_ROLE_SESSION_NAME", "role_session_name");
    Ok(Some(Source::WebIdentity { role_arn, token_file, session_name }))
}

/// IAM Identity Center (`SSOProvider`), with or without an `sso-session`.
fn sso(settings: &Settings, profile: &Profile) -> Result<Option<Source>, Mistake> {
    let name = profile.name();
    if ["sso_role_name", "sso_account_id"].iter().all(|entry| profile.get(entry).is_none()) {
        return Ok(None);
    }
    let section = sso_section(settings, profile)?;
    let part = |entry: &str| {
        let (own, shared) = (profile.get(entry), section.and_then(|section| section.get(entry)));
        match (own, shared) {
            (Some(own), Some(shared)) if own != shared => mistake(format!(
                "`{entry}` is `{own}` in profile `{name}`, but `{shared}` in its sso-session. Remove one of them."
            )),
            (Some(text), _) | (None, Some(text)) => Ok(text.to_owned()),
            (None, None) => mistake(format!(
                "Profile `{name}` uses IAM Identity Center (SSO), but `{entry}` is missing. Run `aws configure sso \
                 --profile {name}`."
            )),
        }
    };
    Ok(Some(Source::Sso {
        account_id: part("sso_account_id")?,
        role_name: part("sso_role_name")?,
        region: part("sso_region")?,
        start_url: part("sso_start_url")?,
        session: profile.get("sso_session").map(str::to_owned),
    }))
}

/// The `sso-session` that a profile names.
fn sso_section<'a>(settings: &'a Settings, profile: &Profile) -> Result<Option<&'a SsoSession>, Mistake> {
    let Some(session) = profile.get("sso_session") else { return Ok(None) };
    let section = settings.merged.sso_session(session);
    section.map(Some).ok_or_else(|| {
        Mistake(format!(
            "Profile `{}` names `sso_session = {session}`, but the configuration file has no section `[sso-session \
             {session}]`. Correct the name, or run `aws configure sso`.",
            profile.name()
        ))
    })
}

/// Access keys in a profile.
fn keys(profile: &Profile, origin: &'static str) -> Result<Option<Source>, Mistake> {
    let Some(id) = profile.get("aws_access_key_id") else { return Ok(None) };
    let Some(secret) = profile.get("aws_secret_access_key") else {
        return mistake(format!(
            "Profile `{}` contains `aws_access_key_id` without `aws_secret_access_key`. Add the secret key.",
            profile.name()
        ));
    };
    let token = ["aws_security_token", "aws_session_token"].iter().find_map(|entry| profile.get(entry));
    Ok(Some(Source::Keys {
        id: id.to_owned(),
        secret: secret.to_owned(),
        token: token.map(str::to_owned),
        origin,
    }))
}
