//! The session: the configured account, the plan of the run, and the account as a cloud of the shared lifecycle.

use std::sync::Arc;

use tf_provider_rs::{Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Value, async_trait};
use warren_guard::{Location, S3Options};
use warren_managed::{Cloud, Locator, Place, Scope};

pub use crate::account::Aws;
use crate::config::AwsConfig;
use crate::error::ApiError;
use crate::live::LiveVpcs;
use crate::memory::RunMemory;
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
        Locator { attribute: "region", noun: "region", setting: "configure the provider (`aws.region`)" },
        Locator {
            attribute: "account_id",
            noun: "account",
            setting: "use credentials (AWS_PROFILE, `aws.profile`, `aws.assume_role`)",
        },
    ];

    fn scope(&self) -> &Scope {
        &self.scope
    }

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

    async fn locate(&self) {
        Aws::locate(self).await;
    }

    fn place(&self) -> Place {
        Aws::place(self)
    }

    fn location(&self) -> Location {
        let mut place = Aws::place(self);
        let mut part = |name| place.remove(name).unwrap_or_default();
        Location::aws(part("account_id"), part("region"))
    }

    /// From the Amazon Resource Name: `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`. The region of a global object,
    /// such as a role, is empty. Parts of a hosted zone have no name there and are as global as the zone.
    fn place_of(state: &Value) -> Place {
        if state.get("arn").is_none() && state.get("zone_id").is_some() {
            return [("region", String::new())].into_iter().collect();
        }
        let arn = state.get("arn").and_then(Value::as_str).unwrap_or_default();
        let mut parts = arn.split(':').skip(3);
        let place = [("region", parts.next()), ("account_id", parts.next())];
        place.into_iter().filter_map(|(name, text)| Some((name, text?.to_owned()))).collect()
    }

    fn import(
        account: Result<Arc<Aws>, Diagnostics>,
        request: &ImportRequest,
    ) -> Result<String, Diagnostics> {
        if let ImportRequest::Identity(identity) = request {
            let ours = account?.place();
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
        let record = Aws::place_of(&Value::object([("zone_id", "Z1".into())]));
        assert_eq!(record, Place::from([("region", String::new())]));
    }

    #[tokio::test]
    async fn an_import_from_another_region_is_refused() {
        let session = session([]).await;
        let import = |region: &str| {
            let identity = Value::object([("id", "vpc-1".into()), ("region", region.into())]);
            <Aws as Cloud>::import(session.get(), &ImportRequest::Identity(identity))
        };
        assert_eq!(import("us-east-1"), Ok("vpc-1".to_owned()));
        let refused = shown(&import("eu-west-1").unwrap_err());
        assert!(refused.starts_with("Import identity for another region\n"), "{refused}");
    }
}
