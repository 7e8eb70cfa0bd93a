//! The `runpod` attribute of the provider block.

use tf_provider_rs::model::Secret;
use tf_provider_rs::{Attr, Object};

/// RunPod account. Use `{}` if `RUNPOD_API_KEY` is set.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct RunPodConfig {
    /// API key with write access to pods and storage. Defaults to the environment variable `RUNPOD_API_KEY`, which is
    /// preferred: a literal value or non-ephemeral variable ends up in plan files.
    #[attr(optional, sensitive)]
    pub api_key: Attr<Secret>,
    /// Base URL of the REST API, without `/v2`. Defaults to `https://api.runpod.io`.
    #[attr(optional)]
    pub endpoint_url: Attr<String>,
}

/// The environment variable to read if the provider block sets no key.
pub(crate) const KEY_VARIABLE: &str = "RUNPOD_API_KEY";

/// The base URL of RunPod's API.
pub(crate) const ENDPOINT: &str = "https://api.runpod.io";
