//! Google Cloud: Secret Manager, called with the instance's own service account.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::Request;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::Environment;
use crate::commands::cloud::http;
use crate::runtime::problem::{Context as _, Problem, Result};

/// The metadata service, by the name that every instance knows.
const METADATA: &str = "http://metadata.google.internal";
const SECRETS: &str = "https://secretmanager.googleapis.com";

#[derive(Deserialize)]
struct Token {
    access_token: String,
}

#[derive(Deserialize)]
struct Accessed {
    payload: Payload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    data: String,
    /// CRC32C of the bytes, in decimal.
    data_crc32c: Option<String>,
}

#[derive(Deserialize, Default)]
struct Refusal {
    #[serde(default)]
    error: Status,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: String,
}

/// The latest version of a secret: `projects/PROJECT/secrets/NAME`.
pub(super) async fn secret(environment: &Environment, name: &str) -> Result<Zeroizing<String>> {
    let metadata = environment.google_metadata.as_deref().unwrap_or(METADATA);
    let endpoint = environment.google_secrets.as_deref().unwrap_or(SECRETS).trim_end_matches('/');
    let doing = || format!("requesting {name}");
    let request =
        Request::get(format!("{metadata}/computeMetadata/v1/instance/service-accounts/default/token"))
            .header("metadata-flavor", "Google")
            .body(Full::default())
            .while_doing(doing)?;
    let answer = http::send(request).await?;
    let token: Token = serde_json::from_slice(&answer.body).map_err(|_| {
        Problem::new(format!("the metadata service returned no token: {}", answer.status))
            .hint("the instance needs a service account with the scope cloud-platform")
    })?;
    let token = Zeroizing::new(format!("Bearer {}", token.access_token));
    let request = Request::get(format!("{endpoint}/v1/{name}/versions/latest:access"))
        .header("authorization", token.as_str())
        .body(Full::default())
        .while_doing(doing)?;
    let answer = http::send(request).await?;
    if !answer.status.is_success() {
        let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
        return Err(refused(name, answer.status.as_u16(), &refusal.error));
    }
    let nothing = || Problem::new(format!("{name}: the response contains no text"));
    let accessed: Accessed = serde_json::from_slice(&answer.body).map_err(|_| nothing())?;
    let data = Zeroizing::new(accessed.payload.data);
    let bytes = Zeroizing::new(STANDARD.decode(data.as_str()).map_err(|_| nothing())?);
    if accessed.payload.data_crc32c.is_some_and(|sum| sum != crc32c::crc32c(&bytes).to_string()) {
        return Err(Problem::new(format!("{name}: its checksum differs from the one that Google stores"))
            .hint("something on the path changes responses; the request is repeated"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| nothing())?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn refused(name: &str, status: u16, refusal: &Status) -> Problem {
    let hint = match refusal.status.as_str() {
        "NOT_FOUND" => {
            "compare the name with the one in Terraform; `terraform apply` creates the secret and its first version"
        }
        "PERMISSION_DENIED" => {
            "the instance's service account needs roles/secretmanager.secretAccessor on the secret, and the Secret Manager API must be enabled"
        }
        "FAILED_PRECONDITION" => {
            "the latest version is disabled or destroyed: rotate the secret with Terraform"
        }
        _ => "check the status of the service and the route to it",
    };
    let detail = if refusal.message.is_empty() { String::new() } else { format!(": {}", refusal.message) };
    Problem::new(format!("Google Cloud refused {name}: {status} {}{detail}", refusal.status)).hint(hint)
}
