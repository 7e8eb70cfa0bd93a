//! Google Cloud: the token of the instance's service account, exchanged for one within a Credential Access Boundary
//! (<https://cloud.google.com/iam/docs/downscoping-short-lived-credentials>).

use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector as _, HttpRequestBody};
use serde::Deserialize;
use warren_sync::net::Http;
use warren_wire::gateway::GoogleAccount;
use zeroize::Zeroizing;

use super::client::{self, Answer, Failure};
use super::share::{Issued, Secret};
use crate::enrolment::now;

/// The gateway as a client of Google's token service.
pub(super) struct Google {
    account: GoogleAccount,
    metadata: String,
    endpoint: String,
    client: HttpClient,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    /// Missing where the source token says it.
    #[serde(default)]
    expires_in: Option<u64>,
}

#[derive(Deserialize, Default)]
struct Refusal {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Google {
    /// # Errors
    /// One line.
    pub(super) fn new(
        account: &GoogleAccount,
        http: &Http,
        get: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let metadata = get("GCE_METADATA_HOST").unwrap_or_else(|| "metadata.google.internal".to_owned());
        let endpoint = get("CLOUDSDK_API_ENDPOINT_OVERRIDES_STS");
        let client = http.connect(&object_store::ClientOptions::new()).map_err(|error| error.to_string())?;
        Ok(Self {
            account: account.clone(),
            metadata: format!("http://{metadata}"),
            endpoint: endpoint.unwrap_or_else(|| "https://sts.googleapis.com".to_owned()),
            client,
        })
    }

    /// The service account, for records.
    pub(super) fn account(&self) -> &str {
        &self.account.service_account
    }

    /// A token within `boundary`. It lives as long as the service account's own one.
    pub(super) async fn narrow(&self, boundary: &str) -> Result<Issued, Failure> {
        let source = self.own().await?;
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token", source.access_token.as_str()),
            ("options", boundary),
        ];
        let url = format!("{}/v1/token", self.endpoint.trim_end_matches('/'));
        let request = || client::form(&url, &fields);
        let body = client::exchange(&self.client, &client::host(&url), request, refusal).await?;
        let token: Token = serde_json::from_str(&body)
            .map_err(|_| Failure::Unavailable("the token service answered without a token".into()))?;
        let seconds = token.expires_in.into_iter().chain(source.expires_in).min().unwrap_or(0);
        let lifetime = Duration::from_secs(seconds);
        Ok(Issued::new(
            Secret::Google { token: Zeroizing::new(token.access_token) },
            now().plus(lifetime),
            lifetime,
        ))
    }

    /// The token of the service account.
    async fn own(&self) -> Result<Token, Failure> {
        let account = self.account();
        let no_source =
            |what: String| Failure::NoSource(format!("this gateway has no Google credentials: {what}"));
        let url = format!("{}/computeMetadata/v1/instance/service-accounts/{account}/token", self.metadata);
        let request = || {
            http::Request::get(&url)
                .header("metadata-flavor", "Google")
                .body(HttpRequestBody::empty())
                .map_err(|error| no_source(error.to_string()))
        };
        let read = |answer: &Answer| (answer.status.to_string(), String::new(), answer.status == 429);
        let body = client::exchange(&self.client, &client::host(&url), request, read).await;
        let body = body.map_err(|failure| no_source(format!("service account {account}: {failure}")))?;
        serde_json::from_str(&body)
            .map_err(|_| no_source("the metadata server answered without a token".into()))
    }
}

/// The code and message of an error, and whether it passes.
fn refusal(answer: &Answer) -> (String, String, bool) {
    let refusal: Refusal = serde_json::from_str(&answer.body).unwrap_or_default();
    let passes = answer.status == 429 || refusal.error == "temporarily_unavailable";
    let code = if refusal.error.is_empty() { answer.status.to_string() } else { refusal.error };
    (code, refusal.error_description, passes)
}
