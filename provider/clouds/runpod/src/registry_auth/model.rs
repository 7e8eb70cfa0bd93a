//! The schema and state of `warren_runpod_registry_auth`.

use tf_provider_rs::model::Secret;
use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Diagnostics, NotKnown, Path, Resource, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use warren_managed::HasShared;

use crate::common::{FixedName, RunpodObject, filled};
use crate::marker;
use crate::session::RunPod;

/// Manages the credential that RunPod uses to pull private images. RunPod can neither update nor return a credential,
/// so each change creates a new one; set `lifecycle { create_before_destroy = true }` so that pods switch to it before
/// the old one is deleted. Amazon ECR tokens expire after 12 hours, and a pod that starts after that cannot pull its
/// image; raise `password_wo_version` with each new token.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_runpod_registry_auth", noun = "credential")]
pub(crate) struct RegistryAuth {
    #[attr(flatten)]
    pub(crate) object: RunpodObject<FixedName>,
    /// Username: `AWS` for Amazon ECR, `oauth2accesstoken` or `_json_key` for Artifact Registry. Changing this replaces
    /// the credential.
    #[attr(required, replaces, validate = filled)]
    pub(crate) username: Attr<String>,
    /// Password or token. It is sent to RunPod and never stored by Terraform. Use an ephemeral value.
    /// Changing it has no effect until you raise `password_wo_version`.
    #[attr(required, write_only, sensitive, validate = filled)]
    pub(crate) password_wo: Attr<Secret>,
    /// Version of `password_wo`. Raise it to store a new password. Changing this replaces the credential.
    #[attr(optional, replaces, validate = between(0, i64::MAX))]
    pub(crate) password_wo_version: Attr<i64>,
    /// Expiry of the password in RFC 3339 format, such as `2027-01-31T12:00:00Z`. Plans after that time show a warning.
    /// Updated in place.
    #[attr(optional, validate = check_time)]
    pub(crate) expires_at: Attr<String>,
}

impl HasShared for RegistryAuth {
    type Shared = RunpodObject<FixedName>;

    /// The name at RunPod. It contains the version of the password, so that the new credential can exist before the old
    /// one is deleted.
    fn marks(&self, runpod: &RunPod) -> Result<String, NotKnown> {
        let name = self.object.name()?;
        Ok(match self.password_wo_version.known() {
            Some(version) => marker::name(&runpod.scope, &format!("{name} v{version}")),
            None => marker::name(&runpod.scope, name),
        })
    }
}

fn check_time(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if OffsetDateTime::parse(text, &Rfc3339).is_err() {
        diagnostics.error_at(
            path.clone(),
            "Invalid timestamp",
            format!("{text:?} is not an RFC 3339 timestamp. Use a value such as `2027-01-31T12:00:00Z`."),
        );
    }
}
