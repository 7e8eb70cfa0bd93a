//! Attributes and state of `warren_runpod_secret`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Value, model};
use warren_managed::Timeouts;

use super::api::Found;
use crate::common::{self, common};
use crate::marker;

model! {
    /// A secret.
    pub struct Secret {
        /// Unique in the account.
        pub name: Attr<String>,
        /// Assigned by RunPod.
        pub id: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// Never stored.
        pub value_wo: Attr<tf_provider_rs::model::Secret>,
        /// Raised when the value is another.
        pub value_wo_version: Attr<i64>,
        /// `{{ RUNPOD_SECRET_name }}`.
        pub reference: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Secret, "warren_runpod_secret", |scope, secret| {
    marker::description(scope, secret.description.text())
});

pub(super) fn schema() -> Schema {
    Schema::new(
        "A secret of the account. RunPod puts its value into the environment of pods that name it, when they start. \
         Terraform stores the name alone. A changed secret is deleted and made again under its name; pods that run keep \
         the value that they started with.",
    )
    .attribute(Attribute::string("name").required().replaces().validate(check_name).describe(
        "Name, unique in the account: 1 to 64 letters, digits, `_` and `-`. A change replaces the secret.",
    ))
    .attribute(common::id())
    .attributes([
        Attribute::string("description").optional().replaces().validate(check_description).describe(
            "What the secret is for. It follows the marker `[warren:fabric/owner]`, by which an interrupted apply finds \
             its secret again. A change replaces the secret.",
        ),
        Attribute::string("value_wo").required().write_only().sensitive().validate(common::filled).describe(
            "The value. Write-only: it is handed to RunPod and never stored; take it from an ephemeral value, such as \
             `ephemeral.warren_enrolment_token.pods.token`.",
        ),
        Attribute::number("value_wo_version").optional().replaces().validate(common::between(0, i64::MAX)).describe(
            "Raise it when the value is another: that replaces the secret.",
        ),
        Attribute::string("reference").computed().keeps().describe(
            "What a variable of a pod's environment has for a value to be given the secret: `{{ RUNPOD_SECRET_name }}`.",
        ),
    ])
    .attributes(common::tail())
}

/// The value of a variable that is given the secret.
pub(super) fn reference(name: &str) -> String {
    format!("{{{{ RUNPOD_SECRET_{name} }}}}")
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        diagnostics.error_at(
            path.clone(),
            "Name not possible",
            format!("{text:?} cannot be the name of a secret: write 1 to 64 letters, digits, `_` and `-`."),
        );
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.starts_with("[warren:") || text.chars().count() > 500 || text.is_empty() {
        diagnostics.error_at(
            path.clone(),
            "Description not possible",
            "A description has 1 to 500 characters and does not begin with `[warren:`, the marker that the provider puts \
             first.",
        );
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: &Found, before: &Secret) -> Secret {
    let description = marker::plain_description(&found.description);
    Secret {
        name: found.name.as_str().into(),
        id: found.id.as_str().into(),
        description: if description.is_empty() { Attr::Null } else { description.into() },
        value_wo: Attr::Null,
        value_wo_version: before.value_wo_version,
        reference: reference(&found.name).into(),
        timeouts: before.timeouts.clone(),
    }
}
