//! Route 53 API calls for hosted zones.

use std::collections::BTreeSet;

use aws_sdk_route53::types::{
    Change, ChangeAction, ChangeBatch, HostedZone, HostedZoneConfig, RrType, Tag, TagResourceType,
};
use tf_provider_rs::Attr;
use warren_managed::Failure;

use super::model::{Zone, listed};
use crate::error::{ApiError, Named, OrMissing};
use crate::route53::{Place, absolute, bare, change, once, same_name, spelled};
use crate::session::Aws;
use crate::tags::{self, Tags};

const GET: &str = "GetHostedZone";
const LIST: &str = "ListHostedZonesByName";

/// IDs of the private zones of this fabric and owner with the planned name and domain.
pub(super) async fn find(aws: &Aws, planned: &Zone) -> Result<Vec<String>, ApiError> {
    let (name, domain) = (planned.object.name()?, planned.domain_name.value()?);
    let mark = aws.mark(name);
    let mut ids = Vec::new();
    for zone in named(aws, domain).await? {
        let private = zone.config.as_ref().is_some_and(|config| config.private_zone);
        if !private || !zone.caller_reference.starts_with(&mark) {
            continue;
        }
        let id = bare(&zone.id).to_owned();
        // A zone that was renamed since has the tags of its new name.
        let tags = ApiError::if_found(read_tags(aws, &id).await)?;
        if tags.is_some_and(|tags| !tags.contains_key(tags::NAME) || aws.owns(&tags, name)) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The zones of a domain.
async fn named(aws: &Aws, domain: &str) -> Result<Vec<HostedZone>, ApiError> {
    let route53 = aws.route53();
    let mut found = Vec::new();
    let mut next = (Some(absolute(domain)), None);
    loop {
        let call = route53.list_hosted_zones_by_name().set_dns_name(next.0).set_hosted_zone_id(next.1);
        let answer = call.send().await.named(LIST)?;
        let (same, other): (Vec<_>, Vec<_>) =
            answer.hosted_zones.into_iter().partition(|zone| same_name(&zone.name, domain));
        found.extend(same);
        // The list is ordered by name.
        if !answer.is_truncated || !other.is_empty() || answer.next_dns_name.is_none() {
            return Ok(found);
        }
        next = (answer.next_dns_name, answer.next_hosted_zone_id);
    }
}

/// Creates a zone with its first VPC, and returns its ID and the change. A retry with the same reference does not create a
/// second zone, but is refused (`HostedZoneAlreadyExists`).
pub(super) async fn create(
    aws: &Aws,
    planned: &Zone,
    first: &Place,
) -> Result<(String, Option<String>), ApiError> {
    const OPERATION: &str = "CreateHostedZone";
    let config = HostedZoneConfig::builder().private_zone(true).set_comment(planned.comment.known().cloned());
    let call = aws
        .route53()
        .create_hosted_zone()
        .name(absolute(planned.domain_name.value()?))
        .caller_reference(aws.reference(planned.object.name()?))
        .hosted_zone_config(config.build())
        .vpc(first.to_sdk());
    let made = call.customize().config_override(once()).send().await.named(OPERATION)?;
    let zone = made.hosted_zone.or_missing(OPERATION, "HostedZone")?;
    Ok((bare(&zone.id).to_owned(), change(made.change_info)))
}

/// A zone as it is now, with what no attribute shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Zone,
    /// All associated VPCs.
    pub(super) vpcs: BTreeSet<Place>,
    /// All authorized VPCs, if they were read.
    pub(super) authorized: BTreeSet<Place>,
}

/// The zone of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Zone) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let answer = aws.route53().get_hosted_zone().id(id).send().await.named(GET)?;
    let zone = answer.hosted_zone.or_missing(GET, "HostedZone")?;
    let vpcs: Result<_, _> = answer.vpcs.iter().flatten().map(|vpc| Place::of(vpc, GET)).collect();
    let asked = before.authorized_vpcs.is_known() || !before.leaving.authorized.is_empty();
    let details = Details {
        vpcs: vpcs?,
        authorized: if asked { authorizations(aws, id).await? } else { BTreeSet::new() },
        name_servers: name_servers(aws, id, &zone.name).await?,
        tags: read_tags(aws, id).await?,
        zone,
    };
    Ok(found(aws, details, before))
}

