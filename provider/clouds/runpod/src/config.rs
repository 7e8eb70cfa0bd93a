//! The `runpod` attribute of the provider block.

use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, model};

model! {
    /// The `runpod` attribute of the provider block.
    pub struct RunPodConfig {
        /// The key; else `RUNPOD_API_KEY`.
        pub api_key: Attr<Secret>,
        /// One URL for REST and GraphQL, for tests.
        pub endpoint_url: Attr<String>,
    }
}

/// Where the key is looked for when the provider block names none.
pub(crate) const KEY_VARIABLE: &str = "RUNPOD_API_KEY";

/// Where RunPod answers.
pub(crate) const ENDPOINT: &str = "https://api.runpod.io";

/// The attribute `runpod` of the provider block.
pub fn provider_attribute() -> Attribute {
    Attribute::nested(
        "runpod",
        Nesting::Single,
        [
            Attribute::string("api_key").optional().sensitive().describe(
                "API key with write access to pods and storage. A value written here lands in plan files: better set \
                 `RUNPOD_API_KEY`, the default, or give it by an ephemeral variable.",
            ),
            Attribute::string("endpoint_url").optional().describe(
                "URL under which REST (`/v2`) and GraphQL (`/graphql`) answer. Default: `https://api.runpod.io`.",
            ),
        ],
    )
    .optional()
    .describe("The RunPod account. `{}` is enough where `RUNPOD_API_KEY` is set.")
}
