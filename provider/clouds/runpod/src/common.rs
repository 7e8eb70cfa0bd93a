//! Attributes and checks shared by all RunPod resources.

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Diagnostics, Path, Progress, Value};
pub(crate) use warren_managed::checks::{between, one_of};
use warren_managed::{Cloud as _, Object, adopt, timeouts};

use crate::session::{RunPod, Work};

/// Implements [`warren_managed::Common`] for a model with the fields `name`, `id`, `timeouts`.
macro_rules! common {
    ($model:ty, $kind:literal, $marks:expr) => {
        impl warren_managed::Common for $model {
            type Cloud = $crate::session::RunPod;
            const KIND: &'static str = $kind;
            warren_managed::accessors!();
            fn marks(&self, runpod: &$crate::session::RunPod) -> Result<String, tf_provider_rs::NotKnown> {
                let marks: fn(&warren_managed::Scope, &$model) -> String = $marks;
                Ok(marks(&runpod.scope, self))
            }
        }
    };
}
pub(crate) use common;

/// The attribute `id`.
pub(crate) fn id() -> Attribute {
    Attribute::string("id").computed().keeps().describe("ID of the object at RunPod.")
}

/// The attribute `timeouts`, which comes last in every schema.
pub(crate) fn tail() -> [Attribute; 1] {
    [timeouts::attribute(RunPod::NAME)]
}

/// Validates a name: 1 to 63 characters, none of them `/`, `[` or `]`, no whitespace at either end.
pub(crate) fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
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
pub(crate) async fn made_afresh<O: Object<Cloud = RunPod>>(
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
