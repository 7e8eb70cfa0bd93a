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
        /// The number of the organisation's access policy.
        pub access_policy: Attr<String>,
        /// What people call it.
        pub title: Attr<String>,
        /// What is enforced.
        pub status: Attr<Config>,
        /// What is only logged.
        pub spec: Attr<Config>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }

    /// What is inside, what is protected, and what may pass.
    pub struct Config {
        /// Projects by number, and networks.
        pub resources: Texts,
        /// APIs such as `storage.googleapis.com`.
        pub restricted_services: Texts,
        /// Access levels that let callers in.
        pub access_levels: Texts,
        /// APIs that networks inside may call; null is all.
        pub vpc_accessible_services: Texts,
        /// What may come in.
        pub ingress_policies: Attr<BTreeSet<Ingress>>,
        /// What may go out.
        pub egress_policies: Attr<BTreeSet<Egress>>,
    }

    /// Who may come in, and to what.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Ingress {
        /// Such as `ANY_SERVICE_ACCOUNT`.
        pub identity_type: Attr<String>,
        /// Such as `serviceAccount:runner@acme-ci.iam.gserviceaccount.com`.
        pub identities: Texts,
        /// Access levels that the call meets; `*` is any caller.
        pub source_access_levels: Texts,
        /// Projects and networks that the call comes from.
        pub source_resources: Texts,
        /// Projects inside; `*` is all.
        pub resources: Texts,
        /// What may be called.
        pub operations: Attr<BTreeSet<Operation>>,
    }

    /// Who may go out, and to what.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Egress {
        /// Such as `ANY_SERVICE_ACCOUNT`.
        pub identity_type: Attr<String>,
        /// Such as `serviceAccount:trainer@acme-ml.iam.gserviceaccount.com`.
        pub identities: Texts,
        /// Projects outside; `*` is all.
        pub resources: Texts,
        /// Such as `s3://acme-datasets`.
        pub external_resources: Texts,
        /// What may be called.
        pub operations: Attr<BTreeSet<Operation>>,
    }

    /// Calls of one API.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Operation {
        /// Such as `storage.googleapis.com`; `*` is every API.
        pub service_name: Attr<String>,
        /// Methods; `*` is all.
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

    /// It lives in an access policy of the organisation, not in the project.
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

/// The policy's number and the perimeter's name in an id.
pub(super) fn parts(id: &str) -> Option<(&str, &str)> {
    let (policy, name) = id.strip_prefix("accessPolicies/")?.split_once("/servicePerimeters/")?;
    let whole = !policy.is_empty() && !name.is_empty() && !policy.contains('/') && !name.contains('/');
    whole.then_some((policy, name))
}

/// A model with just the id.
pub(super) fn imported(id: &str) -> Result<ServicePerimeter, Diagnostics> {
    if parts(id).is_none() {
        let detail = format!(
            "{id:?} is no id of a service perimeter. Write it as `accessPolicies/1234567890/servicePerimeters/training`."
        );
        return Err(Diagnostic::error("Not an id", detail).into());
    }
    Ok(ServicePerimeter { id: id.into(), ..ServicePerimeter::default() })
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "A regular perimeter of VPC Service Controls: Google's APIs carry no data of its projects out, and let nobody \
         outside in, whatever IAM allows, but for what its policies let pass. It belongs to an organisation's access \
         policy (`gcloud access-context-manager policies list`); one without an organisation can have none. Google takes \
         up to 30 minutes to enforce a change. Titles of policies, IAM roles in them, and sources of egress are not \
         managed: a change of the configuration takes them away.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(check::name).describe(
            "Name of the perimeter: 1 to 50 letters, digits and `_`, a letter first; unique in the access policy. A \
             change replaces the perimeter.",
        ),
        Attribute::string("id").computed().keeps().describe(
            "`accessPolicies/P/servicePerimeters/N`, as hashicorp/google writes it.",
        ),
        Attribute::string("access_policy").required().replaces().validate(check::policy).describe(
            "Number of the access policy, such as `1234567890`. A change replaces the perimeter.",
        ),
        Attribute::string("title").required().validate(check::title).describe(
            "What people call it; unique in the access policy. Changes in place.",
        ),
        config("status", "What is enforced. Changes in place. Default: nothing."),
        config(
            "spec",
            "A dry run: what it would refuse is logged, not refused, beside what `status` enforces. Changes in place. \
             Default: none.",
        ),
    ])
    .attribute(common::description())
    .attributes(common::tail())
}

fn config(name: &str, text: &str) -> Attribute {
    let projects = "`projects/123456789012` (by number, not by id), a folder `folders/123`, or a network \
                    `//compute.googleapis.com/projects/acme-ml/global/networks/hub`";
    Attribute::nested(
        name,
        Nesting::Single,
        [
            texts("resources", &format!("What is inside: {projects}. A project is inside one regular perimeter at most.")),
            texts("restricted_services", "The APIs that are protected, such as `storage.googleapis.com`."),
            texts(
                "access_levels",
                "Access levels of the same policy that let a caller in from the internet, such as \
                 `accessPolicies/1234567890/accessLevels/office`.",
            ),
            texts(
                "vpc_accessible_services",
                "The APIs that networks inside may call; `RESTRICTED-SERVICES` stands for those that are protected, and an \
                 empty set for none. Default: all.",
            ),
            Attribute::nested("ingress_policies", Nesting::Set, ingress(projects))
                .optional()
                .describe("What may come in. A call passes when one of them lets it."),
            Attribute::nested("egress_policies", Nesting::Set, egress())
                .optional()
                .describe("What may go out. A call passes when one of them lets it."),
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
            "Access levels of the same policy that a call must meet; `*` is any caller.",
        ),
        texts("source_resources", &format!("Where a call may come from: {projects}.")),
        texts("resources", "Projects inside that may be reached, by number as above; `*` is all."),
        operations(),
    ]);
    attributes
}

fn egress() -> Vec<Attribute> {
    let mut attributes = who();
    attributes.extend([
        texts("resources", "Projects outside that may be reached, by number as above; `*` is all."),
        texts(
            "external_resources",
            "Buckets of other clouds that may be reached, such as `s3://acme-datasets`.",
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
                "Who may: `ANY_IDENTITY`, `ANY_USER_ACCOUNT` or `ANY_SERVICE_ACCOUNT`. Set this or `identities`.",
            ),
        texts("identities", "Who may, such as `serviceAccount:trainer@acme-ml.iam.gserviceaccount.com`."),
    ]
}

fn operations() -> Attribute {
    Attribute::nested(
        "operations",
        Nesting::Set,
        [
            Attribute::string("service_name")
                .required()
                .describe("The API, such as `storage.googleapis.com`; `*` is every API, without methods."),
            texts("methods", "Methods, such as `google.storage.objects.get`; `*` is all."),
            texts("permissions", "Permissions, for APIs that name no methods."),
        ],
    )
    .optional()
    .describe("What may be called.")
}

fn texts(name: &str, text: &str) -> Attribute {
    Attribute::of(name, Type::set(Type::String)).optional().describe(text)
}

/// The state that what was found makes of `before`.
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

/// What was written, where it means what was found.
fn kept(before: &Attr<Config>, found: Option<Config>) -> Attr<Config> {
    if !before.is_unknown() && plain(before) == found { before.clone() } else { found.into() }
}

/// A configuration as the API has it: a set without elements is none, and so is a configuration without sets. What
/// networks may call is another matter: there an empty set is nothing.
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
