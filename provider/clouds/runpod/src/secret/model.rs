//! The schema and state of `warren_runpod_secret`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Diagnostics, NotKnown, Object, Path, Resource, Value, model};
use warren_managed::HasShared;

use crate::common::{Naming, RunpodObject, filled};
use crate::marker;
use crate::session::RunPod;

/// Manages a secret in the RunPod account. RunPod substitutes its value in the environment of pods that reference it,
/// when they start. Terraform never stores the value. Running pods keep the value that they started with.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_runpod_secret")]
pub(crate) struct Secret {
    #[attr(flatten)]
    pub(crate) object: RunpodObject<SecretName>,
    /// Description, up to 500 characters. At RunPod it is prefixed with the marker `[warren:fabric/owner]`, which lets a
    /// re-run of an interrupted apply find the secret. Updated in place.
    #[attr(optional, validate = check_description)]
    pub(crate) description: Attr<String>,
    /// Value of the secret. It is sent to RunPod and never stored by Terraform. Use an ephemeral value, such
    /// as `ephemeral.warren_enrolment_token.pods.token`. Changing it has no effect until you raise `value_wo_version`.
    #[attr(required, write_only, sensitive, validate = filled)]
    pub(crate) value_wo: Attr<model::Secret>,
    /// Version of `value_wo`. Raise it to store a new value. Updated in place.
    #[attr(optional, validate = between(0, i64::MAX))]
    pub(crate) value_wo_version: Attr<i64>,
    /// Reference to the secret, `{{ RUNPOD_SECRET_name }}`. Use it as the value of an environment variable of a pod.
    #[attr(computed, keeps)]
    pub(crate) reference: Attr<String>,
}

/// The name of a secret, which is part of references to it.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct SecretName {
    /// Name of the secret, unique in the account: 1 to 191 letters, digits, `_`, `.`, `-` and `/`. It starts with a letter
    /// or `_`, but not with `RUNPOD`. Changing this replaces the secret.
    #[attr(required, replaces, validate = check_name)]
    pub(crate) name: Attr<String>,
}

impl Naming for SecretName {
    fn name(&self) -> &Attr<String> {
        &self.name
    }
}

impl From<&str> for SecretName {
    fn from(name: &str) -> SecretName {
        SecretName { name: name.into() }
    }
}

impl HasShared for Secret {
    type Shared = RunpodObject<SecretName>;

    fn marks(&self, runpod: &RunPod) -> Result<String, NotKnown> {
        Ok(marker::description(&runpod.scope, self.description.as_deref()))
    }
}

/// The value of an environment variable that references the secret.
pub(super) fn reference(name: &str) -> String {
    format!("{{{{ RUNPOD_SECRET_{name} }}}}")
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if text.is_empty() || text.len() > 191 || !text.chars().all(fits) {
        diagnostics.error_at(
            path.clone(),
            "Invalid secret name",
            format!(
                "{text:?} is not a valid name of a secret. Use 1 to 191 letters, digits, `_`, `.`, `-` and `/`."
            ),
        );
    }
}

/// Rejects a name that RunPod's REST API does not create. GraphQL created secrets with such names, which stay usable.
pub(super) fn check_new_name(name: &str, diagnostics: &mut Diagnostics) {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || name.to_ascii_uppercase().starts_with("RUNPOD") {
        diagnostics.error_at(
            Path::of("name"),
            "Invalid secret name",
            format!(
                "{name:?} is not a valid name of a new secret: RunPod requires a letter or `_` at the start, and \
                 reserves names that start with `RUNPOD`. Choose another name."
            ),
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
