//! Short-lived credentials of clouds for peers.
//!
//! ```toml
//! [credentials.aws]
//! role_arn = "arn:aws:iam::123456789012:role/warren-pods"
//! region = "us-east-1"
//!
//! [[groups.gpu.grants]]
//! objects = "s3://acme-datasets/llm/"
//! access = "read"
//! ```
//!
//! A group's grants become the session policy of AWS, or the Credential Access Boundary of Google Cloud, with which the gateway
//! narrows its own credentials for a peer. Everything here is text: the gateway sends it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{GatewayConfig, Period};
use crate::Name;

/// The TCP port of the gateway's overlay address at which peers request credentials.
pub const CREDENTIALS_PORT: u16 = 9580;
/// The path of credentials of AWS.
pub const AWS_PATH: &str = "/v1/credentials/aws";
/// The path of credentials of Google Cloud.
pub const GOOGLE_PATH: &str = "/v1/credentials/google";

/// The header of a random text that the gateway sends once for each connection.
pub const CHALLENGE_HEADER: &str = "warren-challenge";
/// The header of the [proof](crate::enrolment::Proof) about that text: other programs of the pod can reach the gateway, too.
pub const PROOF_HEADER: &str = "warren-proof";

/// The shortest and the longest session of STS (`DurationSeconds` of `AssumeRole`).
pub const SESSION_MIN: Duration = Duration::from_secs(900);
/// See [`SESSION_MIN`]. A role that another role assumes has one hour at most, which is not known here.
pub const SESSION_MAX: Duration = Duration::from_secs(12 * 3600);
/// The longest session policy in characters (`Policy` of `AssumeRole`). STS packs it, and has a limit for that too.
pub const POLICY_MAX: usize = 2048;
/// The most rules of a Credential Access Boundary.
pub const BOUNDARY_RULES_MAX: usize = 10;
/// The most grants of a group.
const GRANTS_MAX: usize = 64;
/// The longest name of an object, for both clouds.
const PREFIX_MAX: usize = 1024;

/// The identities that the gateway narrows for its peers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// A role of AWS.
    #[serde(default)]
    pub aws: Option<AwsRole>,
    /// A service account of Google Cloud.
    #[serde(default)]
    pub google: Option<GoogleAccount>,
}

/// The role that the gateway assumes for peers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwsRole {
    /// `arn:aws:iam::ACCOUNT:role/NAME`.
    pub role_arn: RoleArn,
    /// The region whose STS endpoint is used.
    pub region: Name,
    /// How long credentials are valid: [`SESSION_MIN`] to [`SESSION_MAX`].
    #[serde(default = "hour")]
    pub duration: Period,
}

fn hour() -> Period {
    Period::from_secs(3600)
}

/// A service account of the metadata server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoogleAccount {
    /// Its name at the metadata server: `default` or an email address.
    #[serde(default = "default_account")]
    pub service_account: String,
}

fn default_account() -> String {
    "default".to_owned()
}

/// The ARN of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleArn(String);

crate::text::serde_as_text!(RoleArn);

/// The error for a text that is not the ARN of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the ARN of a role; write it like arn:aws:iam::123456789012:role/warren-pods")]
pub struct RoleArnError;

impl FromStr for RoleArn {
    type Err = RoleArnError;

    fn from_str(text: &str) -> Result<Self, RoleArnError> {
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let [arn, partition, iam, region, account, role] = parts[..] else { return Err(RoleArnError) };
        let name = role.strip_prefix("role/").unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-/".contains(c);
        let good = arn == "arn"
            && (partition == "aws" || partition.starts_with("aws-"))
            && partition.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
            && iam == "iam"
            && region.is_empty()
            && account.len() == 12
            && account.bytes().all(|c| c.is_ascii_digit())
            && !name.is_empty()
            && text.len() <= 2048
            && name.chars().all(plain);
        good.then(|| Self(text.to_owned())).ok_or(RoleArnError)
    }
}

impl fmt::Display for RoleArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl RoleArn {
    fn partition(&self) -> &str {
        self.0.split(':').nth(1).unwrap_or("aws")
    }
}

/// What a group may do with some objects.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The objects.
    pub objects: Objects,
    /// What it may do.
    pub access: Access,
}

/// What peers may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// List and read.
    Read,
    /// The same, and write and delete.
    ReadWrite,
}

/// A cloud with object storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cloud {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Google,
}

impl Cloud {
    /// As in a configuration file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Google => "google",
        }
    }
}

/// All objects of a bucket whose names start with a prefix. In TOML: `"s3://BUCKET/PREFIX/"` or `"gs://BUCKET/PREFIX/"`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Objects {
    cloud: Cloud,
    bucket: String,
    /// Empty, or with a slash at its end.
    prefix: String,
}

crate::text::serde_as_text!(Objects);

