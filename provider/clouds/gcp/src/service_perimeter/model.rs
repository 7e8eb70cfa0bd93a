//! The schema and state of `warren_gcp_service_perimeter`.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, NotKnown, Path, Type, Value, model};
use warren_managed::Timeouts;
use warren_managed::sets::Texts;

use crate::account::Gcp;
use crate::common::{self, Located, common};

model! {
    /// A perimeter.
    pub struct ServicePerimeter {
        /// Unique in the access policy.
        pub name: Attr<String>,
        /// `accessPolicies/P/servicePerimeters/N`.
        pub id: Attr<String>,
        /// Number of the organisation's access policy.
        pub access_policy: Attr<String>,
        /// Title.
        pub title: Attr<String>,
        /// Enforced configuration.
        pub status: Attr<Config>,
        /// Dry-run configuration.
        pub spec: Attr<Config>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }

    /// Resources, protected APIs, and policies.
    pub struct Config {
        /// Projects by number, folders, and networks.
        pub resources: Texts,
        /// APIs such as `storage.googleapis.com`.
        pub restricted_services: Texts,
        /// Access levels that admit callers.
        pub access_levels: Texts,
        /// APIs that networks inside can call; null means all.
        pub vpc_accessible_services: Texts,
        /// Admitted requests from outside.
        pub ingress_policies: Attr<BTreeSet<Ingress>>,
        /// Admitted requests from inside.
        pub egress_policies: Attr<BTreeSet<Egress>>,
    }

    /// An ingress policy.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Ingress {
        /// Such as `ANY_SERVICE_ACCOUNT`.
        pub identity_type: Attr<String>,
        /// Such as `serviceAccount:runner@acme-ci.iam.gserviceaccount.com`.
        pub identities: Texts,
        /// Access levels of the caller; `*` means any caller.
        pub source_access_levels: Texts,
        /// Projects and networks of the caller.
        pub source_resources: Texts,
        /// Projects inside; `*` means all.
        pub resources: Texts,
        /// Admitted operations.
        pub operations: Attr<BTreeSet<Operation>>,
    }

    /// An egress policy.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Egress {
        /// Such as `ANY_SERVICE_ACCOUNT`.
        pub identity_type: Attr<String>,
        /// Such as `serviceAccount:trainer@acme-ml.iam.gserviceaccount.com`.
        pub identities: Texts,
        /// Projects outside; `*` means all.
        pub resources: Texts,
        /// Such as `s3://acme-datasets`.
        pub external_resources: Texts,
        /// Admitted operations.
        pub operations: Attr<BTreeSet<Operation>>,
    }

    /// Operations of one API.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Operation {
        /// Such as `storage.googleapis.com`; `*` means every API.
        pub service_name: Attr<String>,
        /// Methods; `*` means all.
        pub methods: Texts,
        /// Permissions.
        pub permissions: Texts,
    }
}

common!(@common ServicePerimeter, "warren_gcp_service_perimeter");

impl Located for ServicePerimeter {
    const COLLECTION: &'static str = "servicePerimeters";

    fn region(&self) -> Option<&Attr<String>> {
        None
    }

    /// A perimeter belongs to an access policy of the organisation, not to the project.
    fn place(&self, _project: &str) -> Result<String, NotKnown> {
        Ok(format!("{}/servicePerimeters/{}", policy(self.access_policy.value()?), self.name.value()?))
    }
}

impl ServicePerimeter {
    fn plan_region(&mut self, _gcp: &Gcp) {}
}

/// The name of the access policy of this number.
pub(super) fn policy(number: &str) -> String {
    format!("accessPolicies/{number}")
}

/// The policy's number and the perimeter's name in an ID.
pub(super) fn parts(id: &str) -> Option<(&str, &str)> {
    let (policy, name) = id.strip_prefix("accessPolicies/")?.split_once("/servicePerimeters/")?;
    let whole = !policy.is_empty() && !name.is_empty() && !policy.contains('/') && !name.contains('/');
    whole.then_some((policy, name))
}

/// A model with just the ID.
pub(super) fn imported(id: &str) -> Result<ServicePerimeter, Diagnostics> {
    if parts(id).is_none() {
        let detail = format!(
            "{id:?} is not the ID of a service perimeter. Use the form \
             `accessPolicies/1234567890/servicePerimeters/training`."
        );
        return Err(Diagnostic::error("Invalid ID", detail).into());
    }
    Ok(ServicePerimeter { id: id.into(), ..ServicePerimeter::default() })
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "A regular service perimeter of VPC Service Controls. Google APIs keep the data of its projects inside and \
         reject callers from outside, whatever IAM allows, except for traffic that an ingress or egress policy \
         admits. A perimeter belongs to the access policy of an organisation (`gcloud access-context-manager \
         policies list`), so projects without an organisation cannot use it. Google takes up to 30 minutes to \
         enforce a change. The provider does not manage policy titles, IAM roles in policies or sources of egress \
         policies: changing `status` or `spec` removes them.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(check_name).describe(
            "Name of the perimeter, unique in the access policy: 1 to 50 letters, digits or underscores, starting \
             with a letter. Changing this replaces the perimeter.",
        ),
        Attribute::string("id").computed().keeps().describe(
            "ID in the form `accessPolicies/POLICY/servicePerimeters/NAME`, the same as in hashicorp/google.",
        ),
        Attribute::string("access_policy").required().replaces().validate(check_policy).describe(
            "Number of the access policy, such as `1234567890`. Changing this replaces the perimeter.",
        ),
        Attribute::string("title").required().validate(check_title).describe(
            "Human-readable title, unique in the access policy. Updated in place.",
        ),
        config("status", "The enforced configuration. Updated in place. Defaults to no enforcement."),
        config(
            "spec",
            "The dry-run configuration: Google logs requests that it would deny, but does not block them. It is \
             independent of `status`. Updated in place. Defaults to no dry run.",
        ),
    ])
    .attribute(common::description())
    .attributes(common::tail())
}

