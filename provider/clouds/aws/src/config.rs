//! The `aws` attribute of the provider block.

use tf_provider_rs::model::Secret;
use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Object};
use warren_managed::sets::{Set, Texts};
use warren_managed::timeouts::Timeout;

use crate::ids::{AccountId, LiveId};
use crate::live::LiveRanges;
use crate::region::RegionName;
use crate::tags::{self, TagMap};

/// The `aws` attribute of the provider block.
///
/// It accepts no access keys. Credentials come from the same sources as in the AWS CLI: environment, shared files, SSO,
/// web identity, and container and instance roles.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct AwsConfig {
    /// Region, such as `us-east-1`. Defaults to `AWS_REGION`, `AWS_DEFAULT_REGION`, the region of the profile, or the
    /// region of the instance.
    #[attr(optional)]
    pub region: Attr<String>,
    /// Profile in the shared AWS configuration files. It has precedence over credentials in environment variables.
    /// Defaults to `AWS_DEFAULT_PROFILE` or `AWS_PROFILE`.
    #[attr(optional)]
    pub profile: Attr<String>,
    /// Paths of shared configuration files. Defaults to `AWS_CONFIG_FILE` or `~/.aws/config`.
    #[attr(optional)]
    pub shared_config_files: Attr<Vec<Attr<String>>>,
    /// Paths of shared credentials files. Defaults to `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials`.
    #[attr(optional)]
    pub shared_credentials_files: Attr<Vec<Attr<String>>>,
    /// URL of an endpoint that serves all AWS services, for emulators such as moto. `AWS_ENDPOINT_URL` and
    /// `AWS_ENDPOINT_URL_EC2` set the endpoint of all services or of one.
    #[attr(optional)]
    pub endpoint_url: Attr<String>,
    /// Whether to use FIPS endpoints. Defaults to `AWS_USE_FIPS_ENDPOINT`.
    #[attr(optional)]
    pub use_fips_endpoint: Attr<bool>,
    /// Whether to use dual-stack endpoints. Defaults to `AWS_USE_DUALSTACK_ENDPOINT`.
    #[attr(optional)]
    pub use_dualstack_endpoint: Attr<bool>,
    /// Path of a file with certificates in PEM format, which replaces the certificate authorities of the system.
    /// Defaults to `AWS_CA_BUNDLE`.
    #[attr(optional)]
    pub custom_ca_bundle: Attr<String>,
    /// IAM role to assume with the credentials that were found.
    #[attr(optional)]
    pub assume_role: Attr<AssumeRole>,
    /// IAM roles to assume one after the other, each with the credentials of the one before. The first follows
    /// `assume_role`.
    #[attr(optional)]
    pub assume_role_chain: Attr<Vec<AssumeRole>>,
    /// IAM role to assume with a token of an OIDC provider. It replaces all other sources of credentials.
    #[attr(optional)]
    pub assume_role_with_web_identity: Attr<AssumeRoleWithWebIdentity>,
    /// Tags to set on every object. The `tags` of a resource override them.
    #[attr(optional, validate = tags::check)]
    pub default_tags: TagMap,
    /// Tags that other tools manage. The provider neither shows them in `tags` and `tags_all` nor removes them.
    #[attr(optional)]
    pub ignore_tags: Attr<IgnoreTags>,
    /// Maximum number of attempts for an API call, including the first, 1 to 100. Defaults to `AWS_MAX_ATTEMPTS`.
    /// Without either, calls are repeated until the timeout of the resource.
    #[attr(optional, validate = between(1, 100))]
    pub max_attempts: Attr<u32>,
    /// IDs of the AWS accounts that the provider may use. Credentials of any other account are rejected before
    /// anything is read or changed.
    #[attr(optional)]
    pub allowed_account_ids: Set<AccountId>,
    /// IDs of VPCs, prefix lists and transit gateway route tables to ignore when planned ranges are checked against
    /// live ranges.
    #[attr(optional)]
    pub ignore_live: Set<LiveId>,
    /// Live ranges to compare planned ranges with, besides those of VPCs and subnets: `prefix_lists` and
    /// `transit_gateway_routes`. Defaults to both.
    #[attr(optional)]
    pub live_ranges: Set<LiveRanges>,
    /// Further regions whose live ranges are compared with planned ranges. Defaults to none: only the regions of the
    /// provider block and of its resources are read.
    #[attr(optional)]
    pub live_regions: Set<RegionName>,
}

/// A role to assume with the credentials that were found.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct AssumeRole {
    /// ARN of the role.
    #[attr(required)]
    pub role_arn: Attr<String>,
    /// External ID that the trust policy of the role requires.
    #[attr(optional)]
    pub external_id: Attr<String>,
    /// The session of the role.
    #[attr(flatten)]
    pub session: RoleSession,
    /// Tags of the session.
    #[attr(optional)]
    pub tags: TagMap,
    /// Keys of session tags that the next role of a chain inherits.
    #[attr(optional)]
    pub transitive_tag_keys: Texts,
    /// Source identity of the session in CloudTrail.
    #[attr(optional)]
    pub source_identity: Attr<String>,
}

/// A role to assume with a token of an OIDC provider.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct AssumeRoleWithWebIdentity {
    /// ARN of the role.
    #[attr(required)]
    pub role_arn: Attr<String>,
    /// Token. A literal value or non-ephemeral variable ends up in plan files, so `web_identity_token_file` is preferred.
    #[attr(optional, sensitive)]
    pub web_identity_token: Attr<Secret>,
    /// Path of a file with the token, which is read again when the session expires.
    #[attr(optional)]
    pub web_identity_token_file: Attr<String>,
    /// The session of the role.
    #[attr(flatten)]
    pub session: RoleSession,
}

/// The session of an assumed role.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct RoleSession {
    /// Name of the role session in CloudTrail. Defaults to `terraform-provider-warren`.
    #[attr(optional)]
    pub session_name: Attr<String>,
    /// Duration of the session, `15m` to `12h`. Defaults to `1h`.
    #[attr(optional)]
    pub duration: Attr<Timeout>,
    /// Policy in JSON that restricts the permissions of the session further.
    #[attr(optional)]
    pub policy: Attr<String>,
    /// ARNs of managed policies that restrict the permissions of the session further.
    #[attr(optional)]
    pub policy_arns: Texts,
}

/// Tags that other tools manage.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct IgnoreTags {
    /// Keys of tags, such as `kubernetes.io/role/elb`.
    #[attr(optional)]
    pub keys: Texts,
    /// Beginnings of keys, such as `kubernetes.io/cluster/`.
    #[attr(optional)]
    pub key_prefixes: Texts,
}
