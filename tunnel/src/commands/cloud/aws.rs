//! AWS, called with the instance's own role.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde::Deserialize;

use warren_wire::partition;

use super::{Environment, http};
use crate::runtime::problem::{Context as _, Problem, Result};

/// The metadata service, at the same addresses in every instance. An instance in an IPv6-only subnet reaches the second one
/// only ("Use the Instance Metadata Service to access instance metadata" in the EC2 User Guide).
const METADATA: [&str; 2] = ["http://169.254.169.254", "http://[fd00:ec2::254]"];

/// One service in the region of the instance, with the credentials of its role.
pub(in crate::commands) struct Caller {
    service: &'static str,
    region: String,
    endpoint: String,
    credentials: Credentials,
}

impl Caller {
    /// A caller of `service`, at `endpoint` if it is not the usual one.
    ///
    /// # Errors
    /// The metadata service returns no region or no credentials.
    pub(in crate::commands) async fn new(
        environment: &Environment,
        region: Option<&str>,
        service: &'static str,
        endpoint: Option<&str>,
    ) -> Result<Caller> {
        let region = match region.or(environment.aws_region.as_deref()) {
            Some(region) => region.to_owned(),
            None => ask(environment, "placement/region").await?.text(),
        };
        let credentials = match &environment.aws_keys {
            Some((id, secret, token)) => {
                Credentials::new(id, secret.as_str(), token.clone(), None, "environment")
            }
            None => role(environment).await?,
        };
        let endpoint = match endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://{service}.{region}.{}", partition::domain(&region)),
        };
        Ok(Caller { service, region, endpoint, credentials })
    }

    /// Calls an operation of a service with the JSON protocol, such as `AmazonSSM.GetParameter`.
    ///
    /// # Errors
    /// No response in time.
    pub(in crate::commands) async fn json(&self, operation: &str, body: &str) -> Result<http::Answer> {
        let headers = [("content-type", "application/x-amz-json-1.1"), ("x-amz-target", operation)];
        http::send(self.signed(&headers, body)?).await
    }

    /// Calls an operation of a service with the query protocol.
    ///
    /// # Errors
    /// No response in time.
    pub(in crate::commands) async fn form(&self, body: &str) -> Result<http::Answer> {
        let headers = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
        http::send(self.signed(&headers, body)?).await
    }

    /// The request with its signature (Signature Version 4).
    fn signed(&self, headers: &[(&str, &str)], body: &str) -> Result<Request<Full<Bytes>>> {
        let doing = || "signing".to_owned();
        let url = format!("{}/", self.endpoint);
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .while_doing(doing)?
            .into();
        let signable =
            SignableRequest::new("POST", &url, headers.iter().copied(), SignableBody::Bytes(body.as_bytes()))
                .while_doing(doing)?;
        let (instructions, _) = sign(signable, &parameters).while_doing(doing)?.into_parts();
        let mut request = Request::builder().method(Method::POST).uri(&url);
        for (name, value) in headers.iter().copied().chain(instructions.headers()) {
            request = request.header(name, value);
        }
        request.body(Full::new(Bytes::from(body.to_owned()))).while_doing(doing)
    }
}

/// The error in an answer of a service with the JSON protocol.
#[derive(Deserialize, Default)]
pub(in crate::commands) struct Refusal {
    #[serde(default, rename = "__type")]
    code: String,
    #[serde(default)]
    message: String,
    /// Some services use this spelling, some both.
    #[serde(default, rename = "Message")]
    capital: String,
}

impl Refusal {
    /// The code without its namespace.
    pub(in crate::commands) fn code(&self) -> &str {
        self.code.rsplit('#').next().unwrap_or_default()
    }

    /// The message after a colon, if there is one.
    pub(in crate::commands) fn detail(&self) -> String {
        let message = if self.message.is_empty() { &self.capital } else { &self.message };
        if message.is_empty() { String::new() } else { format!(": {message}") }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Role {
    access_key_id: String,
    secret_access_key: String,
    token: String,
}

/// The ID of this instance.
///
/// # Errors
/// The metadata service does not answer.
pub(in crate::commands) async fn instance_id(environment: &Environment) -> Result<String> {
    Ok(ask(environment, "instance-id").await?.text())
}

/// The credentials of the instance's role.
async fn role(environment: &Environment) -> Result<Credentials> {
    let name = ask(environment, "iam/security-credentials/").await?.text();
    let answer = ask(environment, &format!("iam/security-credentials/{name}")).await?;
    let role: Role = serde_json::from_slice(&answer.body)
        .map_err(|_| Problem::new(format!("the metadata service has no credentials for role {name}")))?;
    Ok(Credentials::new(role.access_key_id, role.secret_access_key, Some(role.token), None, "instance"))
}

/// Requests a path of the metadata service, with a token as IMDSv2 requires.
async fn ask(environment: &Environment, path: &str) -> Result<http::Answer> {
    let doing = || "requesting a token from the metadata service".to_owned();
    let (metadata, token) = match environment.aws_metadata.as_deref() {
        Some(metadata) => answering(&[metadata.trim_end_matches('/')]).await?,
        None => answering(&METADATA).await?,
    };
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

/// The first of these metadata services that answers, with its token.
async fn answering<'a>(all: &[&'a str]) -> Result<(&'a str, http::Answer)> {
    let mut refused = None;
    for metadata in all {
        let request = Request::put(format!("{metadata}/latest/api/token"))
            .header("x-aws-ec2-metadata-token-ttl-seconds", "60")
            .body(Full::default())
            .while_doing(|| "requesting a token from the metadata service".to_owned())?;
        match http::send(request).await {
            Ok(token) => return Ok((metadata, token)),
            Err(problem) => refused = refused.or(Some(problem)),
        }
    }
    Err(refused.unwrap_or_else(|| Problem::new("this machine has no metadata service")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cloud::tests::serve;

    #[tokio::test]
    async fn an_endpoint_is_in_the_domain_of_the_partition() {
        let environment = Environment {
            aws_keys: Some(("AKIAIOSFODNN7EXAMPLE".to_owned(), "secret".to_owned().into(), None)),
            ..Environment::default()
        };
        for (region, endpoint) in [
            ("eu-west-1", "https://ssm.eu-west-1.amazonaws.com"),
            ("cn-north-1", "https://ssm.cn-north-1.amazonaws.com.cn"),
            ("eusc-de-east-1", "https://ssm.eusc-de-east-1.amazonaws.eu"),
            ("us-iso-east-1", "https://ssm.us-iso-east-1.c2s.ic.gov"),
        ] {
            let caller = Caller::new(&environment, Some(region), "ssm", None).await.unwrap();
            assert_eq!(caller.endpoint, endpoint);
        }
    }

    /// As in a subnet without IPv4, where the first address has no route.
    #[tokio::test]
    async fn the_second_metadata_service_is_asked_if_the_first_cannot_be_reached() {
        let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let alive = serve(|_| (200, "metadata-token".to_owned()));
        let all = [format!("http://{dead}"), format!("http://{alive}")];
        let (found, token) = answering(&[all[0].as_str(), all[1].as_str()]).await.unwrap();
        assert_eq!((found, token.text().as_str()), (all[1].as_str(), "metadata-token"));
        assert!(answering(&[all[0].as_str()]).await.is_err());
    }
}
