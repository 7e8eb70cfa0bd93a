//! `warren_aws_route53_zone_association`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::{AwsPart, Global};
use crate::ids::{AccountId, VpcId, ZoneId};

/// Manages the association of a VPC with a private hosted zone, which may belong to another account. The resolver of the
/// VPC then answers from the zone.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_route53_zone_association", noun = "association, `ZONE:VPC:REGION`")]
pub(crate) struct Association {
    #[attr(flatten)]
    pub(crate) part: AwsPart<Global>,
    /// ID of the zone. If the zone belongs to another account, its `authorized_vpcs` must list the VPC. Changing this
    /// replaces the association.
    #[attr(required, replaces)]
    pub(crate) zone_id: Attr<ZoneId>,
    /// ID of the VPC, in the account of the provider. Changing this replaces the association.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// Region of the VPC. Changing this replaces the association. Defaults to the region of the provider.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) vpc_region: Attr<String>,
    /// ID of the AWS account that owns the zone.
    #[attr(computed, keeps)]
    pub(crate) owning_account: Attr<AccountId>,
}

impl HasShared for Association {
    type Shared = AwsPart<Global>;
}
