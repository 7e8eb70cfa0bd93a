//! The schema and state of `warren_gcp_service_perimeter`.

use std::collections::BTreeSet;

use tf_provider_rs::{Attr, Choice, Diagnostic, Diagnostics, NotKnown, Object, Path, Resource, Value};
use warren_managed::sets::Texts;
use warren_managed::{Common as _, HasShared};

use crate::account::Gcp;
use crate::common::{self, Description, GcpObject, Located, Naming, Part};

/// Manages a regular service perimeter of VPC Service Controls. Google APIs keep the data of its projects inside and
/// reject callers from outside, whatever IAM allows, except for traffic that an ingress or egress policy admits. A
/// perimeter belongs to the access policy of an organisation (`gcloud access-context-manager policies list`), so
/// projects without an organisation cannot use it. Google takes up to 30 minutes to enforce a change. The provider does
/// not manage policy titles, IAM roles in policies or sources of egress policies: changing `status` or `spec` removes
/// them.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_service_perimeter",
    noun = "perimeter",
    id = "`accessPolicies/POLICY/servicePerimeters/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct ServicePerimeter {
    #[attr(flatten)]
    pub(crate) object: GcpObject<Description, PerimeterName, Part>,
    /// Number of the access policy, such as `1234567890`. Changing this replaces the perimeter.
    #[attr(required, replaces, validate = check_policy)]
    pub(crate) access_policy: Attr<String>,
    /// Human-readable title, unique in the access policy. Updated in place.
    #[attr(required, validate = check_title)]
    pub(crate) title: Attr<String>,
    /// The enforced configuration. Updated in place. Defaults to no enforcement.
    #[attr(optional)]
    pub(crate) status: Attr<Config>,
    /// The dry-run configuration: Google logs requests that it would deny, but does not block them. It is independent of
    /// `status`. Updated in place. Defaults to no dry run.
    #[attr(optional)]
    pub(crate) spec: Attr<Config>,
}

/// Resources, protected APIs, and policies.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Config {
    /// Resources inside the perimeter: `projects/123456789012` (project number, not ID), a folder `folders/123`, or a
    /// network `//compute.googleapis.com/projects/acme-ml/global/networks/hub`. A project can be in one regular
    /// perimeter only.
    #[attr(optional)]
    pub(crate) resources: Texts,
    /// APIs that the perimeter protects, such as `storage.googleapis.com`.
    #[attr(optional)]
    pub(crate) restricted_services: Texts,
    /// Access levels of the same access policy that admit callers from the internet, such as
    /// `accessPolicies/1234567890/accessLevels/office`.
    #[attr(optional)]
    pub(crate) access_levels: Texts,
    /// APIs that networks inside the perimeter can call. `RESTRICTED-SERVICES` stands for the protected APIs; an empty
    /// set permits none. Defaults to all APIs.
    #[attr(optional)]
    pub(crate) vpc_accessible_services: Texts,
    /// Ingress policies: requests from outside that are admitted. A request needs to match one of them.
    #[attr(optional)]
    pub(crate) ingress_policies: Attr<BTreeSet<Ingress>>,
    /// Egress policies: requests from inside that are admitted. A request needs to match one of them.
    #[attr(optional)]
    pub(crate) egress_policies: Attr<BTreeSet<Egress>>,
}

/// An ingress policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Ingress {
    /// Callers by type: `ANY_IDENTITY`, `ANY_USER_ACCOUNT` or `ANY_SERVICE_ACCOUNT`. Set either this or `identities`.
    #[attr(optional)]
    pub(crate) identity_type: Attr<IdentityType>,
    /// Callers by name, such as `serviceAccount:trainer@acme-ml.iam.gserviceaccount.com`. Set either this or
    /// `identity_type`.
    #[attr(optional)]
    pub(crate) identities: Texts,
    /// Access levels of the same access policy that the request must meet; `*` admits any caller.
    #[attr(optional)]
    pub(crate) source_access_levels: Texts,
    /// Sources of the request: `projects/123456789012` (project number, not ID), a folder `folders/123`, or a network
    /// `//compute.googleapis.com/projects/acme-ml/global/networks/hub`.
    #[attr(optional)]
    pub(crate) source_resources: Texts,
    /// Projects inside the perimeter that can be reached, in the form `projects/123456789012`; `*` means all.
    #[attr(optional)]
    pub(crate) resources: Texts,
    /// Operations that are admitted.
    #[attr(optional)]
    pub(crate) operations: Attr<BTreeSet<Operation>>,
}

/// An egress policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Egress {
    /// Callers by type: `ANY_IDENTITY`, `ANY_USER_ACCOUNT` or `ANY_SERVICE_ACCOUNT`. Set either this or `identities`.
    #[attr(optional)]
    pub(crate) identity_type: Attr<IdentityType>,
    /// Callers by name, such as `serviceAccount:trainer@acme-ml.iam.gserviceaccount.com`. Set either this or
    /// `identity_type`.
    #[attr(optional)]
    pub(crate) identities: Texts,
    /// Projects outside the perimeter that can be reached, in the form `projects/123456789012`; `*` means all.
    #[attr(optional)]
    pub(crate) resources: Texts,
    /// Storage buckets in other clouds that can be reached, such as `s3://acme-datasets`.
    #[attr(optional)]
    pub(crate) external_resources: Texts,
    /// Operations that are admitted.
    #[attr(optional)]
    pub(crate) operations: Attr<BTreeSet<Operation>>,
}

/// Operations of one API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Operation {
    /// API, such as `storage.googleapis.com`; `*` means every method of every API, and excludes `methods` and
    /// `permissions`.
    #[attr(required)]
    pub(crate) service_name: Attr<String>,
    /// Methods of the API, such as `google.storage.objects.get`; `*` means all.
    #[attr(optional)]
    pub(crate) methods: Texts,
    /// IAM permissions, for APIs that do not support methods.
    #[attr(optional)]
    pub(crate) permissions: Texts,
}

/// Callers by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Choice)]
pub(crate) enum IdentityType {
    #[choice("ANY_IDENTITY")]
    Any,
    #[choice("ANY_USER_ACCOUNT")]
    Users,
    #[choice("ANY_SERVICE_ACCOUNT")]
    ServiceAccounts,
}

/// The name of a perimeter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PerimeterName;

impl Naming for PerimeterName {
    const DESCRIPTION: &'static str = "Name of the perimeter, unique in the access policy: 1 to 50 letters, digits or \
                                       underscores, starting with a letter. Changing this replaces the perimeter.";

    fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
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
}

impl HasShared for ServicePerimeter {
    type Shared = GcpObject<Description, PerimeterName, Part>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for ServicePerimeter {
    const COLLECTION: &'static str = "servicePerimeters";

    /// A perimeter belongs to an access policy of the organisation, not to the project.
    fn place(&self, _project: &str) -> Result<String, NotKnown> {
        let policy = policy(self.access_policy.value()?);
        Ok(format!("{policy}/{}/{}", Self::COLLECTION, self.name().value()?))
    }
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
    let object = GcpObject { id: id.into(), ..GcpObject::default() };
    Ok(ServicePerimeter { object, ..ServicePerimeter::default() })
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
