//! AWS: the parameter store.

use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::Environment;
use crate::commands::cloud::aws::{Caller, Refusal};
use crate::runtime::problem::{Problem, Result};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    parameter: Parameter,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parameter {
    value: String,
}

/// The decrypted value of a parameter.
pub(super) async fn parameter(
    environment: &Environment,
    region: Option<&str>,
    name: &str,
) -> Result<Zeroizing<String>> {
    let caller = Caller::new(environment, region, "ssm", environment.aws_ssm.as_deref()).await?;
    let body = json!({ "Name": name, "WithDecryption": true }).to_string();
    let answer = caller.json("AmazonSSM.GetParameter", &body).await?;
    if !answer.status.is_success() {
        let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
        return Err(refused(name, answer.status.as_u16(), &refusal));
    }
    let found: Found = serde_json::from_slice(&answer.body)
        .map_err(|_| Problem::new(format!("{name}: the response contains no parameter")))?;
    Ok(Zeroizing::new(found.parameter.value))
}

fn refused(name: &str, status: u16, refusal: &Refusal) -> Problem {
    let code = refusal.code();
    let hint = match code {
        "ParameterNotFound" => {
            "compare the name with the one in Terraform; `terraform apply` creates the parameter"
        }
        "AccessDeniedException" => {
            "the instance's role must allow ssm:GetParameter on the parameter, and kms:Decrypt on its key"
        }
        "UnrecognizedClientException" | "ExpiredTokenException" | "InvalidSignatureException" => {
            "AWS does not accept the credentials: check the instance profile and the clock"
        }
        _ => "check the status of the service and the route to it: a VPC endpoint for ssm, or the internet",
    };
    let detail = refusal.detail();
    Problem::new(format!("AWS refused parameter {name}: {status} {code}{detail}")).hint(hint)
}