/// The error for a text that does not name objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectsError {
    /// Another form.
    #[error("not a bucket with a prefix; write s3://BUCKET/PREFIX/ or gs://BUCKET/PREFIX/")]
    Form,
    /// It would include other objects than its author thinks of.
    #[error(
        "the prefix does not end with a slash, so it includes names that only begin with it; add the slash: s3://BUCKET/PREFIX/"
    )]
    Slash,
    /// Characters that are wildcards or quotes in policies.
    #[error(
        "the prefix has characters that policies give a meaning; use letters, digits, spaces and any of ! - _ . ( ) / = + @ , :"
    )]
    Character,
}

impl FromStr for Objects {
    type Err = ObjectsError;

    fn from_str(text: &str) -> Result<Self, ObjectsError> {
        let (cloud, rest) = match (text.strip_prefix("s3://"), text.strip_prefix("gs://")) {
            (Some(rest), _) => (Cloud::Aws, rest),
            (_, Some(rest)) => (Cloud::Google, rest),
            _ => return Err(ObjectsError::Form),
        };
        let (bucket, prefix) = rest.split_once('/').ok_or(ObjectsError::Form)?;
        let ends = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let good = (3..=63).contains(&bucket.len())
            && bucket.bytes().all(|c| {
                c.is_ascii_lowercase()
                    || c.is_ascii_digit()
                    || b".-".contains(&c)
                    || (c == b'_' && cloud == Cloud::Google)
            })
            && ends(bucket.bytes().next())
            && ends(bucket.bytes().last());
        if !good || prefix.len() > PREFIX_MAX || prefix.starts_with('/') {
            return Err(ObjectsError::Form);
        }
        if !prefix.chars().all(|c| c.is_ascii_alphanumeric() || " !-_.()/=+@,:".contains(c)) {
            return Err(ObjectsError::Character);
        }
        if !prefix.is_empty() && !prefix.ends_with('/') {
            return Err(ObjectsError::Slash);
        }
        Ok(Self { cloud, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.cloud {
            Cloud::Aws => "s3",
            Cloud::Google => "gs",
        };
        write!(f, "{scheme}://{}/{}", self.bucket, self.prefix)
    }
}

impl Objects {
    /// The cloud that has the bucket.
    #[must_use]
    pub fn cloud(&self) -> Cloud {
        self.cloud
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Policy {
    version: &'static str,
    statement: Vec<Statement>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Statement {
    effect: &'static str,
    action: &'static [&'static str],
    resource: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<Prefixes>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Prefixes {
    string_like: BTreeMap<&'static str, Vec<String>>,
}

/// Writes of multipart uploads need `PutObject` alone; what is left of them is aborted.
const WRITES: [&str; 4] =
    ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"];

/// The session policy for these grants; `None` if none is about S3. A session has what both the role's policies and this allow.
#[must_use]
pub fn session_policy(role: &AwsRole, grants: &[Grant]) -> Option<String> {
    let of_aws = || grants.iter().filter(|grant| grant.objects.cloud == Cloud::Aws);
    of_aws().next()?;
    let bucket_arn = |bucket: &str| format!("arn:{}:s3:::{bucket}", role.role_arn.partition());
    let objects = |grant: &Grant| format!("{}/{}*", bucket_arn(&grant.objects.bucket), grant.objects.prefix);
    let allow = |action, mut resource: Vec<String>, condition| {
        resource.sort_unstable();
        resource.dedup();
        Statement { effect: "Allow", action, resource, condition }
    };
    let mut statement = vec![allow(&["s3:GetObject"], of_aws().map(objects).collect(), None)];
    let writable: Vec<String> =
        of_aws().filter(|grant| grant.access == Access::ReadWrite).map(objects).collect();
    if !writable.is_empty() {
        statement.push(allow(&WRITES, writable, None));
    }
    let mut buckets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for grant in of_aws() {
        buckets.entry(&grant.objects.bucket).or_default().push(&grant.objects.prefix);
    }
    for (bucket, mut prefixes) in buckets {
        prefixes.sort_unstable();
        prefixes.dedup();
        let whole = prefixes.first().is_some_and(|prefix| prefix.is_empty());
        let prefixes = prefixes.into_iter().map(|prefix| format!("{prefix}*")).collect();
        let condition = (!whole).then(|| Prefixes { string_like: [("s3:prefix", prefixes)].into() });
        statement.push(allow(&["s3:ListBucket"], vec![bucket_arn(bucket)], condition));
    }
    serde_json::to_string(&Policy { version: "2012-10-17", statement }).ok()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    access_boundary: Boundary,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Boundary {
    access_boundary_rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    available_permissions: [&'static str; 1],
    available_resource: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    availability_condition: Option<Condition>,
}

#[derive(Serialize)]
struct Condition {
    expression: String,
}

/// The `options` of a token exchange for these grants; `None` if none is about Google Storage. Works for buckets with uniform
/// bucket-level access only (<https://cloud.google.com/iam/docs/downscoping-short-lived-credentials>).
#[must_use]
pub fn access_boundary(grants: &[Grant]) -> Option<String> {
    let rules: Vec<Rule> = grants
        .iter()
        .filter(|grant| grant.objects.cloud == Cloud::Google)
        .map(|Grant { objects: Objects { bucket, prefix, .. }, access }| Rule {
            available_permissions: [match access {
                Access::Read => "inRole:roles/storage.objectViewer",
                Access::ReadWrite => "inRole:roles/storage.objectUser",
            }],
            available_resource: format!("//storage.googleapis.com/projects/_/buckets/{bucket}"),
            // Names and prefixes of requests to list; the characters of a prefix need no quotes.
            availability_condition: (!prefix.is_empty()).then(|| Condition {
                expression: format!(
                    "resource.name.startsWith('projects/_/buckets/{bucket}/objects/{prefix}') || \
                     api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('{prefix}')"
                ),
            }),
        })
        .collect();
    if rules.is_empty() {
        return None;
    }
    let boundary = Boundary { access_boundary_rules: rules };
    serde_json::to_string(&Options { access_boundary: boundary }).ok()
}

/// Grants of a group that a cloud would refuse, or that contradict each other: what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantsError {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: &'static str,
}

/// Looks for the first mistake in the grants of the group `name`, whatever else the file says.
///
/// # Errors
/// There are too many, two are for the same objects, or what follows from them is too long for a cloud.
pub fn check_grants(name: &Name, grants: &[Grant], role: Option<&AwsRole>) -> Result<(), GrantsError> {
    let wrong = |what: String, hint| Err(GrantsError { what, hint });
    if grants.len() > GRANTS_MAX {
        let what = format!("group {name} has {} grants", grants.len());
        return wrong(what, "at most 64; grant a common prefix instead");
    }
    for (index, Grant { objects, .. }) in grants.iter().enumerate() {
        if grants[..index].iter().any(|other| other.objects == *objects) {
            let what = format!("group {name} has two grants for {objects}");
            return wrong(what, "remove one of them");
        }
    }
    let policy = role.and_then(|role| session_policy(role, grants));
    if let Some(policy) = policy.filter(|policy| policy.len() > POLICY_MAX) {
        let what = format!(
            "the session policy for the grants of group {name} has {} characters, and STS accepts 2,048",
            policy.len()
        );
        return wrong(what, "grant fewer or shorter prefixes, or split the group");
    }
    let rules = grants.iter().filter(|grant| grant.objects.cloud == Cloud::Google).count();
    if rules > BOUNDARY_RULES_MAX {
        let what = format!("group {name} has {rules} grants for Google Storage, which accepts 10");
        return wrong(what, "grant fewer prefixes, or split the group");
    }
    Ok(())
}

/// A mistake: the table, the setting in it, what is wrong, and what to do.
pub(super) struct WrongGrant {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) hint: String,
}

/// Looks for the first contradiction.
pub(super) fn check(config: &GatewayConfig) -> Result<(), WrongGrant> {
    let wrong =
        |table, key, what: String, hint: &str| Err(WrongGrant { table, key, what, hint: hint.to_owned() });
    let role = config.credentials.aws.as_ref();
    if let Some(role) = role
        && !(SESSION_MIN..=SESSION_MAX).contains(&role.duration.get())
    {
        let what = format!("credentials of AWS for {} are out of range", role.duration);
        let hint = "write from 15m to 12h; at most 1h if the gateway itself has the credentials of a role";
        return wrong("credentials", "duration", what, hint);
    }
    for (name, group) in config.groups.iter().filter(|(_, group)| !group.grants.is_empty()) {
        if config.site.peers.iter().any(|peer| peer.group == *name) {
            let what = format!("group {name} has grants, and is the group of a site");
            return wrong("groups", "objects", what, "move the grants to a group of pods: sites get none");
        }
        for Grant { objects, .. } in &group.grants {
            let known = match objects.cloud {
                Cloud::Aws => config.credentials.aws.is_some(),
                Cloud::Google => config.credentials.google.is_some(),
            };
            if !known {
                let table = objects.cloud.name();
                let what =
                    format!("group {name} has a grant for {objects}, and there is no [credentials.{table}]");
                let hint = match objects.cloud {
                    Cloud::Aws => "add [credentials.aws] with role_arn and region, or remove the grant",
                    Cloud::Google => "add [credentials.google], or remove the grant",
                };
                return wrong("groups", "objects", what, hint);
            }
        }
        if let Err(GrantsError { what, hint }) = check_grants(name, &group.grants, role) {
            return wrong("groups", "objects", what, hint);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
