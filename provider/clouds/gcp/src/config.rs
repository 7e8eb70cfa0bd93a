//! The `gcp` attribute of the provider block.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, Type, model};

model! {
    /// The `gcp` attribute of the provider block.
    pub struct GcpConfig {
        /// Id of the project; else as gcloud's environment variables name it.
        pub project: Attr<String>,
        /// Such as `us-central1`; where regional resources are that name no region.
        pub region: Attr<String>,
        /// One URL for every API, for emulators.
        pub endpoint_url: Attr<String>,
        /// Projects that may be changed.
        pub allowed_projects: Attr<BTreeSet<Attr<String>>>,
        /// Networks that the check against live networks leaves out.
        pub ignore_live: Attr<BTreeSet<Attr<String>>>,
    }
}

/// Where the project is looked for when the provider block names none.
pub(crate) const PROJECT_VARIABLES: [&str; 4] =
    ["GOOGLE_CLOUD_PROJECT", "GOOGLE_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"];

/// Where the region is looked for when the provider block names none.
pub(crate) const REGION_VARIABLES: [&str; 3] = ["GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION"];

/// The attribute `gcp` of the provider block.
///
/// It takes no keys and tokens: credentials are application default ones.
pub fn provider_attribute() -> Attribute {
    Attribute::nested(
        "gcp",
        Nesting::Single,
        [
            Attribute::string("project").optional().describe(
                "Id of the project. Default: `GOOGLE_CLOUD_PROJECT`, `GOOGLE_PROJECT`, `GCLOUD_PROJECT` or \
                 `CLOUDSDK_CORE_PROJECT`.",
            ),
            Attribute::string("region").optional().describe(
                "Region of resources that name none, such as `us-central1`. Default: `GOOGLE_REGION`, \
                 `GCLOUD_REGION` or `CLOUDSDK_COMPUTE_REGION`.",
            ),
            Attribute::string("endpoint_url").optional().describe(
                "One URL that answers for every Google API, for emulators; it is called without credentials.",
            ),
            Attribute::of("allowed_projects", Type::set(Type::String)).optional().describe(
                "Projects that may be changed; any other project is refused before the first call.",
            ),
            Attribute::of("ignore_live", Type::set(Type::String)).optional().describe(
                "Ids of networks, such as `projects/acme/global/networks/legacy`, that the check of planned \
                 ranges against live networks leaves out.",
            ),
        ],
    )
    .optional()
    .describe(
        "The Google Cloud project. Credentials are application default ones: `GOOGLE_APPLICATION_CREDENTIALS`, \
         `gcloud auth application-default login`, workload identity, the metadata server.",
    )
}
