//! Access Context Manager API calls for perimeters.

use google_cloud_identity_accesscontextmanager_v1::model;
use google_cloud_identity_accesscontextmanager_v1::model::service_perimeter::PerimeterType;
use google_cloud_wkt::FieldMask;
use tf_provider_rs::Attr;

use super::model::{Config, ServicePerimeter, parts, policy};
use super::{config, unknown};
use crate::account::Gcp;
use crate::begun::Begun;
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _};
use crate::marker;

const GET: &str = "servicePerimeters.get";
const PATCH: &str = "servicePerimeters.patch";

/// Finds the perimeter of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &ServicePerimeter) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    planned.adoptable(gcp, Some(&found.description), || Ok(true))
}

/// Starts creating a perimeter and returns its ID.
pub(super) async fn create(
    gcp: &Gcp,
    planned: &ServicePerimeter,
    description: &str,
) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let configured = |config| config::normal(config).as_ref().map(config::written).transpose();
    let body = titled(model::ServicePerimeter::new().set_name(&id), planned, description)?
        .set_perimeter_type(PerimeterType::Regular)
        .set_or_clear_status(configured(&planned.status)?)
        .set_or_clear_spec(configured(&planned.spec)?);
    let call = gcp.clients.perimeters().await?.create_service_perimeter();
    let call = call.set_parent(policy(planned.access_policy.value()?)).set_service_perimeter(body);
    let operation = call.send().await.named("servicePerimeters.create")?;
    gcp.began(&id, Begun::in_perimeters("servicePerimeters.create", operation.name)?);
    Ok(id)
}

/// Starts updating the perimeter if it differs from the plan.
///
/// The request contains the perimeter as it was read, including its etag, which this client keeps among its unknown fields.
/// Google rejects the request if the perimeter has changed in between.
pub(super) async fn update(gcp: &Gcp, want: &ServicePerimeter) -> Result<Option<Begun>, ApiError> {
    let found = fetch(gcp, want.object.id()?).await?;
    let marks = want.marks(gcp)?;
    let changed = [
        ("title", Some(&found.title) != want.title.known()),
        ("description", !marker::is_current(Some(&found.description), &marks, &want.object.mark.description)),
        ("status", status(&found)? != config::normal(&want.status)),
        ("spec", spec(&found)? != config::normal(&want.spec)),
        ("use_explicit_dry_run_spec", found.use_explicit_dry_run_spec != is_dry_run(want)),
    ];
    let paths: Vec<&str> =
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let mut body = titled(found.clone(), want, &marks)?;
    // The request replaces these as a whole.
    if paths.contains(&"status") {
        body = body.set_or_clear_status(configured("status", found.status.as_ref(), &want.status)?);
    }
    if paths.contains(&"spec") {
        body = body.set_or_clear_spec(configured("spec", found.spec.as_ref(), &want.spec)?);
    }
    let call = gcp.clients.perimeters().await?.update_service_perimeter().set_service_perimeter(body);
    let operation = call.set_update_mask(FieldMask::default().set_paths(paths)).send().await.named(PATCH)?;
    Begun::in_perimeters(PATCH, operation.name).map(Some)
}

/// The planned configuration, with what the resource does not know of the current one.
///
/// # Errors
/// The current one has settings that the resource does not know, such as `egressFrom.sources`, and that the planned one would
/// erase.
pub(super) fn configured(
    name: &str,
    current: Option<&model::ServicePerimeterConfig>,
    want: &Attr<Config>,
) -> Result<Option<model::ServicePerimeterConfig>, ApiError> {
    match (current, config::normal(want)) {
        (Some(current), Some(want)) => {
            let (new, erased) = config::over(GET, current, &want)?;
            refuse_unknown(name, &erased).map(|()| Some(new))
        }
        (Some(current), None) => refuse_unknown(name, current).map(|()| None),
        (None, want) => want.as_ref().map(config::written).transpose(),
    }
}

/// An error if a configuration has settings that the resource does not know.
fn refuse_unknown(name: &str, current: &model::ServicePerimeterConfig) -> Result<(), ApiError> {
    let json = |config| serde_json::to_value(config).map_err(|error| ApiError::unsent(PATCH, &error));
    let known = config::read(GET, current)?.as_ref().map(config::written).transpose()?.unwrap_or_default();
    let unknown = unknown::paths(name, &json(current)?, &json(&known)?);
    if unknown.is_empty() { Ok(()) } else { Err(ApiError::would_erase(PATCH, &unknown)) }
}

/// Reads the perimeter; not found is an error, and so is a bridge.
pub(super) async fn get(gcp: &Gcp, before: &ServicePerimeter) -> Result<ServicePerimeter, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let call = gcp.clients.perimeters().await?.delete_service_perimeter().set_name(id);
    let operation = call.send().await.named("servicePerimeters.delete")?;
    Begun::in_perimeters("servicePerimeters.delete", operation.name)
}

/// Reads the perimeter `id`; a bridge, which has no rules of its own, is an error.
async fn fetch(gcp: &Gcp, id: &str) -> Result<model::ServicePerimeter, ApiError> {
    parts(id).ok_or_else(|| ApiError::absent(GET, id))?;
    let found =
        gcp.clients.perimeters().await?.get_service_perimeter().set_name(id).send().await.named(GET)?;
    if found.perimeter_type == PerimeterType::Regular { Ok(found) } else { Err(ApiError::bridge(GET, id)) }
}

/// The perimeter with the planned settings, except its configurations.
fn titled(
    perimeter: model::ServicePerimeter,
    want: &ServicePerimeter,
    description: &str,
) -> Result<model::ServicePerimeter, ApiError> {
    Ok(perimeter
        .set_title(want.title.value()?)
        .set_description(description)
        .set_use_explicit_dry_run_spec(is_dry_run(want)))
}

fn is_dry_run(perimeter: &ServicePerimeter) -> bool {
    config::normal(&perimeter.spec).is_some()
}

fn status(found: &model::ServicePerimeter) -> Result<Option<Config>, ApiError> {
    found.status.as_ref().map_or(Ok(None), |status| config::read(GET, status))
}

fn spec(found: &model::ServicePerimeter) -> Result<Option<Config>, ApiError> {
    let spec = found.spec.as_ref().filter(|_| found.use_explicit_dry_run_spec);
    spec.map_or(Ok(None), |spec| config::read(GET, spec))
}

/// The state of a perimeter as the API returns it, whose ID and timeouts are those of `before`.
pub(super) fn state(
    found: &model::ServicePerimeter,
    before: &ServicePerimeter,
) -> Result<ServicePerimeter, ApiError> {
    let (policy, name) = parts(&found.name).or_missing(GET, "name")?;
    Ok(ServicePerimeter {
        object: before.object.found(name, Some(found.description.as_str()).into()),
        access_policy: policy.into(),
        title: found.title.clone().or_missing(GET, "title")?.into(),
        status: config::kept(&before.status, status(found)?),
        spec: config::kept(&before.spec, spec(found)?),
    })
}
