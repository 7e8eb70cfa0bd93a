//! Refuses work on an object whose state says that it is in another account or region than the provider's.
//!
//! There, the object seems to be gone: a read would remove it from the state, the plan would create it again, and a
//! destroy would succeed without deleting anything.

use tf_provider_rs::{Context, Diagnostic, Diagnostics, Value};

use crate::cloud::{Cloud, Locator, Place};
use crate::common::Common;

/// Compares the place of `object`, which its stored identity and its state say, with the configured one.
///
/// # Errors
/// They differ.
pub(crate) fn refuse<M: Common>(ctx: &Context, cloud: &M::Cloud, object: &M) -> Result<(), Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let (in_state, configured) = (stored::<M::Cloud>(ctx, &object.to_value()), cloud.place());
    for locator in M::Cloud::LOCATORS {
        if let (Some(found), Some(ours)) =
            (in_state.get(locator.attribute), configured.get(locator.attribute))
            && !found.is_empty()
            && found != ours
        {
            diagnostics.push(elsewhere(&object.label(), *locator, found, ours));
        }
    }
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics) }
}

/// The place in the stored identity. What that lacks, such as in states of older versions, is taken from the state, and
/// also what the state says to be nowhere.
fn stored<C: Cloud>(ctx: &Context, state: &Value) -> Place {
    let mut place = C::place_of(state);
    for locator in C::LOCATORS {
        let value = ctx.identity.as_ref().and_then(|identity| identity.get(locator.attribute));
        let global = place.get(locator.attribute).is_some_and(String::is_empty);
        if let Some(value) = value.and_then(Value::as_str).filter(|_| !global) {
            place.insert(locator.attribute, value.to_owned());
        }
    }
    place
}

fn elsewhere(label: &str, locator: Locator, found: &str, ours: &str) -> Diagnostic {
    let Locator { noun, setting, .. } = locator;
    Diagnostic::error(
        format!("The object is in another {noun}"),
        format!(
            "The state says that {label} is in {noun} {found}, but the provider is configured for {noun} {ours}. \
             Nothing was changed, because the object would seem to be gone, and would be created a second time. To \
             manage it, {setting} for {found}. To leave it behind, run `terraform state rm` with its address."
        ),
    )
}
