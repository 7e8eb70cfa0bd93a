//! AWS: the parameter store, called with the instance's own role.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::{Environment, http};
use crate::runtime::problem::{Context as _, Problem, Result};

/// The metadata service, at the same address in every instance.
const METADATA: &str = "http://169.254.169.254";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Role {
    access_key_id: String,
    secret_access_key: String,
    token: String,
}

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

#[derive(Deserialize, Default)]
struct Refusal {
    #[serde(default, rename = "__type")]
    code: String,
    #[serde(default)]
    message: String,
    /// Some services use this spelling, some both.
    #[serde(default, rename = "Message")]
    capital: String,
}

/// The decrypted value of a parameter.
pub(super) async fn parameter(
    environment: &Environment,
    region: Option<&str>,
    name: &str,
) -> Result<Zeroizing<String>> {
    let metadata = environment.aws_metadata.as_deref().unwrap_or(METADATA).trim_end_matches('/');
    let region = match region.or(environment.aws_region.as_deref()) {
        Some(region) => region.to_owned(),
        None => ask(metadata, "placement/region").await?.text(),
    };
    let credentials = match &environment.aws_keys {
        Some((id, secret, token)) => {
            Credentials::new(id, secret.as_str(), token.clone(), None, "environment")
        }
        None => role(metadata).await?,
    };
    let endpoint = match &environment.aws_ssm {
        Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
        None if region.starts_with("cn-") => format!("https://ssm.{region}.amazonaws.com.cn"),
        None => format!("https://ssm.{region}.amazonaws.com"),
    };
    let body = json!({ "Name": name, "WithDecryption": true }).to_string();
    let answer = http::send(signed(&format!("{endpoint}/"), &region, credentials, &body)?).await?;
    if !answer.status.is_success() {
        let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
        return Err(refused(name, answer.status.as_u16(), &refusal));
    }
    let found: Found = serde_json::from_slice(&answer.body)
        .map_err(|_| Problem::new(format!("{name}: the response contains no parameter")))?;
    Ok(Zeroizing::new(found.parameter.value))
}

fn refused(name: &str, status: u16, refusal: &Refusal) -> Problem {
    let code = refusal.code.rsplit('#').next().unwrap_or_default();
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
    let message = if refusal.message.is_empty() { &refusal.capital } else { &refusal.message };
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    Problem::new(format!("AWS refused parameter {name}: {status} {code}{said}")).hint(hint)
}

/// The request with its signature (Signature Version 4).
fn signed(url: &str, region: &str, credentials: Credentials, body: &str) -> Result<Request<Full<Bytes>>> {
    let doing = || "signing".to_owned();
    let identity = credentials.into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("ssm")
        .time(SystemTime::now())
        .settings(SigningSettings::default())
        .build()
        .while_doing(doing)?
        .into();
    let headers =
        [("content-type", "application/x-amz-json-1.1"), ("x-amz-target", "AmazonSSM.GetParameter")];
    let signable =
        SignableRequest::new("POST", url, headers.into_iter(), SignableBody::Bytes(body.as_bytes()))
            .while_doing(doing)?;
    let (instructions, _) = sign(signable, &parameters).while_doing(doing)?.into_parts();
    let mut request = Request::builder().method(Method::POST).uri(url);
    for (name, value) in headers.into_iter().chain(instructions.headers()) {
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::from(body.to_owned()))).while_doing(doing)
}

/// The credentials of the instance's role.
async fn role(metadata: &str) -> Result<Credentials> {
    let name = ask(metadata, "iam/security-credentials/").await?.text();
    let answer = ask(metadata, &format!("iam/security-credentials/{name}")).await?;
    let role: Role = serde_json::from_slice(&answer.body)
        .map_err(|_| Problem::new(format!("the metadata service has no credentials for role {name}")))?;
    Ok(Credentials::new(role.access_key_id, role.secret_access_key, Some(role.token), None, "instance"))
}

/// Requests a path of the metadata service, with a token as IMDSv2 requires.
async fn ask(metadata: &str, path: &str) -> Result<http::Answer> {
    let doing = || "requesting a token from the metadata service".to_owned();
    let request = Request::put(format!("{metadata}/latest/api/token"))
        .header("x-aws-ec2-metadata-token-ttl-seconds", "60")
        .body(Full::default())
        .while_doing(doing)?;
    let token = http::send(request).await?;
    let request = Request::get(format!("{metadata}/latest/meta-data/{path}"))
        .header("x-aws-ec2-metadata-token", token.text())
        .body(Full::default())
        .while_doing(doing)?;
    let answer = http::send(request).await?;
    if !answer.status.is_success() {
        return Err(Problem::new(format!("the metadata service refused {path}: {}", answer.status))
            .hint("attach an instance profile to the instance, and enable its metadata service"));
    }
    Ok(answer)
}