/// A zone with what further calls return.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Details {
    pub(super) zone: HostedZone,
    pub(super) vpcs: BTreeSet<Place>,
    pub(super) authorized: BTreeSet<Place>,
    pub(super) name_servers: Vec<String>,
    pub(super) tags: Tags,
}

pub(super) fn found(aws: &Aws, details: Details, before: &Zone) -> Found {
    let Details { zone, vpcs, authorized, name_servers, tags } = details;
    let id = bare(&zone.id);
    let asked = before.authorized_vpcs.is_known();
    let state = Zone {
        object: before.object.found(aws, id, &tags),
        domain_name: spelled(&zone.name, &before.domain_name),
        vpcs: Attr::Known(listed(aws, vpcs.clone(), &before.vpcs)),
        authorized_vpcs: asked.then(|| listed(aws, authorized.clone(), &before.authorized_vpcs)).into(),
        comment: zone.config.and_then(|config| config.comment).unwrap_or_default().into(),
        force_destroy: before.force_destroy.is_true().into(),
        name_servers: name_servers.into(),
        arn: aws.zone_arn(id).into(),
        leaving: before.leaving.clone(),
    };
    Found { state, vpcs, authorized }
}

/// The name servers. GetHostedZone returns those of public zones only; hashicorp/aws reads the record as well.
async fn name_servers(aws: &Aws, id: &str, domain: &str) -> Result<Vec<String>, ApiError> {
    const OPERATION: &str = "ListResourceRecordSets";
    let call = aws.route53().list_resource_record_sets().hosted_zone_id(id);
    let call = call.start_record_name(domain).start_record_type(RrType::Ns).max_items(1);
    let sets = call.send().await.named(OPERATION)?.resource_record_sets;
    let own = sets.into_iter().find(|set| set.r#type == RrType::Ns && same_name(&set.name, domain));
    let records = own.and_then(|set| set.resource_records).unwrap_or_default();
    let mut names: Vec<String> =
        records.into_iter().map(|record| record.value.trim_end_matches('.').to_owned()).collect();
    names.sort();
    Ok(names)
}

async fn read_tags(aws: &Aws, id: &str) -> Result<Tags, ApiError> {
    const OPERATION: &str = "ListTagsForResource";
    let call =
        aws.route53().list_tags_for_resource().resource_type(TagResourceType::Hostedzone).resource_id(id);
    let set = call.send().await.named(OPERATION)?.resource_tag_set.or_missing(OPERATION, "ResourceTagSet")?;
    let pair = |tag: Tag| Some((tag.key?, tag.value.unwrap_or_default()));
    Ok(set.tags.into_iter().flatten().filter_map(pair).collect())
}

/// Reconciles the tags. One call takes at most 10 tags in each direction.
pub(super) async fn retag(aws: &Aws, id: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    const MOST: usize = 10;
    let (set, unset) = aws.difference(have, want);
    let set: Vec<Tag> =
        set.into_iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
    let unset: Vec<String> = unset.into_iter().collect();
    let route53 = aws.route53();
    let call =
        || route53.change_tags_for_resource().resource_type(TagResourceType::Hostedzone).resource_id(id);
    for keys in unset.chunks(MOST) {
        call().set_remove_tag_keys(Some(keys.to_vec())).send().await.named("ChangeTagsForResource")?;
    }
    for tags in set.chunks(MOST) {
        call().set_add_tags(Some(tags.to_vec())).send().await.named("ChangeTagsForResource")?;
    }
    Ok(())
}

pub(super) async fn set_comment(aws: &Aws, id: &str, comment: &str) -> Result<(), ApiError> {
    let call = aws.route53().update_hosted_zone_comment().id(id).comment(comment);
    call.send().await.named("UpdateHostedZoneComment").map(drop)
}

/// The VPCs of a zone.
pub(super) async fn vpcs(aws: &Aws, id: &str) -> Result<BTreeSet<Place>, ApiError> {
    let answer = aws.route53().get_hosted_zone().id(id).send().await.named(GET)?;
    answer.vpcs.iter().flatten().map(|vpc| Place::of(vpc, GET)).collect()
}

/// Associates a VPC, and returns the change. Repeating this after a lost response is refused
/// (`ConflictingDomainExists`), so it does not repeat itself.
pub(crate) async fn associate(aws: &Aws, id: &str, vpc: &Place) -> Result<Option<String>, ApiError> {
    let call = aws.route53().associate_vpc_with_hosted_zone().hosted_zone_id(id).vpc(vpc.to_sdk());
    let answer = call.customize().config_override(once()).send().await;
    Ok(change(answer.named("AssociateVPCWithHostedZone")?.change_info))
}

/// Disassociates a VPC, and returns the change. An association that does not exist is a success, also that of a VPC
/// that was deleted.
pub(crate) async fn disassociate(aws: &Aws, id: &str, vpc: &Place) -> Result<Option<String>, ApiError> {
    let call = aws.route53().disassociate_vpc_from_hosted_zone().hosted_zone_id(id).vpc(vpc.to_sdk());
    let answer = ApiError::if_found(call.send().await.named("DisassociateVPCFromHostedZone"))?;
    Ok(change(answer.and_then(|answer| answer.change_info)))
}

async fn authorizations(aws: &Aws, id: &str) -> Result<BTreeSet<Place>, ApiError> {
    const OPERATION: &str = "ListVPCAssociationAuthorizations";
    let route53 = aws.route53();
    let mut vpcs = BTreeSet::new();
    let mut next = None;
    loop {
        let call = route53.list_vpc_association_authorizations().hosted_zone_id(id).set_next_token(next);
        let answer = call.send().await.named(OPERATION)?;
        for vpc in &answer.vpcs {
            vpcs.insert(Place::of(vpc, OPERATION)?);
        }
        next = answer.next_token;
        if next.is_none() {
            return Ok(vpcs);
        }
    }
}

/// Lets the account of a VPC associate it. Repeating this changes nothing.
pub(super) async fn authorize(aws: &Aws, id: &str, vpc: &Place) -> Result<(), ApiError> {
    let call = aws.route53().create_vpc_association_authorization().hosted_zone_id(id).vpc(vpc.to_sdk());
    call.send().await.named("CreateVPCAssociationAuthorization").map(drop)
}

pub(super) async fn revoke(aws: &Aws, id: &str, vpc: &Place) -> Result<(), ApiError> {
    let call = aws.route53().delete_vpc_association_authorization().hosted_zone_id(id).vpc(vpc.to_sdk());
    ApiError::unless_gone(call.send().await.named("DeleteVPCAssociationAuthorization").map(drop))
}

/// Deletes up to 100 records other than those that every zone has. Returns the change; `None` if there were none.
pub(super) async fn clear(aws: &Aws, id: &str, domain: &str) -> Result<Option<Option<String>>, ApiError> {
    const LIST: &str = "ListResourceRecordSets";
    const CHANGE: &str = "ChangeResourceRecordSets";
    let route53 = aws.route53();
    let answer =
        route53.list_resource_record_sets().hosted_zone_id(id).max_items(100).send().await.named(LIST)?;
    let kept = |kind: &RrType| matches!(kind, RrType::Ns | RrType::Soa);
    let unsent = |error| ApiError::unsent(CHANGE, &error);
    let doomed = answer.resource_record_sets.into_iter();
    let doomed = doomed.filter(|set| !(kept(&set.r#type) && same_name(&set.name, domain)));
    let changes: Vec<Change> = doomed
        .map(|set| Change::builder().action(ChangeAction::Delete).resource_record_set(set).build())
        .collect::<Result<_, _>>()
        .map_err(unsent)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let batch = ChangeBatch::builder().set_changes(Some(changes)).build().map_err(unsent)?;
    let call = route53.change_resource_record_sets().hosted_zone_id(id).change_batch(batch);
    Ok(Some(change(call.send().await.named(CHANGE)?.change_info)))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.route53().delete_hosted_zone().id(id).send().await.named("DeleteHostedZone").map(drop)
}
