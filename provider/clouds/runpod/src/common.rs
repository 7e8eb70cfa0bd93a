//! The attributes that all RunPod objects share: name, ID and timeouts.

use std::fmt::Debug;

use tf_provider_rs::{Attr, Diagnostics, NotKnown, Object, Path, Progress, Value};
use warren_managed::{Object as Managed, Shared, Timeouts, adopt};

use crate::marker;
use crate::session::RunPod;
use crate::session::Work;

/// The attributes of every RunPod object; `N` is its name.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct RunpodObject<N: Naming = Name> {
    #[attr(flatten)]
    pub(crate) naming: N,
    /// ID of the object at RunPod.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
    /// Timeouts for operations that wait for RunPod.
    #[attr(optional)]
    pub(crate) timeouts: Attr<Timeouts>,
}

impl<N: Naming> RunpodObject<N> {
    /// The name.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn name(&self) -> Result<&str, NotKnown> {
        self.naming.name().value().map(String::as_str)
    }

    /// The ID.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn id(&self) -> Result<&str, NotKnown> {
        self.id.value().map(String::as_str)
    }

    /// The attributes of the object with this name and ID; its timeouts are those of `self`.
    pub(crate) fn found(&self, name: &str, id: &str) -> RunpodObject<N> {
        RunpodObject { naming: N::from(name), id: id.into(), timeouts: self.timeouts.clone() }
    }
}

impl<N: Naming> Shared for RunpodObject<N> {
    type Cloud = RunPod;

    fn name(&self) -> &Attr<String> {
        self.naming.name()
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn timeouts(&self) -> &Attr<Timeouts> {
        &self.timeouts
    }

    /// The name at RunPod; objects that are marked elsewhere have marks of their own.
    fn marks(&self, runpod: &RunPod) -> Result<String, NotKnown> {
        Ok(marker::name(&runpod.scope, self.name()?))
    }
}

/// The attribute `name`.
pub(crate) trait Naming:
    tf_provider_rs::model::Object
    + for<'a> From<&'a str>
    + Clone
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + 'static
{
    /// Unique among the objects of one type, fabric and owner.
    fn name(&self) -> &Attr<String>;
}

/// A name that can be updated.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Name {
    /// Name of the {noun}, unique among the {noun}s of this fabric and owner. Updated in place.
    #[attr(required, validate = check_name)]
    pub(crate) name: Attr<String>,
}

impl Naming for Name {
    fn name(&self) -> &Attr<String> {
        &self.name
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Name { name: name.into() }
    }
}

/// A name that cannot be updated.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct FixedName {
    /// Name of the {noun}, unique among the {noun}s of this fabric and owner. Changing this replaces the {noun}.
    #[attr(required, replaces, validate = check_name)]
    pub(crate) name: Attr<String>,
}

impl Naming for FixedName {
    fn name(&self) -> &Attr<String> {
        &self.name
    }
}

impl From<&str> for FixedName {
    fn from(name: &str) -> FixedName {
        FixedName { name: name.into() }
    }
}

/// Validates a name: 1 to 63 characters, none of them `/`, `[` or `]`, no whitespace at either end.
fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let bad = |c: char| c.is_control() || matches!(c, '/' | '[' | ']');
    if text.is_empty() || text.chars().count() > 63 || text.trim() != text || text.contains(bad) {
        diagnostics.error_at(
            path.clone(),
            "Invalid name",
            format!(
                "{text:?} is not a valid name: `/`, `[` and `]` are reserved for the marker of the owner. Use 1 to \
                 63 characters without them and without leading or trailing whitespace."
            ),
        );
    }
}

/// Validates that a text is not empty.
pub(crate) fn filled(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str().is_some_and(|text| text.trim().is_empty()) {
        diagnostics.error_at(
            path.clone(),
            "Empty value",
            format!("`{path}` is empty. Set a value or remove the attribute."),
        );
    }
}

/// Creates an object whose value cannot be read back. An object left by an interrupted run may hold another value, so
/// it is deleted first.
pub(crate) async fn made_afresh<O: Managed<Cloud = RunPod>>(
    planned: &mut O,
    work: &Work<'_>,
    progress: &Progress,
) -> Result<(), Diagnostics> {
    if let Some(id) = adopt::leftover(work, planned, || planned.find(&work.cloud)).await? {
        let mut left = planned.clone();
        left.set_id(&id);
        left.delete(work).await?;
    }
    warren_managed::ensure(planned, work, progress).await
}
