//! Attributes and state of keys of all kinds.

use tf_provider_rs::model::Model;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, model};
use warren_gateways::key::{self, Note};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use super::Named;
use crate::common::{self, unplaced};
use crate::labels::{self, Labels, labelled};
use crate::secret::{self, Secret, Store, Version};

model! {
    /// Fields of keys of all kinds.
    pub struct Fields {
        /// The secret's name.
        pub name: Attr<String>,
        /// `projects/P/secrets/N`.
        pub id: Attr<String>,
        /// Cloud KMS key that encrypts the secret.
        pub kms_key_name: Attr<String>,
        /// Locations of the secret.
        pub replica_locations: Texts,
        /// Changing this rotates the key.
        pub rotation: Attr<String>,
        /// The public key.
        pub public_key: Attr<String>,
        /// Version of the secret.
        pub version: Attr<i64>,
        /// The public key of the previous version.
        pub previous_public_key: Attr<String>,
        /// The previous version.
        pub previous_version: Attr<i64>,
        /// The user's labels.
        pub labels: Labels,
        /// All labels.
        pub effective_labels: Labels,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

warren_gateways::key_model!(Key of Fields);

impl<K: Named> Model for Key<K> {}

labelled!(Key<K>, K::TYPE, K: Named);
unplaced!(Key<K>, "secrets", K: Named);

pub(super) fn schema<K: Named>() -> Schema {
    Schema::new(&format!(
        "{}{}, generated in the provider process. The private key is stored in Secret Manager and nowhere else: not \
         in the plan, the state or logs. Changing `rotation` adds a new version; the previous version stays \
         readable, and older versions are destroyed.",
        K::WHAT[..1].to_uppercase(),
        &K::WHAT[1..],
    ))
    .attributes(common::head("secret", "projects/PROJECT/secrets/NAME"))
    .attributes([Attribute::string("kms_key_name").optional().replaces().describe(
        "Cloud KMS key that encrypts the secret, in the location `global`, or in the location in \
         `replica_locations`. Changing this replaces the secret. Defaults to a key that Google manages.",
    )])
    .attribute(secret::replica_locations())
    .attributes(key::attributes::<K>("secret"))
    .attributes(labels::attributes())
    .attributes(common::tail())
}

pub(super) fn check<K: Named>(key: &Key<K>, diagnostics: &mut Diagnostics) {
    let locations = sets::known(&key.replica_locations);
    if locations.len() > 1 && key.kms_key_name.known().is_some() {
        diagnostics.error_at(
            Path::of("kms_key_name"),
            "KMS key with several replica locations",
            format!(
                "A Cloud KMS key encrypts secrets in its own location only, but `replica_locations` has {} \
                 locations. Use one location, or remove `kms_key_name`.",
                locations.len()
            ),
        );
    }
}

impl<K: Named> Key<K> {
    /// Where and how the secret is stored.
    pub(super) fn store(&self) -> Store {
        Store { locations: sets::known(&self.replica_locations), kms_key: self.kms_key_name.known().cloned() }
    }
}

/// A key as Secret Manager stores it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) secret: Secret,
    /// The version that was added last.
    pub(super) last: Option<Version>,
}

impl Stored {
    /// The note of the current version, if this provider created it and it is enabled.
    fn note(&self) -> Option<Note> {
        let last = self.last.filter(|version| version.enabled)?;
        self.secret.note(last.number).and_then(Note::parse)
    }

    /// Whether the current version belongs to this rotation.
    pub(super) fn has(&self, rotation: &Attr<String>) -> bool {
        self.note().is_some_and(|note| note.rotation.as_ref() == rotation.known())
    }
}

/// Updates the state `before` with what Secret Manager returned.
pub(super) fn state<K: Named>(stored: Stored, before: &Key<K>) -> Key<K> {
    let mut state = before.clone();
    let last = stored.last.map(|version| (version.number, stored.note()));
    let before_last = last.as_ref().map(|(number, _)| number - 1).filter(|number| *number > 0);
    let before_last = before_last.map(|number| (number, stored.secret.note(number).and_then(Note::parse)));
    state.take_versions(last.into_iter().chain(before_last));
    (state.labels, state.effective_labels) = labels::state(&stored.secret.labels, &before.labels);
    state.kms_key_name = stored.secret.store.kms_key.into();
    state.replica_locations = sets::found(stored.secret.store.locations, &before.replica_locations);
    state.name = stored.secret.name.into();
    state.id = stored.secret.id.into();
    state
}
