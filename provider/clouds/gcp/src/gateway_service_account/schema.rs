//! Attributes and state of `warren_gcp_gateway_service_account`.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};
use warren_managed::{Timeouts, ranges, sets};

use super::api::Found;
use crate::common::{self, Located, common};
use crate::link::{self, Link};
use crate::marker;
use crate::session::Gcp;

/// Longest text of the user's: Google takes 256 bytes, of which the marker needs some.
const LONGEST: usize = 100;

model! {
    /// A service account and what it may read.
    pub struct ServiceAccount {
        /// The account's id: what stands before the `@`.
        pub name: Attr<String>,
        /// `projects/P/serviceAccounts/EMAIL`.
        pub id: Attr<String>,
        /// Ids of secrets that may be read.
        pub secrets: sets::Texts,
        /// What a machine is given.
        pub email: Attr<String>,
        /// Number that no other account ever has.
        pub unique_id: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(@common ServiceAccount, "warren_gcp_gateway_service_account");

impl Located for ServiceAccount {
    const COLLECTION: &'static str = "serviceAccounts";

    fn region(&self) -> Option<&Attr<String>> {
        None
    }

    fn place(&self, project: &str) -> Option<String> {
        let name = email(project, self.name.known()?);
        let collection = Self::COLLECTION.to_owned();
        Some(Link { project: project.to_owned(), region: None, collection, name }.to_string())
    }
}

impl ServiceAccount {
    fn plan_region(&mut self, _gcp: &Gcp) {}

    /// How policies name it.
    pub(super) fn member(&self) -> String {
        let link = Link::parse(self.id.text());
        member(&link.map(|link| link.name).unwrap_or_default())
    }
}

/// The address of an account; Google makes it of its id and the project's.
pub(super) fn email(project: &str, name: &str) -> String {
    // A project of an organisation's domain is written `example.com:project`.
    let domain = match project.split_once(':') {
        Some((domain, project)) => format!("{project}.{domain}"),
        None => project.to_owned(),
    };
    format!("{name}@{domain}.iam.gserviceaccount.com")
}

/// How policies name an account.
pub(super) fn member(email: &str) -> String {
    format!("serviceAccount:{email}")
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "A service account for a gateway. It may read the named secrets, by a binding of \
         `roles/secretmanager.secretAccessor` in the policy of each, and nothing else.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(check_name).describe(
            "Id of the account: 6 to 30 characters of `a-z`, `0-9` and `-`, a letter first; unique in the project. A \
             change replaces the account.",
        ),
        Attribute::string("id")
            .computed()
            .keeps()
            .describe("`projects/P/serviceAccounts/EMAIL`, as hashicorp/google writes it."),
        Attribute::of("secrets", Type::set(Type::String))
            .required()
            .validate(ranges::each(link::check("secrets")))
            .describe("Ids of the secrets that may be read. Changes in place."),
        Attribute::string("email").computed().keeps().describe("Address of the account, for `warren_gcp_gateway`."),
        Attribute::string("unique_id").computed().keeps().describe("Number that no other account ever has."),
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
            "Name not possible",
            format!(
                "{name:?} is no id of a service account: 6 to 30 characters of `a-z`, `0-9` and `-`, a letter first, no \
                 `-` last."
            ),
        );
    }
}

fn check_length(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str().is_some_and(|text| text.len() > LONGEST) {
        let why = format!("The description of a service account has up to {LONGEST} bytes.");
        diagnostics.error_at(path.clone(), "Description not possible", why);
    }
}

/// The state that what was found makes of `before`; `open` are the secrets that it may read.
pub(super) fn state(found: Found, open: BTreeSet<String>, before: &ServiceAccount) -> ServiceAccount {
    let mut state = before.clone();
    state.secrets = sets::of(open);
    state.name = found.email.split('@').next().unwrap_or_default().into();
    state.email = found.email.into();
    state.unique_id = found.unique_id.into();
    state.description = marker::user(&found.description);
    state.id = found.id.into();
    state
}
