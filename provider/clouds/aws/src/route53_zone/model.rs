//! `warren_aws_route53_zone`: schema and state.

use std::collections::BTreeSet;

use tf_provider_rs::validators::{length_at_most, size_at_least};
use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::{AwsObject, Global, Named};
use crate::route53::{Place, ZoneVpc, check_domain};
use crate::session::Aws;

/// Manages a private hosted zone of Route 53. The resolvers of the associated VPCs answer for its domain from its
/// records only, so a name without a record does not exist there.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_route53_zone", noun = "zone")]
pub(crate) struct Zone {
    #[attr(flatten)]
    pub(crate) object: AwsObject<Named, Global>,
    /// Domain of the zone, such as `api.ecr.us-east-1.amazonaws.com`. Case and a final dot make no difference. Changing
    /// this to another domain replaces the zone.
    #[attr(required, replaces, validate = check_domain)]
    pub(crate) domain_name: Attr<String>,
    /// VPCs to associate, at least one, in the account of the provider. Their DNS support and DNS hostnames must be
    /// enabled. Other associations of the zone, such as those of `warren_aws_route53_zone_association`, are left alone.
    /// Updated in place.
    #[attr(required, validate = size_at_least(1))]
    pub(crate) vpcs: Attr<BTreeSet<ZoneVpc>>,
    /// VPCs of other accounts that may be associated with the zone. Their account then creates a
    /// `warren_aws_route53_zone_association`. Updated in place.
    #[attr(optional)]
    pub(crate) authorized_vpcs: Attr<BTreeSet<ZoneVpc>>,
    /// Comment, at most 256 characters. Updated in place. Defaults to `Managed by Warren`.
    #[attr(default = "Managed by Warren", validate = length_at_most(256))]
    pub(crate) comment: Attr<String>,
    /// Whether destroying the zone also deletes all of its records. A zone with records that are not destroyed first
    /// cannot be destroyed otherwise. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) force_destroy: Attr<bool>,
    /// Names of the zone's name servers.
    #[attr(computed, keeps)]
    pub(crate) name_servers: Attr<Vec<String>>,
    /// Amazon Resource Name (ARN) of the zone.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
    /// What an update removes.
    #[attr(skip)]
    pub(super) leaving: Leaving,
}

/// VPCs that the state before an update listed and the plan does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Leaving {
    pub(super) vpcs: BTreeSet<Place>,
    pub(super) authorized: BTreeSet<Place>,
}

impl HasShared for Zone {
    type Shared = AwsObject<Named, Global>;
}

/// The known VPCs of an attribute.
pub(super) fn places(aws: &Aws, vpcs: &Attr<BTreeSet<ZoneVpc>>) -> BTreeSet<Place> {
    vpcs.known().into_iter().flatten().filter_map(|vpc| vpc.place(aws)).collect()
}

/// The attribute for `live` VPCs that was `before`: what it lists, in the user's spelling; after an import, all.
pub(super) fn listed(
    aws: &Aws,
    live: BTreeSet<Place>,
    before: &Attr<BTreeSet<ZoneVpc>>,
) -> BTreeSet<ZoneVpc> {
    match before.known() {
        Some(before) => {
            let lives = |vpc: &&ZoneVpc| vpc.place(aws).is_some_and(|place| live.contains(&place));
            before.iter().filter(lives).cloned().collect()
        }
        None => live
            .into_iter()
            .map(|Place { vpc_id, region }| ZoneVpc {
                vpc_id: Attr::Known(vpc_id),
                region: Some(region).filter(|region| *region != aws.region).into(),
            })
            .collect(),
    }
}
