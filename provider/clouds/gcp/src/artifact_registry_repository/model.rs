//! The schema and state of `warren_gcp_artifact_registry_repository`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Diagnostics, Path, Resource, Value};
use warren_managed::HasShared;

use crate::account::Gcp;
use crate::common::{self, GcpObject, Located};
use crate::labels::{GcpLabels, LabelMap, Labelled};

/// Manages an Artifact Registry repository, for container images unless `format` selects another format. VMs without an
/// external IP address pull from it through Private Google Access, with or without a Private Service Connect endpoint.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_artifact_registry_repository",
    noun = "repository",
    scope = "project and location",
    id = "`projects/PROJECT/locations/LOCATION/repositories/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Repository {
    #[attr(flatten)]
    pub(crate) object: GcpObject<GcpLabels>,
    /// Region, such as `us-central1`, or multi-region, such as `us`. Defaults to the provider's region. Changing this
    /// replaces the repository.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) location: Attr<String>,
    /// Format of the packages in the repository. Changing this replaces the repository. Defaults to `DOCKER`, for
    /// container images.
    #[attr(default = Format::Docker, replaces)]
    pub(crate) format: Attr<Format>,
    /// Whether a pushed tag can never move to another image, so that a pod runs exactly the image that was tested.
    /// Applies to `DOCKER` repositories only. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) immutable_tags: Attr<bool>,
    /// Whether images are scanned for known vulnerabilities when they are pushed, if the Container Scanning API is
    /// enabled in the project. Applies to `DOCKER` repositories only. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) scan_on_push: Attr<bool>,
    /// Number of most recent versions to keep of each image or package, 1 to 100000. Artifact Registry deletes the
    /// others about once a day. Updated in place. Defaults to keeping all versions, or to the cleanup policies that
    /// others have set.
    #[attr(optional, validate = between(1, 100_000))]
    pub(crate) keep_last_versions: Attr<i32>,
    /// Cloud KMS key that encrypts the repository. Changing this replaces the repository. Defaults to a key that Google
    /// manages.
    #[attr(optional, replaces)]
    pub(crate) kms_key_name: Attr<String>,
    /// Description, 1 to 1024 characters. Updated in place.
    #[attr(optional, validate = check_description)]
    pub(crate) description: Attr<String>,
    /// Registry address that clients push to and pull from, such as `us-central1-docker.pkg.dev/acme-ml/images`.
    #[attr(computed, keeps)]
    pub(crate) registry_uri: Attr<String>,
}

/// Format of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Format {
    /// Container images, the only format with tags.
    #[choice("DOCKER")]
    Docker,
    #[choice("MAVEN")]
    Maven,
    #[choice("NPM")]
    Npm,
    #[choice("APT")]
    Apt,
    #[choice("YUM")]
    Yum,
    #[choice("PYTHON")]
    Python,
    #[choice("GO")]
    Go,
    #[choice("GENERIC")]
    Generic,
}

impl HasShared for Repository {
    type Shared = GcpObject<GcpLabels>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Repository {
    const COLLECTION: &'static str = "repositories";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.location)
    }

    fn region_mut(&mut self) -> Option<&mut Attr<String>> {
        Some(&mut self.location)
    }
}

impl Labelled for Repository {
    fn labels(&self) -> &LabelMap {
        &self.object.mark.labels
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let length = value.as_str().unwrap_or_default().chars().count();
    if !(1..=1024).contains(&length) {
        diagnostics.error_at(
            path.clone(),
            "Invalid description",
            "A description must have 1 to 1024 characters.",
        );
    }
}
