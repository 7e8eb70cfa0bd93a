//! Access to claims in Google Cloud Storage with the same credentials as everything else, including Workload Identity
//! Federation, which the storage client does not support on its own.

use std::sync::{Arc, OnceLock};

use google_cloud_auth::credentials::AccessTokenCredentials;
use tf_provider_rs::async_trait;
use warren_guard::{GcsOptions, TokenSource};

use crate::config::GcpConfig;
use crate::credentials;
use crate::error::{chain, redact};
use crate::session::Session;

/// How the guard reaches `gs://`: with the credentials of the project, or else with Application Default Credentials.
pub fn gcs_options(session: &Session) -> GcsOptions {
    let tokens = Tokens::default();
    if let Some(found) = session.known().and_then(|gcp| gcp.credentials.clone()) {
        tokens.0.get_or_init(|| found.credentials);
    }
    GcsOptions { tokens: Some(Arc::new(tokens)) }
}

/// Tokens of credentials, which are looked up when the first token is needed.
#[derive(Default)]
struct Tokens(OnceLock<AccessTokenCredentials>);

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<String, String> {
        let credentials = match self.0.get() {
            Some(found) => found,
            None => {
                let found = credentials::find(&GcpConfig::default(), None).map_err(|told| told.detail)?;
                self.0.get_or_init(|| found.credentials)
            }
        };
        credentials.access_token().await.map(|found| found.token).map_err(|error| none(&error))
    }
}

fn none(error: &(dyn std::error::Error + 'static)) -> String {
    format!(
        "no Google Cloud credentials: {}; run `gcloud auth application-default login`",
        redact(&chain(error))
    )
}
