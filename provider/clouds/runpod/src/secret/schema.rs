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
        /// Write-only.
        pub value_wo: Attr<tf_provider_rs::model::Secret>,
        /// Raised to store a new value.
        pub value_wo_version: Attr<i64>,
        /// `{{ RUNPOD_SECRET_name }}`.
        pub reference: Attr<String>,
        /// Timeouts of the operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Secret, "warren_runpod_secret", |scope, secret| {
    marker::description(scope, secret.description.text())
});

pub(super) fn schema() -> Schema {
    Schema::new(
        "Stores a secret in the RunPod account. RunPod substitutes its value in the environment of pods that \
         reference it, when they start. Terraform never stores the value. A changed secret is deleted and recreated \
         under the same name; running pods keep the value that they started with.",
    )
    .attribute(Attribute::string("name").required().replaces().validate(check_name).describe(
        "Name of the secret, unique in the account: 1 to 64 letters, digits, `_` and `-`. Changing this replaces \
         the secret.",
    ))
    .attribute(common::id())
    .attributes([
        Attribute::string("description").optional().replaces().validate(check_description).describe(
            "Description, up to 500 characters. At RunPod it is prefixed with the marker `[warren:fabric/owner]`, \
             which lets a re-run of an interrupted apply find the secret. Changing this replaces the secret.",
        ),
        Attribute::string("value_wo").required().write_only().sensitive().validate(common::filled).describe(
            "Value of the secret. Write-only: it is sent to RunPod and never stored by Terraform. Use an ephemeral \
             value, such as `ephemeral.warren_enrolment_token.pods.token`. Changing it has no effect until you \
             raise `value_wo_version`.",
        ),
        Attribute::number("value_wo_version").optional().replaces().validate(common::between(0, i64::MAX)).describe(
            "Version of `value_wo`. Raise it to store a new value. Changing this replaces the secret.",
        ),
        Attribute::string("reference").computed().keeps().describe(
            "Reference to the secret, `{{ RUNPOD_SECRET_name }}`. Use it as the value of an environment variable of \
             a pod.",
        ),
    ])
    .attributes(common::tail())
}

/// The value of an environment variable that references the secret.
pub(super) fn reference(name: &str) -> String {
    format!("{{{{ RUNPOD_SECRET_{name} }}}}")
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        diagnostics.error_at(
            path.clone(),
            "Invalid secret name",
            format!("{text:?} is not a valid name of a secret. Use 1 to 64 letters, digits, `_` and `-`."),
        );
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.starts_with("[warren:") || text.chars().count() > 500 || text.is_empty() {
        diagnostics.error_at(
            path.clone(),
            "Invalid description",
            "A description has 1 to 500 characters and does not start with `[warren:`, which the provider reserves \
             for its marker. Change or remove it.",
        );
    }
}

/// The state after reading `found`, with values that the API does not return taken from `before`.
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