fn config(name: &str, text: &str) -> Attribute {
    let projects = "`projects/123456789012` (project number, not ID), a folder `folders/123`, or a network \
                    `//compute.googleapis.com/projects/acme-ml/global/networks/hub`";
    Attribute::nested(
        name,
        Nesting::Single,
        [
            texts("resources", &format!("Resources inside the perimeter: {projects}. A project can be in one regular \
                 perimeter only.")),
            texts("restricted_services", "APIs that the perimeter protects, such as `storage.googleapis.com`."),
            texts(
                "access_levels",
                "Access levels of the same access policy that admit callers from the internet, such as \
                 `accessPolicies/1234567890/accessLevels/office`.",
            ),
            texts(
                "vpc_accessible_services",
                "APIs that networks inside the perimeter can call. `RESTRICTED-SERVICES` stands for the protected \
                 APIs; an empty set permits none. Defaults to all APIs.",
            ),
            Attribute::nested("ingress_policies", Nesting::Set, ingress(projects))
                .optional()
                .describe("Ingress policies: requests from outside that are admitted. A request needs to match one \
                     of them."),
            Attribute::nested("egress_policies", Nesting::Set, egress())
                .optional()
                .describe("Egress policies: requests from inside that are admitted. A request needs to match one of \
                     them."),
        ],
    )
    .optional()
    .describe(text)
}

fn ingress(projects: &str) -> Vec<Attribute> {
    let mut attributes = who();
    attributes.extend([
        texts(
            "source_access_levels",
            "Access levels of the same access policy that the request must meet; `*` admits any caller.",
        ),
        texts("source_resources", &format!("Sources of the request: {projects}.")),
        texts(
            "resources",
            "Projects inside the perimeter that can be reached, in the form `projects/123456789012`; \
             `*` means all.",
        ),
        operations(),
    ]);
    attributes
}

fn egress() -> Vec<Attribute> {
    let mut attributes = who();
    attributes.extend([
        texts(
            "resources",
            "Projects outside the perimeter that can be reached, in the form `projects/123456789012`; \
             `*` means all.",
        ),
        texts(
            "external_resources",
            "Storage buckets in other clouds that can be reached, such as `s3://acme-datasets`.",
        ),
        operations(),
    ]);
    attributes
}

fn who() -> Vec<Attribute> {
    vec![
        Attribute::string("identity_type")
            .optional()
            .validate(common::one_of(&["ANY_IDENTITY", "ANY_USER_ACCOUNT", "ANY_SERVICE_ACCOUNT"]))
            .describe(
                "Callers by type: `ANY_IDENTITY`, `ANY_USER_ACCOUNT` or `ANY_SERVICE_ACCOUNT`. Set either this or \
                 `identities`.",
            ),
        texts("identities", "Callers by name, such as `serviceAccount:trainer@acme-ml.iam.gserviceaccount.com`. Set \
             either this or `identity_type`."),
    ]
}

fn operations() -> Attribute {
    Attribute::nested(
        "operations",
        Nesting::Set,
        [
            Attribute::string("service_name").required().describe(
                "API, such as `storage.googleapis.com`; `*` means every method of every API, and excludes \
                     `methods` and `permissions`.",
            ),
            texts("methods", "Methods of the API, such as `google.storage.objects.get`; `*` means all."),
            texts("permissions", "IAM permissions, for APIs that do not support methods."),
        ],
    )
    .optional()
    .describe("Operations that are admitted.")
}

fn texts(name: &str, text: &str) -> Attribute {
    Attribute::of(name, Type::set(Type::String)).optional().describe(text)
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let fits = (1..=50).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !fits {
        let detail = format!(
            "{name:?} is not a valid perimeter name. Use 1 to 50 letters, digits or underscores, starting with a \
             letter."
        );
        diagnostics.error_at(path.clone(), "Invalid name", detail);
    }
}

fn check_policy(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = value.as_str().unwrap_or_default();
    if !is_number(number) {
        let detail = format!(
            "{number:?} is not the number of an access policy. Use the number that `gcloud access-context-manager \
             policies list --organization N` shows, without `accessPolicies/`."
        );
        diagnostics.error_at(path.clone(), "Invalid access policy", detail);
    }
}

fn check_title(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str().unwrap_or_default().trim().is_empty() {
        diagnostics.error_at(
            path.clone(),
            "Missing title",
            "The title is empty. Set a title that identifies the perimeter to people.",
        );
    }
}

/// Whether the text is the number of a project, folder or access policy.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
