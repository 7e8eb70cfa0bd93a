//! The schema and state of `warren_gcp_gateway_service_account`.

use tf_provider_rs::{Attr, Diagnostics, NotKnown, Path, Resource, Value};
use warren_managed::sets::Set;
use warren_managed::{Common as _, HasShared};

use crate::account::Gcp;
use crate::common::{self, Description, GcpObject, Located, Naming};
use crate::link::{Link, SecretRef};

/// Manages a service account for a gateway, which can read the given secrets and nothing else. The resource binds
/// `roles/secretmanager.secretAccessor` in the IAM policy of each secret.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_gateway_service_account",
    noun = "account",
    id = "`projects/PROJECT/serviceAccounts/EMAIL`, the same as in hashicorp/google"
)]
pub(crate) struct ServiceAccount {
    #[attr(flatten)]
    pub(crate) object: GcpObject<Description, AccountId>,
    /// IDs of the secrets that the account can read. Updated in place.
    #[attr(required)]
    pub(crate) secrets: Set<SecretRef>,
    /// Email address of the account, for `service_account` of `warren_gcp_gateway`.
    #[attr(computed, keeps)]
    pub(crate) email: Attr<String>,
    /// Unique numeric ID of the account, which Google never reuses.
    #[attr(computed, keeps)]
    pub(crate) unique_id: Attr<String>,
}

/// The account ID: the part of the email address before the `@`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AccountId;

impl Naming for AccountId {
    const DESCRIPTION: &'static str = "ID of the account, unique in the project: 6 to 30 lowercase letters, digits or \
                                       hyphens, starting with a letter and not ending with a hyphen. Changing this \
                                       replaces the account.";

    fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
        let name = value.as_str().unwrap_or_default();
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let ends = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('-');
        if !(6..=30).contains(&name.len()) || !plain || !ends {
            diagnostics.error_at(
                path.clone(),
                "Invalid name",
                format!(
                    "{name:?} is not a valid service account ID. Use 6 to 30 lowercase letters, digits or hyphens, \
                     starting with a letter and not ending with a hyphen."
                ),
            );
        }
    }
}

impl HasShared for ServiceAccount {
    type Shared = GcpObject<Description, AccountId>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for ServiceAccount {
    const COLLECTION: &'static str = "serviceAccounts";

    fn place(&self, project: &str) -> Result<String, NotKnown> {
        let name = email(project, self.name().value()?);
        let collection = Self::COLLECTION.to_owned();
        Ok(Link { project: project.to_owned(), region: None, collection, name }.to_string())
    }
}

/// The email address of an account, which Google derives from the account ID and the project ID.
pub(super) fn email(project: &str, name: &str) -> String {
    // Domain-scoped projects are written `example.com:project`.
    let domain = match project.split_once(':') {
        Some((domain, project)) => format!("{project}.{domain}"),
        None => project.to_owned(),
    };
    format!("{name}@{domain}.iam.gserviceaccount.com")
}
