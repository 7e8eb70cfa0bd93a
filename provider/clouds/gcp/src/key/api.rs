//! Secret Manager calls for keys.

use warren_gateways::key::{KeyAttributes, Note};
use warren_managed::sets;

use super::model::{Key, Named};
use crate::account::Gcp;
use crate::error::ApiError;
use crate::secret::{self, Replicas, Secret, Version};

/// Generates a key and adds it; the private key is zeroised when this returns.
pub(super) async fn add<K: Named>(gcp: &Gcp, planned: &Key<K>) -> Result<(), ApiError> {
    let made = planned.key.make();
    let (payload, note) = made.map_err(|error| ApiError::unsent("secrets.addVersion", &error))?;
    secret::add(gcp, planned.object.id()?, &payload, &note.to_string()).await
}

/// The key of `before` as it is now; not found is an error.
pub(super) async fn get<K: Named>(gcp: &Gcp, before: &Key<K>) -> Result<Key<K>, ApiError> {
    let secret = secret::get(gcp, before.object.id()?).await?;
    let last = secret::last(gcp, &secret).await?;
    Ok(state(secret, last, before))
}

/// The state of the secret that was found with the version that was added last, based on `before`.
pub(super) fn state<K: Named>(secret: Secret, last: Option<Version>, before: &Key<K>) -> Key<K> {
    let note = |number: i64| secret.note(number).and_then(Note::parse);
    // The note of a disabled version does not count: its key cannot be read.
    let current = last.map(|last| (last.number, note(last.number).filter(|_| last.enabled)));
    let previous = last.map(|last| last.number - 1).filter(|number| *number > 0);
    let previous = previous.map(|number| (number, note(number)));
    let locations = &before.replicas.replica_locations;
    Key {
        object: before.object.found(secret.name, before.object.mark.found(&secret.labels)),
        key: KeyAttributes::found(current.into_iter().chain(previous)),
        replicas: Replicas { replica_locations: sets::found(secret.store.locations, locations) },
        kms_key_name: secret.store.kms_key.into(),
    }
}
