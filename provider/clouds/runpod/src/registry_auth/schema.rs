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
        /// Never stored.
        pub password_wo: Attr<Secret>,
        /// Raised when the password is another.
        pub password_wo_version: Attr<i64>,
        /// RFC 3339.
        pub expires_at: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(RegistryAuth, "warren_runpod_registry_auth", marked);

/// The name at RunPod. Each version of the password has its own, so that the new credential can be there before the
/// old one goes.
fn marked(scope: &Scope, credential: &RegistryAuth) -> String {
    let name = credential.name.text();
    match credential.password_wo_version.known() {
        Some(version) => marker::name(scope, &format!("{name} v{version}")),
        None => marker::name(scope, name),
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "User and password with which RunPod pulls private images. RunPod can neither change nor tell them: each change \
         makes a new credential. Give it `lifecycle { create_before_destroy = true }`, so that pods change over before \
         the old one goes. A token of Amazon ECR lasts 12 hours: a pod that starts later does not get its image; raise \
         `password_wo_version` with each new token.",
    )
    .attribute(Attribute::string("name").required().replaces().validate(common::check_name).describe(
        "Name, unique among the credentials of this fabric and owner. A change replaces the credential.",
    ))
    .attribute(common::id())
    .attributes([
        Attribute::string("username").required().replaces().validate(common::filled).describe(
            "User: `AWS` for Amazon ECR, `oauth2accesstoken` or `_json_key` for Artifact Registry. A change replaces the \
             credential.",
        ),
        Attribute::string("password_wo").required().write_only().sensitive().validate(common::filled).describe(
            "Password or token. Write-only: it is handed to RunPod and never stored; take it from an ephemeral value.",
        ),
        Attribute::number("password_wo_version").optional().replaces().validate(common::between(0, i64::MAX)).describe(
            "Raise it when the password is another: that replaces the credential.",
        ),
        Attribute::string("expires_at").optional().validate(check_time).describe(
            "When the registry will refuse the password, such as `2027-01-31T12:00:00Z`. A plan after that warns.",
        ),
    ])
    .attributes(common::tail())
}

fn check_time(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if OffsetDateTime::parse(text, &Rfc3339).is_err() {
        diagnostics.error_at(
            path.clone(),
            "Not a point in time",
            format!("{text:?} is not a point in time; write it like `2027-01-31T12:00:00Z`."),
        );
    }
}

/// A warning when the planned credential is worth nothing at `now`.
pub(super) fn expired(planned: &RegistryAuth, now: OffsetDateTime) -> Option<Diagnostic> {
    let expires = OffsetDateTime::parse(planned.expires_at.text(), &Rfc3339).ok()?;
    (expires <= now).then(|| {
        Diagnostic::warning(
            "The registry credential has expired",
            format!(
                "{} expired at {}. Pods that run go on; one that starts or moves does not get its image, and stays in \
                 PROVISIONING or ends in ERROR. Give a fresh token in `password_wo`, and raise `password_wo_version` and \
                 `expires_at`.",
                warren_managed::Common::label(planned),
                planned.expires_at.text()
            ),
        )
        .at(Path::of("expires_at"))
    })
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: &Found, before: &RegistryAuth) -> RegistryAuth {
    let mut state = before.clone();
    state.id = found.id.as_str().into();
    let name = marker::plain_name(&found.name);
    // An import learns the version from the name.
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
