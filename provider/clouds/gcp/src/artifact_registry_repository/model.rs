//! The schema and state of `warren_gcp_artifact_registry_repository`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};
use warren_managed::Timeouts;

use crate::common::{self, placed};
use crate::labels::{self, Labels, labelled};

/// The format of container images, the only one with tags.
pub(super) const DOCKER: &str = "DOCKER";

model! {
    /// A repository.
    pub struct Repository {
        /// Unique in the project and location.
        pub name: Attr<String>,
        /// `projects/P/locations/L/repositories/N`.
        pub id: Attr<String>,
        /// Such as `us-central1`, or `us`.
        pub location: Attr<String>,
        /// Such as `DOCKER`.
        pub format: Attr<String>,
        /// Whether tags are immutable.
        pub immutable_tags: Attr<bool>,
        /// Whether images are scanned for known vulnerabilities.
        pub scan_on_push: Attr<bool>,
        /// Number of versions to keep of each image or package.
        pub keep_last_versions: Attr<i64>,
        /// Cloud KMS key.
        pub kms_key_name: Attr<String>,
        /// Description.
        pub description: Attr<String>,
        /// The user's labels.
        pub labels: Labels,
        /// All labels.
        pub effective_labels: Labels,
        /// Such as `us-central1-docker.pkg.dev/acme-ml/images`.
        pub registry_uri: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

labelled!(Repository, "warren_gcp_artifact_registry_repository");
placed!(Repository, location "repositories");

pub(super) fn schema() -> Schema {
    Schema::new(
        "An Artifact Registry repository, for container images unless `format` selects another format. VMs without \
         an external IP address pull from it through Private Google Access, with or without a Private Service \
         Connect endpoint.",
    )
    .attributes(common::head("repository", "projects/PROJECT/locations/LOCATION/repositories/NAME"))
    .attributes([
        Attribute::string("location").optional().computed().keeps().replaces().describe(
            "Region, such as `us-central1`, or multi-region, such as `us`. Defaults to the provider's region. \
             Changing this replaces the repository.",
        ),
        Attribute::string("format")
            .default("DOCKER")
            .replaces()
            .validate(common::one_of(&["DOCKER", "MAVEN", "NPM", "APT", "YUM", "PYTHON", "GO", "GENERIC"]))
            .describe("Format of the packages in the repository. Changing this replaces the repository. Defaults to \
                 `DOCKER`, for container images."),
        Attribute::bool("immutable_tags").default(true).describe(
            "Whether a pushed tag can never move to another image, so that a pod runs exactly the image that was \
             tested. Applies to `DOCKER` repositories only. Updated in place. Defaults to `true`.",
        ),
        Attribute::bool("scan_on_push").default(true).describe(
            "Whether images are scanned for known vulnerabilities when they are pushed, if the Container Scanning \
             API is enabled in the project. Applies to `DOCKER` repositories only. Updated in place. Defaults to \
             `true`.",
        ),
        Attribute::number("keep_last_versions").optional().validate(common::between(1, 100_000)).describe(
            "Number of most recent versions to keep of each image or package, 1 to 100000. Artifact Registry deletes \
             the others about once a day. Updated in place. Defaults to keeping all versions, or to the cleanup \
             policies that others have set.",
        ),
        Attribute::string("kms_key_name").optional().replaces().describe(
            "Cloud KMS key that encrypts the repository. Changing this replaces the repository. Defaults to a key \
             that Google manages.",
        ),
        Attribute::string("description").optional().validate(|value, path, diagnostics| {
            let length = value.as_str().unwrap_or_default().chars().count();
            if !(1..=1024).contains(&length) {
                diagnostics.error_at(path.clone(), "Invalid description", "A description must have 1 to 1024 characters.");
            }
        })
        .describe("Description, 1 to 1024 characters. Updated in place."),
        Attribute::string("registry_uri").computed().keeps().describe(
            "Registry address that clients push to and pull from, such as \
             `us-central1-docker.pkg.dev/acme-ml/images`.",
        ),
    ])
    .attributes(labels::attributes())
    .attributes(common::tail())
}
