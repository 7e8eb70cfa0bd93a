//! The `aws` attribute of the provider block.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Object};
use warren_managed::sets::Set;

use crate::ids::{AccountId, LiveId};
use crate::live::LiveRanges;
use crate::region::RegionName;
use crate::tags::{self, TagMap};

/// The `aws` attribute of the provider block.
///
/// It accepts no keys or tokens. Credentials come from the same sources as in the AWS CLI: environment, shared files,
/// SSO, web identity, and container and instance roles.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct AwsConfig {
    /// Region, such as `us-east-1`. Defaults to `AWS_REGION` or the region of the profile.
    #[attr(optional)]
    pub region: Attr<String>,
    /// Profile in the shared AWS configuration files. Defaults to `AWS_PROFILE`.
    #[attr(optional)]
    pub profile: Attr<String>,
    /// URL of an endpoint that serves all AWS services, for emulators such as moto.
    #[attr(optional)]
    pub endpoint_url: Attr<String>,
    /// IAM role to assume with the credentials that were found.
    #[attr(optional)]
    pub assume_role: Attr<AssumeRole>,
    /// Tags to set on every object. The `tags` of a resource override them.
    #[attr(optional, validate = tags::check)]
    pub default_tags: TagMap,
    /// Maximum number of attempts for an API call, including the first, 1 to 100. By default, a call is repeated until
    /// the timeout of the resource.
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

/// The role to assume with the credentials that were found.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct AssumeRole {
    /// ARN of the role.
    #[attr(required)]
    pub role_arn: Attr<String>,
    /// External ID that the trust policy of the role requires.
    #[attr(optional)]
    pub external_id: Attr<String>,
    /// Name of the role session in CloudTrail. Defaults to `terraform-provider-warren`.
    #[attr(optional)]
    pub session_name: Attr<String>,
}
