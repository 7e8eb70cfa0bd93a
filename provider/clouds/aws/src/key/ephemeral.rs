//! `ephemeral "warren_aws_signing_key"`: the private key for signing tokens in a run.

use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Context, Diagnostics, Ephemeral, async_trait, model};
use warren_gateways::key::{Signing, signing_secret};
use warren_managed::{Cloud as _, Operation, timeouts};

use super::Named;
use crate::parameter;
use crate::session::{Aws, Op, Session};

model! {
    /// The key to read.
    pub struct Value {
        /// Name of the parameter.
        pub name: Attr<String>,
        /// The version; by default the latest.
        pub version: Attr<i64>,
        /// `k4.secret.…`.
        pub secret_key: Attr<Secret>,
    }
}

/// Reads a signing key.
pub(crate) struct SigningKeyValue(Session);

impl SigningKeyValue {
    pub(crate) fn new(session: &Session) -> SigningKeyValue {
        SigningKeyValue(session.clone())
    }
}

#[async_trait]
impl Ephemeral for SigningKeyValue {
    type Model = Value;

    fn type_name(&self) -> &'static str {
        Signing::TYPE
    }

    fn schema(&self) -> Schema {
        Schema::new(
            "Reads the private key of a `warren_aws_signing_key` from Parameter Store for the duration of \
             a run. Pass it to `warren_enrolment_token`. Terraform stores it nowhere.",
        )
        .attributes([
            Attribute::string("name").required().validate(parameter::check_name).describe(
                "Name of the parameter. Use the `id` of the `warren_aws_signing_key`, so that Terraform \
                 creates the key first.",
            ),
            Attribute::number("version")
                .optional()
                .describe("Version of the parameter. Defaults to the latest version."),
            Attribute::string("secret_key")
                .computed()
                .sensitive()
                .describe("Private key in PASERK format, `k4.secret.…`."),
        ])
    }

    async fn open(&self, ctx: &Context, config: Value) -> Result<Opened<Value>, Diagnostics> {
        let aws = self.0.get()?;
        let name = config.name.text();
        let versioned = match config.version.known() {
            Some(version) => format!("{name}:{version}"),
            None => name.to_owned(),
        };
        let what = format!("{} {name:?}", Signing::TYPE);
        let op = Op::new(ctx, Aws::NAME, what, timeouts::of(&Attr::Null, Operation::Read));
        let (_, secret) = op.call(|| parameter::read(&aws, &versioned)).await?;
        let secret_key = signing_secret(&secret, &format!("parameter {versioned}"), "name", Signing::TYPE)?;
        Ok(Opened { result: Value { secret_key, ..config }, renew_in: None, private: None })
    }
}
