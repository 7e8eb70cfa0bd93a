//! Attributes and state of keys, of whatever kind.

use tf_provider_rs::model::Model;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};

use super::Named;
use crate::common::{self, Common, Tagged};
use crate::parameter::{self, Version};
use crate::session::Aws;
use crate::tags::{self, TagMap, Tags};
use warren_gateways::key::{self, Note};
use warren_managed::Timeouts;

model! {
    /// What keys of all kinds have.
    pub struct Fields {
        /// The parameter's name.
        pub name: Attr<String>,
        /// The same.
        pub id: Attr<String>,
        /// What encrypts the secret half.
        pub kms_key_id: Attr<String>,
        /// A change makes a new key.
        pub rotation: Attr<String>,
        /// The public half.
        pub public_key: Attr<String>,
        /// Version of the parameter.
        pub version: Attr<i64>,
        /// The public half of the version before.
        pub previous_public_key: Attr<String>,
        /// The version before.
        pub previous_version: Attr<i64>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

warren_gateways::key_model!(Key of Fields);

impl<K: Named> Model for Key<K> {}

impl<K: Named> Common for Key<K> {
    type Cloud = Aws;
    const KIND: &'static str = K::TYPE;

    warren_managed::accessors!();

    fn marks(&self, aws: &Aws) -> Tags {
        aws.tags(self.name.text(), &self.tags)
    }

    fn plan_marks(&mut self, aws: Option<&Aws>) {
        self.tags_all = tags::planned(aws, &self.name, &self.tags);
    }
}

impl<K: Named> Tagged for Key<K> {
    fn tags(&self) -> &TagMap {
        &self.tags
    }

    fn set_name(&mut self, name: Attr<String>) {
        self.name = name;
    }

    fn set_tags(&mut self, tags: TagMap) {
        self.tags = tags;
    }

    fn set_tags_all(&mut self, tags: TagMap) {
        self.tags_all = tags;
    }
}

pub(super) fn schema<K: Named>() -> Schema {
    Schema::new(&format!(
        "{}{}, made in the provider's process. The secret half goes into the parameter store as a SecureString and \
         nowhere else: not into plan, state or log. `rotation` makes a new one; the version before stays readable as \
         `NAME:VERSION` until the store drops it after a hundred.",
        K::WHAT[..1].to_uppercase(),
        &K::WHAT[1..],
    ))
    .attributes([
        Attribute::string("name").required().replaces().validate(parameter::check_name).describe(
            "Name of the parameter, such as `/warren/gw-a/wireguard`. A change replaces the key.",
        ),
        Attribute::string("id").computed().keeps().describe("The name."),
        Attribute::string("kms_key_id").optional().replaces().describe(
            "ARN or alias of the KMS key that encrypts the secret half. A change replaces the key. Default: AWS's own \
             `alias/aws/ssm`.",
        ),
    ])
    .attributes(key::attributes::<K>("parameter"))
    .attributes(common::tail())
}

/// A key as the parameter store has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) name: String,
    /// The last two, the present one last.
    pub(super) versions: Vec<Version>,
    pub(super) tags: Tags,
}

impl Stored {
    /// Whether the present version is the one that this rotation asked for.
    pub(super) fn has(&self, rotation: &Attr<String>) -> bool {
        let note = self.versions.last().and_then(|version| Note::parse(&version.description));
        note.is_some_and(|note| note.rotation.as_ref() == rotation.known())
    }
}

/// The state that what is stored makes of `before`.
pub(super) fn state<K: Named>(aws: &Aws, stored: Stored, before: &Key<K>) -> Key<K> {
    let mut state = before.clone();
    state.take_tags(aws, &stored.tags);
    let noted = |version: &Version| (version.number, Note::parse(&version.description));
    state.take_versions(stored.versions.iter().rev().map(noted));
    if !state.kms_key_id.is_known()
        && let Some(present) = stored.versions.last()
    {
        state.kms_key_id = present.kms_key_id.clone().into();
    }
    state.name = stored.name.as_str().into();
    state.id = stored.name.into();
    state
}
