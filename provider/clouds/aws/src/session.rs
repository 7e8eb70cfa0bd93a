//! The configured account and the state that its resources share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use tf_provider_rs::{
    Attr, Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Path, Value, async_trait,
};
use tokio::sync::OnceCell;
use warren_guard::S3Options;
use warren_managed::{Cloud, Locator, Place, Scope};

use crate::client::{self, Credentials};
use crate::config::AwsConfig;
use crate::error::{ApiError, Named};
use crate::live::LiveVpcs;
use crate::memory::RunMemory;
use crate::tags::Tags;

/// Shared by all resources of this cloud; cheap to clone.
pub type Session = warren_managed::Session<Aws>;

/// The retries and the deadline of one operation.
pub(crate) type Op = warren_managed::Op<ApiError>;

/// An operation on one object with its context.
pub(crate) type Work<'a> = warren_managed::Work<'a, Aws>;

#[async_trait]
impl Cloud for Aws {
    const NAME: &'static str = "AWS";
    const ABSENT: (&'static str, &'static str) = (
        "No AWS account configured",
        "This resource is in AWS, but the provider block has no `aws` attribute. Add `aws = { region = \
         \"us-east-1\" }` to `provider \"warren\"`. Credentials come from the same sources as in the AWS \
         CLI.",
    );
    const UNKNOWN: (&'static str, &'static str) = (
        "AWS account not known yet",
        "A value of `aws` in the provider block is known only after apply, so Warren cannot call AWS now. \
         Use values that are known at plan time, or first apply the resources that they come from \
         (`terraform apply -target=...`).",
    );
    const UNIQUE_NAMES: bool = false;

    type Config = AwsConfig;
    type Error = ApiError;
    type Marks = Tags;
    type Memory = RunMemory;

    async fn connect(config: &AwsConfig, scope: Scope) -> Result<Aws, Diagnostics> {
        Aws::new(config, scope).await
    }

    const LOCATORS: &'static [Locator] = &[
        Locator { attribute: "region", noun: "region", setting: "configure the provider (`aws.region`)" },
        Locator {
            attribute: "account_id",
            noun: "account",
            setting: "use credentials (AWS_PROFILE, `aws.profile`, `aws.assume_role`)",
        },
    ];

    /// ID, region and account, as in hashicorp/aws. Version 0 had no account.
    fn identity() -> IdentitySchema {
        IdentitySchema::new()
            .version(1)
            .required("id", "ID assigned by AWS.")
            .optional("region", "Region. Defaults to the region of the provider.")
            .optional("account_id", "ID of the account. Defaults to the account of the provider.")
    }

    fn identity_of(aws: Option<&Aws>, id: &str) -> Value {
        let place = aws.map(Aws::place).unwrap_or_default();
        let value = |name| place.get(name).map_or(Value::Null, |text| Value::from(text.as_str()));
        Value::object([("id", id.into()), ("region", value("region")), ("account_id", value("account_id"))])
    }

    /// Asks for the account, once per process. No permission is needed for that. Without a response, for example in a
    /// network without an endpoint of STS, only regions are compared.
    async fn locate(&self) {
        const LIMIT: Duration = Duration::from_secs(10);
        let ask = async || match tokio::time::timeout(LIMIT, self.account()).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => {
                tracing::warn!("the account is not known: AWS did not answer GetCallerIdentity");
            }
        };
        self.located.get_or_init(ask).await;
    }

    fn place(&self) -> Place {
        let account = self.account.get().map(|account| ("account_id", account.clone()));
        [("region", self.region.clone())].into_iter().chain(account).collect()
    }

    /// From the Amazon Resource Name: `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`. Some services have no region.
    fn place_of(state: &Value) -> Place {
        let arn = state.get("arn").and_then(Value::as_str).unwrap_or_default();
        let mut parts = arn.split(':').skip(3);
        let place = [("region", parts.next()), ("account_id", parts.next())];
        place
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?.to_owned())))
            .filter(|(_, text)| !text.is_empty())
            .collect()
    }

    fn import(session: &Session, request: &ImportRequest) -> Result<String, Diagnostics> {
        if let ImportRequest::Identity(identity) = request {
            let ours = session.get()?.place();
            for Locator { attribute, noun, .. } in Self::LOCATORS {
                if let Some(named) = identity.get(attribute).and_then(Value::as_str)
                    && let Some(ours) = ours.get(attribute).filter(|ours| *ours != named)
                {
                    return Err(Diagnostic::error(
                        format!("Import identity for another {noun}"),
                        format!(
                            "The identity names the {noun} {named}, but the provider is configured for {ours}. Import \
                             the object with a provider configuration for {named}."
                        ),
                    )
                    .into());
                }
            }
        }
        request.id_or("id")
    }
}

