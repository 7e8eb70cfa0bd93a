//! Secret Manager calls for configurations.

use warren_gateways::grants::Identity;
use warren_managed::sets;

use super::model::GatewayConfig;
use crate::account::Gcp;
use crate::error::ApiError;
use crate::secret::{self, Replicas, Secret};

/// Adds the planned content.
pub(super) async fn add(gcp: &Gcp, planned: &GatewayConfig) -> Result<(), ApiError> {
    let text = planned.file.text(Identity::Google)?;
    secret::add(gcp, planned.object.id()?, &text, "configuration of a Warren gateway").await
}

/// The configuration of `before` as it is now, with its latest content if that is enabled; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &GatewayConfig) -> Result<GatewayConfig, ApiError> {
    let id = before.object.id()?;
    let secret = secret::get(gcp, id).await?;
    let mut last = None;
    if let Some(version) = secret::last(gcp, &secret).await?.filter(|version| version.enabled) {
        let (number, text) = secret::read(gcp, id, &version.number.to_string()).await?;
        last = Some((number, text.to_string()));
    }
    Ok(state(secret, last, before))
}

/// The state of the secret that was found with its latest version and content, based on `before`.
pub(super) fn state(secret: Secret, last: Option<(i64, String)>, before: &GatewayConfig) -> GatewayConfig {
    let (version, text) = last.unzip();
    let locations = &before.replicas.replica_locations;
    GatewayConfig {
        object: before.object.found(secret.name, before.object.mark.found(&secret.labels)),
        file: before.file.found(text, version, Identity::Google),
        replicas: Replicas { replica_locations: sets::found(secret.store.locations, locations) },
    }
}
