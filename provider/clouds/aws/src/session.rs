//! The session: the configured account, the plan of the run, and the account as a cloud of the shared lifecycle.

use std::sync::Arc;

use tf_provider_rs::{Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Value, async_trait};
use warren_guard::{LiveSource, Location, S3Options};
use warren_managed::{Cloud, Imported, Locator, Place, Scope};

pub use crate::account::Aws;
use crate::config::AwsConfig;
use crate::error::ApiError;
use crate::live::LiveAws;
use crate::memory::RunMemory;
use crate::region;
use crate::tags::Tags;

/// Shared by all resources of this cloud; cheap to clone.
pub type Session = warren_managed::Session<Aws>;

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
        Locator {
            attribute: region::ATTRIBUTE,
            noun: "region",
            setting: "configure the provider (`aws.region`)",
        },
        Locator {
            attribute: "account_id",
            noun: "account",
            setting: "use credentials (AWS_PROFILE, `aws.profile`, `aws.assume_role`)",
        },
    ];

    fn scope(&self) -> &Scope {
        &self.scope
    }

    const SITE: Option<&'static str> = Some(region::ATTRIBUTE);

    fn at(self: &Arc<Aws>, region: &str) -> Arc<Aws> {
        Arc::new(self.in_region(region))
    }

    fn admits(&self, region: &str) -> Result<(), Diagnostics> {
        region::in_partition(self, &self.in_region(region))
    }

    fn live(self: &Arc<Aws>) -> Option<Arc<dyn LiveSource>> {
        Some(Arc::new(LiveAws::new(Arc::clone(self))))
    }

    fn live_sites(&self) -> Vec<String> {
        self.live_regions.iter().map(ToString::to_string).collect()
    }

    /// ID, region and account, as in hashicorp/aws. Version 0 had no account.
    fn identity() -> IdentitySchema {
        IdentitySchema::new()
            .version(1)
            .required("id", "ID assigned by AWS.")
            .optional("region", "Region; null for a global object. Defaults to the region of the provider.")
            .optional("account_id", "ID of the account. Defaults to the account of the provider.")
    }

    fn identity_of(aws: Option<&Aws>, id: &str, region: Option<&str>) -> Value {
        let account = aws.map(Aws::place).and_then(|mut place| place.remove("account_id"));
        let value = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        Value::object([
            ("id", id.into()),
            ("region", value(region)),
            ("account_id", value(account.as_deref())),
        ])
    }

    async fn locate(&self) -> Result<(), Diagnostics> {
        self.account().await.map(drop)
    }

    fn place(&self) -> Place {
        Aws::place(self)
    }

    fn location(&self) -> Location {
        location(self)
    }

    /// From the Amazon Resource Name: `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`.
    fn place_of(state: &Value) -> Place {
        let arn = state.get("arn").and_then(Value::as_str).unwrap_or_default();
        let mut parts = arn.split(':').skip(3);
        let place = [("region", parts.next()), ("account_id", parts.next())];
        place.into_iter().filter_map(|(name, text)| Some((name, text?.to_owned()))).collect()
    }

    fn import(
        account: Result<Arc<Aws>, Diagnostics>,
        request: &ImportRequest,
        sited: bool,
    ) -> Result<Imported, Diagnostics> {
        let id = request.id_or("id")?;
        let ImportRequest::Identity(identity) = request else {
            let (bare, region) = if sited { region::split(&id) } else { (id.as_str(), None) };
            return Ok(Imported { id: bare.to_owned(), site: region.map(str::to_owned) });
        };
        let text = |name| identity.get(name).and_then(Value::as_str);
        if let Some(named) = text("account_id")
            && let Some(ours) = account?.place().remove("account_id").filter(|ours| ours != named)
        {
            return Err(Diagnostic::error(
                "Import identity for another account",
                format!(
                    "The identity names the account {named}, but the provider is configured for {ours}. Import the \
                     object with a provider configuration for {named}."
                ),
            )
            .into());
        }
        let site = text(region::ATTRIBUTE).filter(|_| sited).map(str::to_owned);
        Ok(Imported { id, site })
    }
}

/// The configured location, as far as it is known.
pub(crate) fn location(aws: &Aws) -> Location {
    let mut place = Aws::place(aws);
    let mut part = |name| place.remove(name).unwrap_or_default();
    Location::aws(part("account_id"), part("region"))
}

/// Options for claims in S3: the credentials, region and endpoint of the account.
pub fn s3_options(session: &Session) -> S3Options {
    session.known().map(|aws| aws.s3_options()).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::account::tests::{config, scope};
    use tf_provider_rs::Attr;
    use warren_guard::Guard;

    pub(crate) use crate::account::tests::account;

    /// A configured session whose account is never called.
    pub(crate) async fn session<const N: usize>(tags: [(&str, &str); N]) -> Session {
        let session = Session::new(Guard::default());
        assert!(session.configure(&Attr::Known(config(tags)), scope()).await.is_empty());
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
    fn an_arn_says_where_the_object_is() {
        let place = |arn: &str| Aws::place_of(&Value::object([("arn", arn.into())]));
        let vpc = place("arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1");
        assert_eq!(vpc, Place::from([("region", "us-east-1".into()), ("account_id", "123456789012".into())]));
        let role = place("arn:aws:iam::123456789012:role/gateway");
        assert_eq!(role, Place::from([("region", String::new()), ("account_id", "123456789012".into())]));
        assert_eq!(Aws::place_of(&Value::object([("arn", Value::Null)])), Place::new());
    }

    #[tokio::test]
    async fn an_import_names_the_region() {
        let session = session([]).await;
        let import = |request: ImportRequest, sited| {
            let Imported { id, site } = <Aws as Cloud>::import(session.get(), &request, sited).unwrap();
            (id, site)
        };
        let identity = Value::object([("id", "vpc-1".into()), ("region", "eu-west-1".into())]);
        let both = ("vpc-1".to_owned(), Some("eu-west-1".to_owned()));
        assert_eq!(import(ImportRequest::Identity(identity), true), both);
        assert_eq!(import(ImportRequest::Id("vpc-1@eu-west-1".into()), true), both);
        assert_eq!(import(ImportRequest::Id("vpc-1".into()), true), ("vpc-1".to_owned(), None));
        let role = ImportRequest::Id("gw@eu-west-1".into());
        assert_eq!(import(role, false), ("gw@eu-west-1".to_owned(), None), "a global object");
    }

    #[tokio::test]
    async fn a_region_of_another_partition_is_refused() {
        let aws = account([]).await;
        assert_eq!(aws.admits("ap-southeast-2"), Ok(()));
        insta::assert_snapshot!(shown(&aws.admits("cn-north-1").unwrap_err()));
    }
}
