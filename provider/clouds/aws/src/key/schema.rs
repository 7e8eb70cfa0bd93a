//! Attributes and state of keys of all types.

use tf_provider_rs::model::Model;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, NotKnown, model};

use super::Named;
use crate::common::{self, Common, Tagged};
use crate::parameter::{self, Version};
use crate::session::Aws;
use crate::tags::{TagMap, Tags};
use warren_gateways::key::{self, Note};
use warren_managed::Timeouts;

model! {
    /// The attributes of keys of all types.
    pub struct Fields {
        /// The parameter's name.
        pub name: Attr<String>,
        /// The same.
        pub id: Attr<String>,
        /// The KMS key that encrypts the private key.
        pub kms_key_id: Attr<String>,
        /// The rotation label.
        pub rotation: Attr<String>,
        /// The public key.
        pub public_key: Attr<String>,
        /// Version of the parameter.
        pub version: Attr<i64>,
        /// The public key of the previous version.
        pub previous_public_key: Attr<String>,
        /// The previous version.
        pub previous_version: Attr<i64>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

warren_gateways::key_model!(Key of Fields);

impl<K: Named> Model for Key<K> {}

impl<K: Named> Common for Key<K> {
    type Cloud = Aws;
    const KIND: &'static str = K::TYPE;

    warren_managed::accessors!();

    fn marks(&self, aws: &Aws) -> Result<Tags, NotKnown> {
        Ok(aws.tags(self.name.value()?, &self.tags))
    }

    fn plan_marks(&mut self, aws: Option<&Aws>) {
        self.tags_all = common::planned_tags(aws, &self.name, &self.tags);
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
        "Generates {} and stores it in Systems Manager Parameter Store. The private key is generated in \
         the provider process, stored as a `SecureString` and never written to the plan, the state or a \
         log. Changing `rotation` generates a new key; earlier versions stay readable as `NAME:VERSION` \
         until Parameter Store discards them, after 100 versions.",
        K::WHAT,
    ))
    .attributes([
        Attribute::string("name").required().replaces().validate(parameter::check_name).describe(
            "Name of the parameter, such as `/warren/gw-a/wireguard`. Changing this replaces the key.",
        ),
        Attribute::string("id").computed().keeps().describe("Name of the parameter."),
        Attribute::string("kms_key_id").optional().replaces().describe(
            "ARN or alias of the KMS key that encrypts the private key. Changing this replaces the key. \
             Defaults to the AWS managed key `alias/aws/ssm`.",
        ),
    ])
    .attributes(key::attributes::<K>("parameter"))
    .attributes(common::tail())
}

/// A key in Parameter Store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) name: String,
    /// The last two versions, the current one last.
    pub(super) versions: Vec<Version>,
    pub(super) tags: Tags,
}

impl Stored {
    /// Whether the current version belongs to this rotation label.
    pub(super) fn has(&self, rotation: &Attr<String>) -> bool {
        let note = self.versions.last().and_then(|version| Note::parse(&version.description));
        note.is_some_and(|note| note.rotation.as_ref() == rotation.known())
    }
}

/// The state of the stored key, based on `before`.
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
