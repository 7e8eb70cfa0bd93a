//! Attributes and state of `warren_runpod_registry_auth`.

use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Value, model};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use warren_managed::{Scope, Timeouts};

use super::api::Found;
use crate::common::{self, common};
use crate::marker;

model! {
    /// A registry credential.
    pub struct RegistryAuth {
        /// Unique among the credentials of the fabric and owner.
        pub name: Attr<String>,
        /// Assigned by RunPod.
        pub id: Attr<String>,
        /// Such as `AWS`.
        pub username: Attr<String>,
        /// Write-only.
        pub password_wo: Attr<Secret>,
        /// Raised to store a new password.
        pub password_wo_version: Attr<i64>,
        /// RFC 3339.
        pub expires_at: Attr<String>,
        /// Timeouts of the operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(RegistryAuth, "warren_runpod_registry_auth", marked);

/// The name at RunPod. It contains the version of the password, so that the new credential can exist before the old
/// one is deleted.
fn marked(scope: &Scope, credential: &RegistryAuth) -> String {
    let name = credential.name.text();
    match credential.password_wo_version.known() {
        Some(version) => marker::name(scope, &format!("{name} v{version}")),
        None => marker::name(scope, name),
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "Stores the credential that RunPod uses to pull private images. RunPod can neither update nor return a \
         credential, so each change creates a new one; set `lifecycle { create_before_destroy = true }` so that \
         pods switch to it before the old one is deleted. Amazon ECR tokens expire after 12 hours, and a pod that \
         starts after that cannot pull its image; raise `password_wo_version` with each new token.",
    )
    .attribute(Attribute::string("name").required().replaces().validate(common::check_name).describe(
        "Name of the credential, unique among the credentials of this fabric and owner. Changing this replaces the \
         credential.",
    ))
    .attribute(common::id())
    .attributes([
        Attribute::string("username").required().replaces().validate(common::filled).describe(
            "Username: `AWS` for Amazon ECR, `oauth2accesstoken` or `_json_key` for Artifact Registry. Changing \
             this replaces the credential.",
        ),
        Attribute::string("password_wo").required().write_only().sensitive().validate(common::filled).describe(
            "Password or token. Write-only: it is sent to RunPod and never stored by Terraform. Use an ephemeral \
             value. Changing it has no effect until you raise `password_wo_version`.",
        ),
        Attribute::number("password_wo_version").optional().replaces().validate(common::between(0, i64::MAX)).describe(
            "Version of `password_wo`. Raise it to store a new password. Changing this replaces the credential.",
        ),
        Attribute::string("expires_at").optional().validate(check_time).describe(
            "Expiry of the password in RFC 3339 format, such as `2027-01-31T12:00:00Z`. Plans after that time show \
             a warning. Updated in place.",
        ),
    ])
    .attributes(common::tail())
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

/// A warning if the planned credential has expired at `now`.
pub(super) fn expired(planned: &RegistryAuth, now: OffsetDateTime) -> Option<Diagnostic> {
    let expires = OffsetDateTime::parse(planned.expires_at.text(), &Rfc3339).ok()?;
    (expires <= now).then(|| {
        Diagnostic::warning(
            "The registry credential has expired",
            format!(
                "{} expired at {}. Running pods are not affected, but a pod that starts or moves cannot pull its \
                 image and stays in PROVISIONING or ends in ERROR. Set a new token in `password_wo`, and raise \
                 `password_wo_version` and `expires_at`.",
                warren_managed::Common::label(planned),
                planned.expires_at.text()
            ),
        )
        .at(Path::of("expires_at"))
    })
}

/// The state after reading `found`, with values that the API does not return taken from `before`.
pub(super) fn state(found: &Found, before: &RegistryAuth) -> RegistryAuth {
    let mut state = before.clone();
    state.id = found.id.as_str().into();
    let name = marker::plain_name(&found.name);
    // An import reads the version from the name.
    let (plain, version) = match name.rsplit_once(" v") {
        Some((plain, version)) => (plain, version.parse::<i64>().ok()),
        None => (name, None),
    };
    state.name = if version.is_some() { plain } else { name }.into();
    if version.is_some() {
        state.password_wo_version = version.into();
    }
    state.password_wo = Attr::Null;
    state
}
