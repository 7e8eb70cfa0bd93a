//! The `runpod` attribute of the provider block.

use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, model};

model! {
    /// The `runpod` attribute of the provider block.
    pub struct RunPodConfig {
        /// API key. Falls back to `RUNPOD_API_KEY`.
        pub api_key: Attr<Secret>,
        /// Base URL of both REST and GraphQL, for tests.
        pub endpoint_url: Attr<String>,
    }
}

/// The environment variable to read if the provider block sets no key.
pub(crate) const KEY_VARIABLE: &str = "RUNPOD_API_KEY";

/// The base URL of RunPod's APIs.
pub(crate) const ENDPOINT: &str = "https://api.runpod.io";

/// The attribute `runpod` of the provider block.
pub fn provider_attribute() -> Attribute {
    Attribute::nested(
        "runpod",
        Nesting::Single,
        [
            Attribute::string("api_key").optional().sensitive().describe(
                "API key with write access to pods and storage. Defaults to the environment variable \
                 `RUNPOD_API_KEY`, which is preferred: a literal value or non-ephemeral variable ends up in plan \
                 files.",
            ),
            Attribute::string("endpoint_url").optional().describe(
                "Base URL of the REST (`/v2`) and GraphQL (`/graphql`) APIs. Defaults to `https://api.runpod.io`.",
            ),
        ],
    )
    .optional()
    .describe("RunPod account. Use `{}` if `RUNPOD_API_KEY` is set.")
}
