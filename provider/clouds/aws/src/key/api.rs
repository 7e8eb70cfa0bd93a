//! Parameter Store calls for keys.

use warren_gateways::key::{KeyAttributes, Note};

use super::model::{Key, Named};
use crate::error::ApiError;
use crate::parameter::{self, Put, Version};
use crate::session::Aws;
use crate::tags::Tags;

/// Generates and stores a key, in a new parameter if there are `tags`. The private key is zeroised when this returns.
pub(super) async fn put<K: Named>(aws: &Aws, planned: &Key<K>, tags: Option<&Tags>) -> Result<(), ApiError> {
    let made = planned.key.make();
    let (secret, note) = made.map_err(|error| ApiError::unsent("PutParameter", &error))?;
    let put = Put {
        name: planned.object.name()?,
        value: &secret,
        description: &note.to_string(),
        secure: Some(planned.kms_key_id.as_deref()),
        tags,
    };
    parameter::put(aws, &put).await.map(drop)
}

/// The key of `before` as it is now; an error if it does not exist.
pub(super) async fn get<K: Named>(aws: &Aws, before: &Key<K>) -> Result<Key<K>, ApiError> {
    let name = before.object.id()?;
    let versions = parameter::versions(aws, name).await?;
    state(aws, (&versions, &parameter::tags(aws, name).await?), before)
}

/// The state of a key with these versions, the current one last, and tags, based on `before`.
pub(super) fn state<K: Named>(
    aws: &Aws,
    (versions, tags): (&[Version], &Tags),
    before: &Key<K>,
) -> Result<Key<K>, ApiError> {
    let noted = |version: &Version| (version.number, version.description.as_deref().and_then(Note::parse));
    let stored = versions.last().and_then(|version| version.kms_key_id.clone());
    Ok(Key {
        object: before.object.found(aws, before.object.id()?, tags),
        key: KeyAttributes::found(versions.iter().rev().map(noted)),
        // AWS reports the key by its ARN, a configuration may name it by its alias.
        kms_key_id: before.kms_key_id.known().cloned().or(stored).into(),
    })
}
