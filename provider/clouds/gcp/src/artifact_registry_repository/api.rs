//! Artifact Registry API calls for repositories.

use std::collections::BTreeMap;

use google_cloud_artifactregistry_v1::model;
use google_cloud_artifactregistry_v1::model::repository::vulnerability_scanning_config::EnablementConfig;
use google_cloud_artifactregistry_v1::model::repository::{
    DockerRepositoryConfig, VulnerabilityScanningConfig,
};
use google_cloud_wkt::FieldMask;

use super::cleanup::Cleanup;
use super::schema::Repository;
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _};
use crate::labels;
use crate::link::{self, Link};
use crate::operation::Begun;
use crate::session::Gcp;

/// A repository as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) location: String,
    pub(super) format: String,
    pub(super) immutable_tags: bool,
    pub(super) scanned: bool,
    pub(super) cleanup: Cleanup,
    pub(super) kms_key: String,
    pub(super) description: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) uri: String,
}

/// Finds the repository of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Repository) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = found.format == planned.format.text() && found.kms_key == planned.kms_key_name.text();
    labels::adoptable(gcp, planned, &found.labels, same)
}

/// Starts creating a repository and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Repository) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let parent = format!("projects/{}/locations/{}", gcp.project, planned.location.text());
    let mut body =
        body(gcp, planned).set_format(planned.format.text()).set_kms_key_name(planned.kms_key_name.text());
    if planned.format.text() == "DOCKER" {
        body = body.set_docker_config(docker(planned)).set_vulnerability_scanning_config(scanning(planned));
    }
    body = body.set_cleanup_policies(Cleanup::wanted(planned).policies());
    let call = gcp.clients.artifacts.create_repository().set_parent(parent);
    let call = call.set_repository_id(planned.name.text()).set_repository(body);
    let operation = call.send().await.named("repositories.create")?;
    gcp.began(&id, Begun::in_registry("repositories.create", operation.name));
    Ok(id)
}

/// Updates the repository if it differs from the plan.
pub(super) async fn update(gcp: &Gcp, id: &str, want: &Repository) -> Result<(), ApiError> {
    let have = get(gcp, id).await?;
    let docker_repository = have.format == "DOCKER";
    let mut paths = Vec::new();
    let mut body = body(gcp, want).set_name(id);
    if have.description != want.description.text() {
        paths.push("description");
    }
    if have.labels != labels::all(gcp, want) {
        paths.push("labels");
    }
    if docker_repository && have.immutable_tags != want.immutable_tags.is_true() {
        paths.push("docker_config.immutable_tags");
        body = body.set_docker_config(docker(want));
    }
    if docker_repository && have.scanned != want.scan_on_push.is_true() {
        paths.push("vulnerability_scanning_config.enablement_config");
        body = body.set_vulnerability_scanning_config(scanning(want));
    }
    let cleanup = Cleanup::wanted(want);
    if have.cleanup != cleanup {
        paths.push("cleanup_policies");
        body = body.set_cleanup_policies(cleanup.policies());
    }
    if paths.is_empty() {
        return Ok(());
    }
    let mask = FieldMask::default().set_paths(paths);
    let call = gcp.clients.artifacts.update_repository().set_repository(body).set_update_mask(mask);
    call.send().await.named("repositories.patch").map(drop)
}

/// Reads the repository `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let link = link::parsed("repositories.get", id)?;
    let call = gcp.clients.artifacts.get_repository().set_name(id);
    let repository = call.send().await.named("repositories.get")?;
    let immutable_tags = repository.docker_config().is_some_and(|docker| docker.immutable_tags);
    let scanning = repository.vulnerability_scanning_config.as_ref();
    let scanned = scanning.is_none_or(|config| config.enablement_config != EnablementConfig::Disabled);
    let Link { project, name, .. } = &link;
    let format = repository.format.name().unwrap_or_default().to_owned();
    let uri = if repository.registry_uri.is_empty() {
        format!("{}-{}.pkg.dev/{project}/{name}", link.region(), format.to_lowercase())
    } else {
        repository.registry_uri
    };
    Ok(Found {
        id: id.to_owned(),
        name: link.name.clone(),
        location: link.region().to_owned(),
        immutable_tags,
        scanned,
        cleanup: Cleanup::found(&repository.cleanup_policies),
        kms_key: repository.kms_key_name,
        description: repository.description,
        labels: repository.labels.into_iter().collect(),
        uri,
        format,
    })
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let call = gcp.clients.artifacts.delete_repository().set_name(id);
    let operation = call.send().await.named("repositories.delete")?;
    Ok(Begun::in_registry("repositories.delete", operation.name))
}

fn body(gcp: &Gcp, planned: &Repository) -> model::Repository {
    model::Repository::new().set_description(planned.description.text()).set_labels(labels::all(gcp, planned))
}

fn docker(planned: &Repository) -> DockerRepositoryConfig {
    DockerRepositoryConfig::new().set_immutable_tags(planned.immutable_tags.is_true())
}

fn scanning(planned: &Repository) -> VulnerabilityScanningConfig {
    let scanned = planned.scan_on_push.is_true();
    let config = if scanned { EnablementConfig::Inherited } else { EnablementConfig::Disabled };
    VulnerabilityScanningConfig::new().set_enablement_config(config)
}
