//! Claims in Google Cloud Storage are reached with the credentials that all else is: application default ones, workload
//! identity federation included, which the storage client by itself does not know.

use std::sync::{Arc, OnceLock};

use google_cloud_auth::credentials::{AccessTokenCredentials, Builder};
use tf_provider_rs::async_trait;
use warren_guard::{GcsOptions, TokenSource};

/// How the guard reaches `gs://`, also where the provider has no Google Cloud project.
pub fn gcs_options() -> GcsOptions {
    GcsOptions { tokens: Some(Arc::new(Tokens::default())) }
}

/// Tokens of application default credentials, which are looked for when the first is needed.
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

/// The error may quote a token endpoint's answer in its sources, which are left out.
fn none(error: impl std::fmt::Display) -> String {
    format!("no Google Cloud credentials: {error}; run `gcloud auth application-default login`")
}
