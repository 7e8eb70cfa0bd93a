//! The schema and state of `warren_gcp_gateway_service_account`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, NotKnown, Path, Type, Value, model};
use warren_managed::{Timeouts, ranges, sets};

use crate::account::Gcp;
use crate::common::{self, Located, common};
use crate::error::ApiError;
use crate::link::{self, Link};

/// Longest description by the user: Google accepts 256 bytes, of which the marker needs some.
const LONGEST: usize = 100;

model! {
    /// A service account and the secrets that it can read.
    pub struct ServiceAccount {
        /// The account ID: the part before the `@`.
        pub name: Attr<String>,
        /// `projects/P/serviceAccounts/EMAIL`.
        pub id: Attr<String>,
        /// IDs of the secrets that it can read.
        pub secrets: sets::Texts,
        /// Email address.
        pub email: Attr<String>,
        /// Unique numeric ID.
        pub unique_id: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(@common ServiceAccount, "warren_gcp_gateway_service_account");

impl Located for ServiceAccount {
    const COLLECTION: &'static str = "serviceAccounts";

    fn region(&self) -> Option<&Attr<String>> {
        None
    }

    fn place(&self, project: &str) -> Result<String, NotKnown> {
        let name = email(project, self.name.value()?);
        let collection = Self::COLLECTION.to_owned();
        Ok(Link { project: project.to_owned(), region: None, collection, name }.to_string())
    }
}

impl ServiceAccount {
    fn plan_region(&mut self, _gcp: &Gcp) {}

    /// The member name in IAM policies.
    ///
    /// # Errors
    /// The ID is not that of an account.
    pub(super) fn member(&self) -> Result<String, ApiError> {
        let (_, email) = link::global("serviceAccounts.get", self.id.value()?)?;
        Ok(format!("serviceAccount:{email}"))
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

pub(super) fn schema() -> Schema {
    Schema::new(
        "A service account for a gateway, which can read the given secrets and nothing else. The resource binds \
         `roles/secretmanager.secretAccessor` in the IAM policy of each secret.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(check_name).describe(
            "ID of the account, unique in the project: 6 to 30 lowercase letters, digits or hyphens, starting with a \
             letter and not ending with a hyphen. Changing this replaces the account.",
        ),
        Attribute::string("id")
            .computed()
            .keeps()
            .describe("ID in the form `projects/PROJECT/serviceAccounts/EMAIL`, the same as in hashicorp/google."),
        Attribute::of("secrets", Type::set(Type::String))
            .required()
            .validate(ranges::each(link::check("secrets")))
            .describe("IDs of the secrets that the account can read. Updated in place."),
        Attribute::string("email").computed().keeps().describe("Email address of the account, for `service_account` \
             of `warren_gcp_gateway`."),
        Attribute::string("unique_id").computed().keeps().describe("Unique numeric ID of the account, which Google \
             never reuses."),
    ])
    .attribute(common::description().validate(check_length))
    .attributes(common::tail())
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
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

fn check_length(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str().is_some_and(|text| text.len() > LONGEST) {
        let why = format!("The description of a service account can have up to {LONGEST} bytes. Shorten it.");
        diagnostics.error_at(path.clone(), "Invalid description", why);
    }
}
