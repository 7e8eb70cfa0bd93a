//! Attributes and state of `warren_gcp_service_perimeter`.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Type, model};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use super::api::Found;
use super::check;
use crate::common::{self, Located, common};
use crate::marker;
use crate::session::Gcp;

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
    fn place(&self, _project: &str) -> Option<String> {
        Some(format!("{}/servicePerimeters/{}", policy(self.access_policy.known()?), self.name.known()?))
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
        Attribute::string("name").required().replaces().validate(check::name).describe(
            "Name of the perimeter, unique in the access policy: 1 to 50 letters, digits or underscores, starting \
             with a letter. Changing this replaces the perimeter.",
        ),
        Attribute::string("id").computed().keeps().describe(
            "ID in the form `accessPolicies/POLICY/servicePerimeters/NAME`, the same as in hashicorp/google.",
        ),
        Attribute::string("access_policy").required().replaces().validate(check::policy).describe(
            "Number of the access policy, such as `1234567890`. Changing this replaces the perimeter.",
        ),
        Attribute::string("title").required().validate(check::title).describe(
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

/// Updates the state `before` with what the API returned.
pub(super) fn state(found: Found, before: &ServicePerimeter) -> ServicePerimeter {
    let (policy, name) = parts(&found.id).unwrap_or_default();
    let mut state = before.clone();
    state.name = name.into();
    state.access_policy = policy.into();
    state.title = found.title.as_str().into();
    state.status = kept(&before.status, found.status);
    state.spec = kept(&before.spec, found.spec);
    state.description = marker::user(&found.description);
    state.id = found.id.into();
    state
}

/// The configuration as it was written, if it means the same as what was found.
fn kept(before: &Attr<Config>, found: Option<Config>) -> Attr<Config> {
    if !before.is_unknown() && plain(before) == found { before.clone() } else { found.into() }
}

/// A configuration as the API returns it: empty sets are null, and so is a configuration without sets. The exception is
/// `vpc_accessible_services`, where an empty set permits no API.
pub(super) fn plain(config: &Attr<Config>) -> Option<Config> {
    let config = config.known()?;
    let plain = Config {
        resources: some(&config.resources),
        restricted_services: some(&config.restricted_services),
        access_levels: some(&config.access_levels),
        vpc_accessible_services: config.vpc_accessible_services.clone(),
        ingress_policies: all(&config.ingress_policies, |policy| Ingress {
            identity_type: policy.identity_type.clone(),
            identities: some(&policy.identities),
            source_access_levels: some(&policy.source_access_levels),
            source_resources: some(&policy.source_resources),
            resources: some(&policy.resources),
            operations: all(&policy.operations, operation),
        }),
        egress_policies: all(&config.egress_policies, |policy| Egress {
            identity_type: policy.identity_type.clone(),
            identities: some(&policy.identities),
            resources: some(&policy.resources),
            external_resources: some(&policy.external_resources),
            operations: all(&policy.operations, operation),
        }),
    };
    (plain != Config::default()).then_some(plain)
}

fn operation(operation: &Operation) -> Operation {
    Operation {
        service_name: operation.service_name.clone(),
        methods: some(&operation.methods),
        permissions: some(&operation.permissions),
    }
}

fn some(set: &Texts) -> Texts {
    if sets::is_empty(set) { Attr::Null } else { set.clone() }
}

fn all<T: Ord>(set: &Attr<BTreeSet<T>>, plain: impl Fn(&T) -> T) -> Attr<BTreeSet<T>> {
    match set.known() {
        Some(items) if !items.is_empty() => Attr::Known(items.iter().map(plain).collect()),
        _ => Attr::Null,
    }
}

/// The paths of both configurations.
pub(super) fn configs(perimeter: &ServicePerimeter) -> impl Iterator<Item = (Path, &Config)> {
    [("status", &perimeter.status), ("spec", &perimeter.spec)]
        .into_iter()
        .filter_map(|(name, config)| Some((Path::of(name), config.known()?)))
}
