//! Attributes and state of keys, of whatever kind.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use tf_provider_rs::model::{FromValue, Model, ShapeError, ToValue};
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Path, Value, model};

use super::Named;
use crate::common::{self, Common, Tagged};
use crate::parameter::{self, Version};
use crate::session::Aws;
use crate::tags::{self, TagMap, Tags};
use warren_gateways::key::{Note, check_rotation};
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

/// A key of the kind `K`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Key<K> {
    fields: Fields,
    kind: PhantomData<K>,
}

impl<K> Deref for Key<K> {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

impl<K> DerefMut for Key<K> {
    fn deref_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }
}

impl<K> FromValue for Key<K> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ShapeError> {
        Ok(Key { fields: Fields::from_value(value, path)?, kind: PhantomData })
    }
}

impl<K> ToValue for Key<K> {
    fn to_value(&self) -> Value {
        self.fields.to_value()
    }
}

impl<K: Named> Model for Key<K> {}

impl<K: Named> Common for Key<K> {
    type Cloud = Aws;
    const KIND: &'static str = K::TYPE;

    fn name(&self) -> &Attr<String> {
        &self.name
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn timeouts(&self) -> &Attr<Timeouts> {
        &self.timeouts
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

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
        Attribute::string("rotation")
            .optional()
            .validate(check_rotation)
            .describe("Any word, such as a date. A change makes a new key in place; nothing is replaced."),
        Attribute::string("public_key").computed().keeps().describe(&format!("{}.", K::PUBLIC)),
        Attribute::number("version").computed().keeps().describe("Version of the parameter that holds the key."),
        Attribute::string("previous_public_key").computed().keeps().describe(
            "`public_key` of the version before; null before the first rotation. Accept both until everybody has \
             the new one.",
        ),
        Attribute::number("previous_version")
            .computed()
            .keeps()
            .describe("The version before; null before the first rotation."),
    ])
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

/// The state that what is stored makes of `before`. A version that somebody else has put has no public half that is
/// known; the next apply puts one of ours on top.
pub(super) fn state<K: Named>(aws: &Aws, stored: Stored, before: &Key<K>) -> Key<K> {
    let mut state = before.clone();
    state.take_tags(aws, &stored.tags);
    let mut versions = stored.versions.into_iter().rev().map(|version| {
        let note = Note::parse(&version.description);
        (version.number, note, version.kms_key_id)
    });
    let public = |note: &Option<Note>| Attr::from(note.as_ref().map(|note| note.public.clone()));
    if let Some((number, note, kms)) = versions.next() {
        state.public_key = public(&note);
        state.rotation = note.and_then(|note| note.rotation).into();
        state.version = number.into();
        if !state.kms_key_id.is_known() {
            state.kms_key_id = kms.into();
        }
    }
    (state.previous_version, state.previous_public_key) = match versions.next() {
        Some((number, note, _)) => (number.into(), public(&note)),
        None => (Attr::Null, Attr::Null),
    };
    state.name = stored.name.as_str().into();
    state.id = stored.name.into();
    state
}