/// Adds the live VPCs of the account to the comparisons of the guard. Call it after the guard is
/// configured.
pub fn watch_live(session: &Session) {
    if let Some(aws) = session.known() {
        session.guard().add_live(Arc::new(LiveVpcs::new(aws)));
    }
}

/// Options for claims in S3: the credentials, region and endpoint of the account.
pub fn s3_options(session: &Session) -> S3Options {
    let Some(aws) = session.known() else { return S3Options::default() };
    let endpoint = aws.sdk.endpoint_url().map(str::to_owned);
    S3Options {
        allow_http: endpoint.as_ref().is_some_and(|url| url.starts_with("http://")),
        endpoint,
        region: Some(aws.region.clone()),
        credentials: aws.sdk.credentials_provider().map(|provider| Credentials::shared(&provider)),
    }
}

/// The configured account.
pub struct Aws {
    /// The fabric and owner of the objects.
    pub scope: Scope,
    /// Tags of every object.
    pub default_tags: BTreeMap<String, String>,
    /// VPCs that the check against live networks ignores.
    pub ignore_live: BTreeSet<String>,
    /// Such as `us-east-1`.
    pub region: String,
    ec2: aws_sdk_ec2::Client,
    sdk: SdkConfig,
    /// The account of the credentials.
    account: OnceCell<String>,
    /// Set when it was asked for.
    located: OnceCell<()>,
}

impl Aws {
    async fn new(config: &AwsConfig, scope: Scope) -> Result<Aws, Diagnostics> {
        let sdk = client::load(config).await;
        let Some(region) = sdk.region().map(ToString::to_string) else {
            return Err(Diagnostic::error(
                "No AWS region configured",
                "The provider block, AWS_REGION and the profile do not set a region. Set `aws = { region \
                 = \"us-east-1\" }`.",
            )
            .at(Path::of("aws").attribute("region"))
            .into());
        };
        let aws = Aws {
            scope,
            default_tags: texts(&config.default_tags),
            ignore_live: items(&config.ignore_live),
            region,
            ec2: aws_sdk_ec2::Client::new(&sdk),
            sdk,
            account: OnceCell::new(),
            located: OnceCell::new(),
        };
        let allowed = items(&config.allowed_account_ids);
        if !allowed.is_empty() {
            let account = aws.account().await?;
            if !allowed.contains(&account) {
                return Err(wrong_account(&account, &allowed).into());
            }
        }
        Ok(aws)
    }

    /// The Amazon Resource Name of an EC2 object; `resource` has the form `vpc/vpc-1`.
    pub fn arn(&self, account: &str, resource: &str) -> String {
        format!("arn:{}:ec2:{}:{account}:{resource}", self.partition(), self.region)
    }

    /// The Amazon Resource Name of a parameter, whose name begins with a slash.
    pub fn parameter_arn(&self, account: &str, name: &str) -> String {
        format!("arn:{}:ssm:{}:{account}:parameter{name}", self.partition(), self.region)
    }

