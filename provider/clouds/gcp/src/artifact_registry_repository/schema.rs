//! Attributes and state of `warren_gcp_artifact_registry_repository`.

use std::collections::BTreeMap;

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};
use warren_managed::{Common, Timeouts};

use super::api::Found;
use crate::common::{self, placed};
use crate::session::Gcp;

/// Labels as a configuration writes them.
pub(super) type Labels = Attr<BTreeMap<String, Attr<String>>>;

const FABRIC: &str = "warren-fabric";
const OWNER: &str = "warren-owner";
const NAME: &str = "warren-name";

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

impl Common for Repository {
    type Cloud = Gcp;
    const KIND: &'static str = "warren_gcp_artifact_registry_repository";

    fn name(&self) -> &Attr<String> {
        &self.name
    }
    fn id(&self) -> &Attr<String> {
        &self.id
    }
    fn timeouts(&self) -> &Attr<Timeouts> {
        &self.timeouts
    }
    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }
    /// It has labels, so that the description is the user's alone.
    fn marks(&self, _gcp: &Gcp) -> String {
        String::new()
    }
    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        let Some(gcp) = gcp else { return };
        self.plan_region(gcp);
        if self.id.is_unknown()
            && let Some(id) = common::Located::place(self, &gcp.project)
        {
            self.id = id.into();
        }
    }
}

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
        Attribute::of("labels", Type::map(Type::String)).optional().validate(labels).describe(
            "Labels; keys and values of up to 63 characters of `a-z`, `0-9`, `_` and `-`. Keys do not begin with \
             `warren-`. Changes in place.",
        ),
        Attribute::of("effective_labels", Type::map(Type::String)).computed().describe(
            "All labels: `labels`, and those that find the object again (`warren-fabric`, `warren-owner`, \
             `warren-name`).",
        ),
        Attribute::string("registry_uri").computed().keeps().describe(
            "Where clients push and pull, such as `us-central1-docker.pkg.dev/acme-ml/images`.",
        ),
    ])
    .attributes(common::tail())
}

fn labels(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(labels) = value else { return };
    let plain = |text: &str| {
        text.len() <= 63
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
    };
    for (key, value) in labels {
        let why = if key.starts_with("warren-") {
            "the prefix `warren-` is kept for this provider"
        } else if !plain(key) || !key.starts_with(|c: char| c.is_ascii_lowercase()) {
            "a key has 1 to 63 characters of `a-z`, `0-9`, `_` and `-`, a letter first"
        } else if value.as_str().is_some_and(|value| !plain(value)) {
            "a value has up to 63 characters of `a-z`, `0-9`, `_` and `-`"
        } else {
            continue;
        };
        diagnostics.error_at(
            path.key(key),
            "Label not possible",
            format!("The label {key:?} cannot be set: {why}."),
        );
    }
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

/// All labels of the planned repository; unknown while a part of them is.
pub(super) fn planned_labels(gcp: Option<&Gcp>, planned: &Repository) -> Labels {
    let unknown = planned.labels.is_unknown()
        || planned.labels.known().into_iter().flatten().any(|(_, value)| value.is_unknown());
    match gcp {
        Some(gcp) if !unknown && planned.name.is_known() => Attr::Known(
            all_labels(gcp, planned).into_iter().map(|(key, value)| (key, value.into())).collect(),
        ),
        _ => Attr::Unknown,
    }
}

/// All labels of a repository.
pub(super) fn all_labels(gcp: &Gcp, planned: &Repository) -> BTreeMap<String, String> {
    let user = planned.labels.known().into_iter().flatten();
    user.filter_map(|(key, value)| Some((key.clone(), value.known()?.clone())))
        .chain([
            (FABRIC.to_owned(), gcp.scope.fabric.clone()),
            (OWNER.to_owned(), gcp.scope.owner.clone()),
            (NAME.to_owned(), planned.name.text().to_owned()),
        ])
        .collect()
}

/// Whose repository the labels say it is: fabric, owner, name.
pub(super) fn owner(labels: &BTreeMap<String, String>) -> Option<[&str; 3]> {
    let get = |key| labels.get(key).map(String::as_str);
    Some([get(FABRIC)?, get(OWNER)?, get(NAME)?])
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Repository) -> Repository {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.location = found.location.into();
    state.immutable_tags = if found.format == "DOCKER" {
        found.immutable_tags.into()
    } else if before.immutable_tags.is_known() {
        before.immutable_tags
    } else {
        true.into()
    };
    state.format = found.format.into();
    state.kms_key_name = some(found.kms_key);
    state.description = some(found.description);
    let user: BTreeMap<String, Attr<String>> = found
        .labels
        .iter()
        .filter(|(key, _)| !key.starts_with("warren-") && !key.starts_with("goog-"))
        .map(|(key, value)| (key.clone(), value.as_str().into()))
        .collect();
    state.labels = if user.is_empty() && !before.labels.is_known() { Attr::Null } else { user.into() };
    state.effective_labels =
        Attr::Known(found.labels.into_iter().map(|(key, value)| (key, value.into())).collect());
    state.registry_uri = found.uri.into();
    state
}

fn some(text: String) -> Attr<String> {
    if text.is_empty() { Attr::Null } else { text.into() }
}
