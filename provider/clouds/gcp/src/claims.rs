//! Access to claims in Google Cloud Storage with the same credentials as everything else: Application Default Credentials,
//! including Workload Identity Federation, which the storage client does not support on its own.

use std::sync::{Arc, OnceLock};

use google_cloud_auth::credentials::{AccessTokenCredentials, Builder};
use tf_provider_rs::async_trait;
use warren_guard::{GcsOptions, TokenSource};

/// How the guard reaches `gs://`, even if the provider has no Google Cloud project.
pub fn gcs_options() -> GcsOptions {
    GcsOptions { tokens: Some(Arc::new(Tokens::default())) }
}

/// Tokens of Application Default Credentials, which are looked up when the first token is needed.
#[derive(Default)]
struct Tokens(OnceLock<AccessTokenCredentials>);

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<String, String> {
        let credentials = match self.0.get() {
            Some(found) => found,
            None => {
                let found = Builder::default().build_access_token_credentials().map_err(none)?;
                self.0.get_or_init(|| found)
            }
        };
        credentials.access_token().await.map(|found| found.token).map_err(none)
    }
}

/// Formats the error without its sources, which may quote a token endpoint's response.
fn none(error: impl std::fmt::Display) -> String {
    format!("no Google Cloud credentials: {error}; run `gcloud auth application-default login`")
}
