//! Cloud DNS API calls for record sets.
//!
//! The methods of `resourceRecordSets` change one record set and answer when it is stored; the older `changes` are
//! transactions over several.

use google_cloud_dns_v1::model;
use google_cloud_gax::options::RequestOptionsBuilder as _;
use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::{RecordSet, id};
use crate::account::Gcp;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _};
use crate::link::{Link, Reference as _};

const GET: &str = "resourceRecordSets.get";

/// Finds the records if an interrupted create left them: a record set has no mark of its owner, so only one with the
/// planned contents is a leftover.
pub(super) async fn find(gcp: &Gcp, planned: &RecordSet) -> Result<Vec<String>, ApiError> {
    let Some(have) = ApiError::if_found(get(gcp, planned).await)? else { return Ok(Vec::new()) };
    let id = id(planned.zone.value()?, planned.object.name()?, *planned.r#type.value()?);
    if have.ttl == planned.ttl && sets::known(&have.rrdatas) == sets::known(&planned.rrdatas) {
        return Ok(vec![id]);
    }
    Err(ApiError::taken("resourceRecordSets.create", format!("{id} already exists with other contents")))
}

/// Creates the records and returns their ID.
pub(super) async fn create(gcp: &Gcp, planned: &RecordSet) -> Result<String, ApiError> {
    let zone = planned.zone.value()?;
    let Link { project, name, .. } = zone.link();
    let call = gcp.clients.dns_records().await?.create().set_project(project).set_managed_zone(name);
    call.set_body(body(planned)?).send().await.named("resourceRecordSets.create")?;
    Ok(id(zone, planned.object.name()?, *planned.r#type.value()?))
}

/// Updates the records if they differ from the plan.
pub(super) async fn update(gcp: &Gcp, want: &RecordSet) -> Result<(), ApiError> {
    let have = get(gcp, want).await?;
    if have.ttl == want.ttl && sets::known(&have.rrdatas) == sets::known(&want.rrdatas) {
        return Ok(());
    }
    let Link { project, name, .. } = want.zone.value()?.link();
    let call = gcp.clients.dns_records().await?.patch().set_project(project).set_managed_zone(name);
    let call = call.set_name(want.object.name()?).set_type(want.r#type.value()?.as_str());
    let call = call.set_body(body(want)?).with_idempotency(true);
    call.send().await.named("resourceRecordSets.patch").map(drop)
}

/// Reads the records; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &RecordSet) -> Result<RecordSet, ApiError> {
    let Link { project, name, .. } = before.zone.value()?.link();
    let call = gcp.clients.dns_records().await?.get().set_project(project).set_managed_zone(name);
    let call = call.set_name(before.object.name()?).set_type(before.r#type.value()?.as_str());
    state(call.send().await.named(GET)?, before)
}

pub(super) async fn delete(gcp: &Gcp, records: &RecordSet) -> Result<(), ApiError> {
    let Link { project, name, .. } = records.zone.value()?.link();
    let call = gcp.clients.dns_records().await?.delete().set_project(project).set_managed_zone(name);
    let call = call.set_name(records.object.name()?).set_type(records.r#type.value()?.as_str());
    call.send().await.named("resourceRecordSets.delete").map(drop)
}

fn body(planned: &RecordSet) -> Result<model::ResourceRecordSet, ApiError> {
    Ok(model::ResourceRecordSet::new()
        .set_name(planned.object.name()?)
        .set_type(planned.r#type.value()?.as_str())
        .set_ttl(*planned.ttl.value()?)
        .set_rrdatas(sets::known(&planned.rrdatas)))
}

/// The state of the records as the API returns them; ID, zone and timeouts are those of `before`.
fn state(found: model::ResourceRecordSet, before: &RecordSet) -> Result<RecordSet, ApiError> {
    Ok(RecordSet {
        object: before.object.clone(),
        zone: before.zone.clone(),
        r#type: before.r#type,
        ttl: Attr::Known(found.ttl.or_missing(GET, "ttl")?),
        rrdatas: sets::of(found.rrdatas),
    })
}