    fn partition(&self) -> &'static str {
        match self.region.split('-').next() {
            Some("cn") => "aws-cn",
            _ if self.region.starts_with("us-gov-") => "aws-us-gov",
            _ => "aws",
        }
    }

    /// The EC2 client.
    pub fn ec2(&self) -> &aws_sdk_ec2::Client {
        &self.ec2
    }

    /// A client of the parameter store.
    pub fn ssm(&self) -> aws_sdk_ssm::Client {
        aws_sdk_ssm::Client::new(&self.sdk)
    }

    /// A client of identity and access management.
    pub fn iam(&self) -> aws_sdk_iam::Client {
        aws_sdk_iam::Client::new(&self.sdk)
    }

    /// A client of the container registry.
    pub fn ecr(&self) -> aws_sdk_ecr::Client {
        aws_sdk_ecr::Client::new(&self.sdk)
    }

    /// The ID of the account of the credentials, 12 digits.
    ///
    /// # Errors
    /// The error that AWS returns.
    pub async fn account(&self) -> Result<String, Diagnostics> {
        let ask = async || -> Result<String, Diagnostics> {
            let sts = aws_sdk_sts::Client::new(&self.sdk);
            let caller = sts.get_caller_identity().send().await.named("GetCallerIdentity")?;
            caller.account.ok_or_else(|| {
                let detail = "The response of GetCallerIdentity has no account. Check `aws.endpoint_url`.";
                Diagnostic::error("AWS account missing in a response", detail).into()
            })
        };
        self.account.get_or_try_init(ask).await.cloned()
    }
}

fn wrong_account(account: &str, allowed: &BTreeSet<String>) -> Diagnostic {
    let allowed = allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Diagnostic::error(
        "AWS account not allowed",
        format!(
            "The credentials belong to account {account}, but `allowed_account_ids` allows only \
             {allowed}. Nothing was changed. Use other credentials (AWS_PROFILE, `aws.profile`), or add \
             the account to `allowed_account_ids`."
        ),
    )
    .at(Path::of("aws").attribute("allowed_account_ids"))
}

fn texts(map: &Attr<BTreeMap<String, Attr<String>>>) -> BTreeMap<String, String> {
    map.known()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.known()?.clone())))
        .collect()
}

fn items(set: &Attr<BTreeSet<Attr<String>>>) -> BTreeSet<String> {
    set.known().into_iter().flatten().filter_map(|item| item.known().cloned()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use warren_guard::Guard;

    /// An account that is never called.
    pub(crate) async fn account<const N: usize>(tags: [(&str, &str); N]) -> Arc<Aws> {
        session(tags).await.get().unwrap()
    }

    /// A configured session whose account is never called.
    pub(crate) async fn session<const N: usize>(tags: [(&str, &str); N]) -> Session {
        let config = AwsConfig {
            region: "us-east-1".into(),
            default_tags: Attr::Known(tags.map(|(key, value)| (key.to_owned(), value.into())).into()),
            ..AwsConfig::default()
        };
        let session = Session::new(Guard::default());
        let scope = Scope { fabric: "training".into(), owner: "platform".into() };
        assert!(session.configure(&Attr::Known(config), scope).await.is_empty());
        session
    }

    fn shown(diagnostics: &Diagnostics) -> String {
        diagnostics.0.iter().map(|d| format!("{}\n{}", d.summary, d.detail)).collect()
    }

    #[tokio::test]
    async fn an_account_is_asked_for_before_it_is_there() {
        let session = Session::new(Guard::default());
        insta::assert_snapshot!(shown(&session.get().err().unwrap_or_default()));
        let unknown = AwsConfig { region: Attr::Unknown, ..AwsConfig::default() };
        assert!(session.configure(&Attr::Known(unknown), Scope::default()).await.is_empty());
        insta::assert_snapshot!(shown(&session.get().err().unwrap_or_default()));
        assert!(session.known().is_none());
    }

    #[test]
    fn another_account_is_named() {
        let diagnostic = wrong_account("111111111111", &BTreeSet::from(["222222222222".to_owned()]));
        insta::assert_snapshot!(shown(&diagnostic.into()));
    }
}
