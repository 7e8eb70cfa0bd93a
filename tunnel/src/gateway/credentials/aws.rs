//! AWS: `AssumeRole` with a session policy, by the gateway's own credentials
//! (<https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html>).

use std::time::Duration;

use object_store::RetryConfig;
use object_store::aws::{AmazonS3Builder, AwsAuthorizer, AwsCredentialProvider};
use object_store::client::{HttpClient, HttpConnector as _};
use warren_sync::net::Http;
use warren_wire::gateway::AwsRole;
use warren_wire::{UnixTime, partition};
use zeroize::Zeroizing;

use super::client::{self, Answer, Failure};
use super::share::{Issued, Secret};
use crate::enrolment::now;

/// Codes of errors that pass (<https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html>).
const PASSES: [&str; 7] = [
    "Throttling",
    "ThrottlingException",
    "RequestThrottled",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "InternalFailure",
    "IDPCommunicationError",
];
/// Time in which the gateway's own credentials must be there.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(5);
/// The share of STS's limit for packed policies, in percent, from which a warning is logged.
const PACKED_HIGH: u32 = 90;

/// The gateway as a client of STS.
pub(super) struct Aws {
    role: AwsRole,
    endpoint: String,
    client: HttpClient,
    source: AwsCredentialProvider,
}

impl Aws {
    /// Finds out where credentials come from: the environment, a web identity, a container's service, or the instance.
    ///
    /// # Errors
    /// One line.
    pub(super) fn new(
        role: &AwsRole,
        http: &Http,
        get: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let region = role.region.as_str();
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let endpoint = get("AWS_ENDPOINT_URL_STS").or_else(|| get("AWS_ENDPOINT_URL"));
        let endpoint =
            endpoint.unwrap_or_else(|| format!("https://sts.{region}.{}", partition::domain(region)));
        let retry = RetryConfig { max_retries: 1, retry_timeout: SOURCE_TIMEOUT, ..RetryConfig::default() };
        // A client of S3, of which only the credentials are used.
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name("none")
            .with_region(region)
            .with_retry(retry)
            .with_http_connector(http.clone());
        if let Some(metadata) = get("AWS_EC2_METADATA_SERVICE_ENDPOINT") {
            builder = builder.with_metadata_endpoint(metadata.trim_end_matches('/'));
        }
        let store = builder.build().map_err(|error| error.to_string())?;
        let client = http.connect(&object_store::ClientOptions::new()).map_err(|error| error.to_string())?;
        Ok(Self { role: role.clone(), endpoint, client, source: store.credentials().clone() })
    }

    /// The role, for records.
    pub(super) fn role(&self) -> &AwsRole {
        &self.role
    }

    /// Assumes the role for `duration`, narrowed by `policy`.
    pub(super) async fn assume(
        &self,
        policy: &str,
        session: &str,
        duration: Duration,
    ) -> Result<Issued, Failure> {
        let no_source =
            |what: &str| Failure::NoSource(format!("this gateway has no AWS credentials: {what}"));
        let own = tokio::time::timeout(SOURCE_TIMEOUT, self.source.get_credential()).await;
        let own = own
            .map_err(|_| no_source("their service does not answer"))?
            .map_err(|error| no_source(&error.to_string()))?;
        let (role, seconds) = (self.role.role_arn.to_string(), duration.as_secs().to_string());
        let fields = [
            ("Action", "AssumeRole"),
            ("Version", "2011-06-15"),
            ("RoleArn", &role),
            ("RoleSessionName", session),
            ("DurationSeconds", &seconds),
            ("Policy", policy),
        ];
        let url = format!("{}/", self.endpoint.trim_end_matches('/'));
        let request = || {
            let mut request = client::form(&url, &fields)?;
            let region = self.role.region.as_str();
            let signed = AwsAuthorizer::new(&own, "sts", region).try_authorize(&mut request, None);
            signed.map(|()| request).map_err(|error| no_source(&error.to_string()))
        };
        let body = client::exchange(&self.client, &client::host(&url), request, refusal).await?;
        let issued = read(&body, now(), duration);
        let issued = issued.ok_or_else(|| Failure::Unavailable("STS answered without credentials".into()))?;
        let packed = element(&body, "PackedPolicySize").and_then(|text| text.parse::<u32>().ok());
        if let Some(percent) = packed.filter(|percent| *percent >= PACKED_HIGH) {
            tracing::warn!(percent, "the session policy nearly reaches STS's limit for packed policies");
        }
        Ok(issued)
    }
}

/// The credentials of a successful answer. Their life is the one that was requested, or the rest of it.
fn read(body: &str, now: UnixTime, requested: Duration) -> Option<Issued> {
    let secret = |name| Some(Zeroizing::new(element(body, name)?.to_owned()));
    let expires: UnixTime = element(body, "Expiration")?.parse().ok()?;
    let [id, key, token] = [secret("AccessKeyId")?, secret("SecretAccessKey")?, secret("SessionToken")?];
    Some(Issued::new(Secret::Aws { id, key, token }, expires, requested.min(expires.since(now))))
}

/// The code and message of an error, and whether it passes.
fn refusal(answer: &Answer) -> (String, String, bool) {
    let text = |name| element(&answer.body, name).unwrap_or_default().to_owned();
    let code = text("Code");
    let passes = PASSES.contains(&code.as_str()) || answer.status == 429;
    (if code.is_empty() { answer.status.to_string() } else { code }, text("Message"), passes)
}

/// The text of the first element of a name. Texts of this service hold no markup.
fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let body = "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>\n\
            <SecretAccessKey>a+b/c=</SecretAccessKey><SessionToken>t</SessionToken>\
            <Expiration>2027-01-15T08:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
        let at = UnixTime::from_secs(1_799_999_000);
        let issued = read(body, at, Duration::from_secs(3600)).unwrap();
        assert_eq!((issued.expires().as_secs(), issued.lifetime().as_secs()), (1_800_000_000, 1000));
        assert!(!format!("{issued:?}").contains("a+b"));
        assert!(read(&body.replace("SessionToken", "Other"), at, Duration::ZERO).is_none());
        let error = "<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message>";
        let answer = Answer { status: 400, body: Zeroizing::new(error.replace("Message>", "M>")) };
        assert_eq!(refusal(&answer), ("Throttling".into(), String::new(), true));
        let denied = error.replace("Throttling", "AccessDenied") + "</Error>";
        let answer = Answer { status: 403, body: Zeroizing::new(denied) };
        assert_eq!(refusal(&answer), ("AccessDenied".into(), "Rate exceeded".into(), false));
        let answer = Answer { status: 502, body: Zeroizing::new("<html>".to_owned()) };
        assert_eq!(refusal(&answer).0, "502");
    }
}
