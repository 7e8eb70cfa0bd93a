//! Route 53 API calls for records.

use aws_sdk_route53::types::{
    AliasTarget, Change, ChangeAction, ChangeBatch, ResourceRecord, ResourceRecordSet, RrType,
};
use tf_provider_rs::Attr;
use warren_managed::{Failure, sets};

use super::model::{Alias, Record};
use crate::error::{ApiError, Named, Parsed};
use crate::route53::{absolute, change, once, same_name, spelled};
use crate::session::Aws;

const LIST: &str = "ListResourceRecordSets";
const CHANGE: &str = "ChangeResourceRecordSets";

/// `ZONE_NAME_TYPE`, as in hashicorp/aws.
pub(super) fn id(of: &Record) -> Result<String, ApiError> {
    let name = absolute(of.name.value()?);
    Ok(format!("{}_{}_{}", of.zone_id.value()?, name.trim_end_matches('.'), of.r#type.value()?))
}

/// The record set of the record; an error if it does not exist.
pub(super) async fn get(aws: &Aws, record: &Record) -> Result<ResourceRecordSet, ApiError> {
    let (name, kind) = (absolute(record.name.value()?), RrType::from(record.r#type.value()?.as_str()));
    let call = aws.route53().list_resource_record_sets().hosted_zone_id(&**record.zone_id.value()?);
    let call = call.start_record_name(&name).start_record_type(kind.clone()).max_items(1);
    let sets = call.send().await.named(LIST)?.resource_record_sets;
    let found = sets.into_iter().find(|set| set.r#type == kind && same_name(&set.name, &name));
    found.ok_or_else(|| ApiError::absent(LIST, &format!("{kind} {name}")))
}

/// The record as it is now; an error if it does not exist.
pub(super) async fn read(aws: &Aws, before: &Record) -> Result<Record, ApiError> {
    state(get(aws, before).await?, before)
}

/// The state of the record set that was found, based on `before`.
pub(super) fn state(set: ResourceRecordSet, before: &Record) -> Result<Record, ApiError> {
    let alias_before = before.alias.known();
    let alias = set.alias_target.map(|target| Alias {
        dns_name: spelled(
            &target.dns_name,
            &alias_before.map(|alias| alias.dns_name.clone()).unwrap_or_default(),
        ),
        zone_id: target.hosted_zone_id.into(),
        evaluate_target_health: target.evaluate_target_health.into(),
    });
    let values = set.resource_records.unwrap_or_default().into_iter().map(|record| record.value);
    let record = Record {
        zone_id: before.zone_id.clone(),
        name: spelled(&set.name, &before.name),
        r#type: Attr::Known(Some(set.r#type.as_str().to_owned()).parsed(LIST, "Type")?),
        ttl: set.ttl.filter(|_| alias.is_none()).into(),
        records: if alias.is_some() { Attr::Null } else { sets::of(values) },
        alias: alias.into(),
        part: before.part.clone(),
    };
    Ok(Record { part: before.part.found(&id(&record)?), ..record })
}

/// Whether two records answer the same.
pub(super) fn same(left: &Record, right: &Record) -> bool {
    let alias = |of: &Record| {
        let alias = of.alias.known()?;
        let name = alias.dns_name.known().map(|name| absolute(name));
        Some((name, alias.zone_id.known().cloned(), alias.evaluate_target_health.is_true()))
    };
    let plain = |of: &Record| (of.ttl.known().copied(), sets::known(&of.records));
    alias(left) == alias(right) && plain(left) == plain(right)
}

/// Creates the record, and returns the change. Fails if a record with this name and type exists.
pub(super) async fn create(aws: &Aws, planned: &Record) -> Result<Option<String>, ApiError> {
    let batch = batch(ChangeAction::Create, wanted(planned)?)?;
    let call = aws.route53().change_resource_record_sets().hosted_zone_id(&**planned.zone_id.value()?);
    let call = call.change_batch(batch).customize().config_override(once());
    Ok(change(call.send().await.named(CHANGE)?.change_info))
}

/// Overwrites the record, and returns the change.
pub(super) async fn write(aws: &Aws, planned: &Record) -> Result<Option<String>, ApiError> {
    let batch = batch(ChangeAction::Upsert, wanted(planned)?)?;
    let call = aws.route53().change_resource_record_sets().hosted_zone_id(&**planned.zone_id.value()?);
    Ok(change(call.change_batch(batch).send().await.named(CHANGE)?.change_info))
}

/// Deletes the record, and returns the change. The call must repeat all values, so it uses those that are live.
pub(super) async fn delete(aws: &Aws, record: &Record) -> Result<Option<String>, ApiError> {
    let Some(set) = ApiError::if_found(get(aws, record).await)? else { return Ok(None) };
    let call = aws.route53().change_resource_record_sets().hosted_zone_id(&**record.zone_id.value()?);
    let call = call.change_batch(batch(ChangeAction::Delete, set)?);
    match call.send().await.named(CHANGE) {
        Ok(answer) => Ok(change(answer.change_info)),
        // "Tried to delete resource record set [..] but it was not found", as in hashicorp/aws (`record.go`).
        Err(error) if error.code == "InvalidChangeBatch" && error.message.contains("not found") => Ok(None),
        Err(error) => ApiError::unless_gone(Err(error)).map(|()| None),
    }
}

fn batch(action: ChangeAction, set: ResourceRecordSet) -> Result<ChangeBatch, ApiError> {
    let change = Change::builder().action(action).resource_record_set(set).build();
    let batch = change.and_then(|change| ChangeBatch::builder().changes(change).build());
    batch.map_err(|error| ApiError::unsent(CHANGE, &error))
}

fn wanted(planned: &Record) -> Result<ResourceRecordSet, ApiError> {
    let unsent = |error| ApiError::unsent(CHANGE, &error);
    let mut set = ResourceRecordSet::builder()
        .name(absolute(planned.name.value()?))
        .r#type(RrType::from(planned.r#type.value()?.as_str()));
    if let Some(alias) = planned.alias.known() {
        let target = AliasTarget::builder()
            .dns_name(absolute(alias.dns_name.value()?))
            .hosted_zone_id(alias.zone_id.value()?)
            .evaluate_target_health(alias.evaluate_target_health.is_true());
        set = set.alias_target(target.build().map_err(unsent)?);
    } else {
        set = set.ttl(*planned.ttl.value()?);
        for value in sets::known(&planned.records) {
            set = set.resource_records(ResourceRecord::builder().value(value).build().map_err(unsent)?);
        }
    }
    set.build().map_err(unsent)
}
