//! Attributes and state of `warren_gcp_artifact_registry_repository`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, model};
use warren_managed::Timeouts;

use super::api::Found;
use crate::common::{self, placed};
use crate::labels::{self, Labels, labelled};

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
        /// Whether a tag of an image never moves.
        pub immutable_tags: Attr<bool>,
        /// Whether images are scanned for known vulnerabilities.
        pub scan_on_push: Attr<bool>,
        /// How many versions of each image or package stay.
        pub keep_last_versions: Attr<i64>,
        /// Key of Cloud KMS.
        pub kms_key_name: Attr<String>,
        /// What the repository is for.
        pub description: Attr<String>,
        /// The user's labels.
        pub labels: Labels,
        /// All labels.
        pub effective_labels: Labels,
        /// Such as `us-central1-docker.pkg.dev/acme-ml/images`.
        pub registry_uri: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

labelled!(Repository, "warren_gcp_artifact_registry_repository");
placed!(Repository, location "repositories");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A repository of Artifact Registry, for container images unless `format` says otherwise. Machines without a \
         public address pull from it through private Google access or an endpoint of Private Service Connect.",
    )
    .attributes(common::head("repository", "projects/P/locations/L/repositories/N"))
    .attributes([
        Attribute::string("location").optional().computed().keeps().replaces().describe(
            "Region, such as `us-central1`, or a group of them, such as `us`. Default: the provider's region. A change \
             replaces the repository.",
        ),
        Attribute::string("format")
            .default("DOCKER")
            .replaces()
            .validate(common::one_of(&["DOCKER", "MAVEN", "NPM", "APT", "YUM", "PYTHON", "GO", "GENERIC"]))
            .describe("What it holds. A change replaces the repository. Default: `DOCKER`, container images."),
        Attribute::bool("immutable_tags").default(true).describe(
            "Of `DOCKER`: whether a tag, once pushed, never moves, so that a pod gets the image that was tested. Changes \
             in place. Default: `true`; for other formats it means nothing.",
        ),
        Attribute::bool("scan_on_push").default(true).describe(
            "Of `DOCKER`: whether images are scanned for known vulnerabilities when they are pushed, where the project \
             has the Container Scanning API switched on. Changes in place. Default: `true`; for other formats it means \
             nothing.",
        ),
        Attribute::number("keep_last_versions").optional().validate(common::between(1, 100_000)).describe(
            "How many versions of each image or package stay, the newest; Artifact Registry removes the others, about \
             once a day. Changes in place. Default: all stay, or what policies made by other means say.",
        ),
        Attribute::string("kms_key_name").optional().replaces().describe(
            "Key of Cloud KMS that encrypts it. A change replaces the repository. Default: a key of Google's.",
        ),
        Attribute::string("description").optional().validate(|value, path, diagnostics| {
            let length = value.as_str().unwrap_or_default().chars().count();
            if !(1..=1024).contains(&length) {
                diagnostics.error_at(path.clone(), "Description not possible", "A description has 1 to 1024 characters.");
            }
        })
        .describe("What the repository is for. Changes in place."),
        Attribute::string("registry_uri").computed().keeps().describe(
            "Where clients push and pull, such as `us-central1-docker.pkg.dev/acme-ml/images`.",
        ),
    ])
    .attributes(labels::attributes())
    .attributes(common::tail())
}

/// Moving tags said for a format that has none.
pub(super) fn check(repository: &Repository, diagnostics: &mut Diagnostics) {
    let other = repository.format.known().is_some_and(|format| format != "DOCKER");
    if other && repository.immutable_tags.is_true() {
        diagnostics.error_at(
            Path::of("immutable_tags"),
            "Tags without images",
            "Only repositories of `format = \"DOCKER\"` have tags: leave `immutable_tags` away.",
        );
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Repository) -> Repository {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.location = found.location.into();
    let docker = found.format == "DOCKER";
    let of_images = |found: bool, before: Attr<bool>| match (docker, before.is_known()) {
        (true, _) => found.into(),
        (false, true) => before,
        (false, false) => true.into(),
    };
    state.immutable_tags = of_images(found.immutable_tags, before.immutable_tags);
    state.scan_on_push = of_images(found.scanned, before.scan_on_push);
    state.keep_last_versions = found.cleanup.count().map_or(Attr::Null, Into::into);
    state.format = found.format.into();
    state.kms_key_name = some(found.kms_key);
    state.description = some(found.description);
    (state.labels, state.effective_labels) = labels::state(&found.labels, &before.labels);
    state.registry_uri = found.uri.into();
    state
}

fn some(text: String) -> Attr<String> {
    if text.is_empty() { Attr::Null } else { text.into() }
}
