//! Artifact Registry API calls for repositories.

use std::collections::BTreeMap;

use google_cloud_artifactregistry_v1::model;
use google_cloud_artifactregistry_v1::model::repository::vulnerability_scanning_config::EnablementConfig;
use google_cloud_artifactregistry_v1::model::repository::{
    DockerRepositoryConfig, VulnerabilityScanningConfig,
};
use google_cloud_wkt::FieldMask;
use tf_provider_rs::Attr;

use super::cleanup::Cleanup;
use super::model::{Format, Repository};
use crate::account::Gcp;
use crate::begun::Begun;
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, Parsed as _, non_empty};
use crate::{labels, link};

const GET: &str = "repositories.get";

/// Finds the repository of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Repository) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let labels = found.labels.clone().into_iter().collect();
    labels::adoptable(gcp, planned, &labels, || {
        let mut before = planned.clone();
        before.object.id = id.into();
        let have = state(&found, &before)?;
        Ok((&have.format, &have.kms_key_name) == (&planned.format, &planned.kms_key_name))
    })
}

/// Starts creating a repository and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Repository) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let parent = format!("projects/{}/locations/{}", gcp.project, planned.location.value()?);
    let format = *planned.format.value()?;
    let mut body = body(gcp, planned)?
        .set_format(format.as_str())
        .set_kms_key_name(or_empty(&planned.kms_key_name))
        .set_cleanup_policies(Cleanup::wanted(planned).policies());
    if format == Format::Docker {
        body = body.set_docker_config(docker(planned)).set_vulnerability_scanning_config(scanning(planned));
    }
    let call = gcp.clients.artifacts().await?.create_repository().set_parent(parent);
    let call = call.set_repository_id(planned.object.name()?).set_repository(body);
    let operation = call.send().await.named("repositories.create")?;
    gcp.began(&id, Begun::in_registry("repositories.create", operation.name)?);
    Ok(id)
}

/// Updates the repository if it differs from the plan.
pub(super) async fn update(gcp: &Gcp, want: &Repository) -> Result<(), ApiError> {
    let id = want.object.id()?;
    let found = fetch(gcp, id).await?;
    let have = state(&found, want)?;
    let is_docker = have.format == Format::Docker.into();
    let wanted = labels::all(gcp, want)?;
    let mut body = body(gcp, want)?.set_name(id);
    let mut paths = Vec::new();
    if have.description != want.description {
        paths.push("description");
    }
    if found.labels.into_iter().collect::<BTreeMap<_, _>>() != wanted {
        paths.push("labels");
    }
    if is_docker && have.immutable_tags != want.immutable_tags {
        paths.push("docker_config.immutable_tags");
        body = body.set_docker_config(docker(want));
    }
    if is_docker && have.scan_on_push != want.scan_on_push {
        paths.push("vulnerability_scanning_config.enablement_config");
        body = body.set_vulnerability_scanning_config(scanning(want));
    }
    let cleanup = Cleanup::wanted(want);
    if Cleanup::found(&found.cleanup_policies) != cleanup {
        paths.push("cleanup_policies");
        body = body.set_cleanup_policies(cleanup.policies());
    }
    if paths.is_empty() {
        return Ok(());
    }
    let mask = FieldMask::default().set_paths(paths);
    let call = gcp.clients.artifacts().await?.update_repository().set_repository(body).set_update_mask(mask);
    call.send().await.named("repositories.patch").map(drop)
}

/// Reads the repository; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Repository) -> Result<Repository, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let call = gcp.clients.artifacts().await?.delete_repository().set_name(id);
    let operation = call.send().await.named("repositories.delete")?;
    Begun::in_registry("repositories.delete", operation.name)
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Repository, ApiError> {
    link::regional(GET, id)?;
    gcp.clients.artifacts().await?.get_repository().set_name(id).send().await.named(GET)
}

fn body(gcp: &Gcp, planned: &Repository) -> Result<model::Repository, ApiError> {
    let labels = labels::all(gcp, planned)?;
    Ok(model::Repository::new().set_description(or_empty(&planned.description)).set_labels(labels))
}

/// A text of a protobuf message, in which an empty one means none.
fn or_empty(text: &Attr<String>) -> &str {
    text.known().map_or("", String::as_str)
}

fn docker(planned: &Repository) -> DockerRepositoryConfig {
    DockerRepositoryConfig::new().set_immutable_tags(planned.immutable_tags.is_true())
}

fn scanning(planned: &Repository) -> VulnerabilityScanningConfig {
    let scanned = planned.scan_on_push.is_true();
    let config = if scanned { EnablementConfig::Inherited } else { EnablementConfig::Disabled };
    VulnerabilityScanningConfig::new().set_enablement_config(config)
}

/// The state of a repository as the API returns it, whose ID and timeouts are those of `before`.
fn state(found: &model::Repository, before: &Repository) -> Result<Repository, ApiError> {
    let (project, location, name) = link::regional(GET, before.object.id()?)?;
    let format: Format = found.format.name().parsed(GET, "format")?;
    // Only images have tags and are scanned; for other packages the settings have no effect.
    let of_images = |found: bool, before: Attr<bool>| match before {
        Attr::Known(before) if format != Format::Docker => before.into(),
        _ => (found || format != Format::Docker).into(),
    };
    let scanning = found.vulnerability_scanning_config.as_ref();
    let scanned = scanning.is_none_or(|config| config.enablement_config != EnablementConfig::Disabled);
    let uri = non_empty(found.registry_uri.clone());
    Ok(Repository {
        object: before.object.found(&name, before.object.mark.found(&found.labels)),
        format: format.into(),
        immutable_tags: of_images(
            found.docker_config().is_some_and(|docker| docker.immutable_tags),
            before.immutable_tags,
        ),
        scan_on_push: of_images(scanned, before.scan_on_push),
        keep_last_versions: Cleanup::found(&found.cleanup_policies).count().into(),
        kms_key_name: non_empty(found.kms_key_name.clone()).into(),
        description: non_empty(found.description.clone()).into(),
        registry_uri: uri
            .unwrap_or_else(|| {
                format!("{location}-{}.pkg.dev/{project}/{name}", format.as_str().to_lowercase())
            })
            .into(),
        location: location.into(),
    })
}
