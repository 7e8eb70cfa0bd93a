//! Route 53 API calls for associations of VPCs with zones.

use aws_sdk_route53::types::VpcRegion;
use tf_provider_rs::Attr;

use super::model::Association;
use crate::error::{ApiError, Named, Parsed};
use crate::route53::{Place, bare};
use crate::session::Aws;

const LIST: &str = "ListHostedZonesByVPC";

/// The VPC of an association.
pub(super) fn place(of: &Association) -> Result<Place, ApiError> {
    Ok(Place { vpc_id: of.vpc_id.value()?.clone(), region: of.vpc_region.value()?.clone() })
}

/// The association as it is now; an error if it does not exist. The account of the VPC may list the zones of the VPC,
/// but not read a zone of another account.
pub(super) async fn get(aws: &Aws, before: &Association) -> Result<Association, ApiError> {
    let (place, zone) = (place(before)?, before.zone_id.value()?);
    let route53 = aws.route53();
    let mut next = None;
    loop {
        let region = VpcRegion::from(place.region.as_str());
        let call = route53.list_hosted_zones_by_vpc().vpc_id(&*place.vpc_id).vpc_region(region);
        let answer = match call.set_next_token(next).send().await.named(LIST) {
            // The answer for a VPC that was deleted, as in hashicorp/aws (`zone_association.go`).
            Err(error) if error.code == "AccessDenied" && error.message.contains("is not owned by you") => {
                return Err(ApiError::absent(LIST, before.part.id()?));
            }
            answer => answer?,
        };
        if let Some(found) =
            answer.hosted_zone_summaries.into_iter().find(|one| bare(&one.hosted_zone_id) == &**zone)
        {
            let owner = found.owner.and_then(|owner| owner.owning_account);
            let owning_account: Attr<_> = owner.parsed_if_set(LIST, "OwningAccount")?.into();
            return Ok(Association {
                owning_account,
                part: before.part.found(&id(before)?),
                ..before.clone()
            });
        }
        next = answer.next_token;
        if next.is_none() {
            return Err(ApiError::absent(LIST, before.part.id()?));
        }
    }
}

/// `ZONE:VPC:REGION`, as in hashicorp/aws.
pub(super) fn id(of: &Association) -> Result<String, ApiError> {
    let Place { vpc_id, region } = place(of)?;
    Ok(format!("{}:{vpc_id}:{region}", of.zone_id.value()?))
}
