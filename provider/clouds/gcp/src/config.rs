//! The `gcp` attribute of the provider block.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, Type, model};

model! {
    /// The `gcp` attribute of the provider block.
    pub struct GcpConfig {
        /// ID of the project. Defaults to gcloud's environment variables.
        pub project: Attr<String>,
        /// Default region of regional resources, such as `us-central1`.
        pub region: Attr<String>,
        /// URL that serves every API, for emulators.
        pub endpoint_url: Attr<String>,
        /// Projects that the provider may change.
        pub allowed_projects: Attr<BTreeSet<Attr<String>>>,
        /// Networks that the check against live networks ignores.
        pub ignore_live: Attr<BTreeSet<Attr<String>>>,
    }
}

/// Environment variables that name the project when the provider block does not.
pub(crate) const PROJECT_VARIABLES: [&str; 4] =
    ["GOOGLE_CLOUD_PROJECT", "GOOGLE_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"];

/// Environment variables that name the region when the provider block does not.
pub(crate) const REGION_VARIABLES: [&str; 3] = ["GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION"];

/// The attribute `gcp` of the provider block.
///
/// It accepts no keys or tokens: the provider uses Application Default Credentials.
pub fn provider_attribute() -> Attribute {
    Attribute::nested(
        "gcp",
        Nesting::Single,
        [
            Attribute::string("project").optional().describe(
                "ID of the project. Defaults to the environment variable `GOOGLE_CLOUD_PROJECT`, `GOOGLE_PROJECT`, \
                 `GCLOUD_PROJECT` or `CLOUDSDK_CORE_PROJECT`.",
            ),
            Attribute::string("region").optional().describe(
                "Default region for resources that do not set one, such as `us-central1`. Defaults to the \
                 environment variable `GOOGLE_REGION`, `GCLOUD_REGION` or `CLOUDSDK_COMPUTE_REGION`.",
            ),
            Attribute::string("endpoint_url").optional().describe(
                "URL that serves every Google API, for emulators. The provider sends no credentials to it.",
            ),
            Attribute::of("allowed_projects", Type::set(Type::String)).optional().describe(
                "IDs of the projects that the provider may change. It rejects any other project before the first API \
                 call.",
            ),
            Attribute::of("ignore_live", Type::set(Type::String)).optional().describe(
                "IDs of networks that the check of planned ranges against live networks ignores, such as \
                 `projects/acme/global/networks/legacy`.",
            ),
        ],
    )
    .optional()
    .describe(
        "Google Cloud project and region. The provider uses Application Default Credentials: \
         `GOOGLE_APPLICATION_CREDENTIALS`, `gcloud auth application-default login`, Workload Identity Federation or \
         the metadata server.",
    )
}
