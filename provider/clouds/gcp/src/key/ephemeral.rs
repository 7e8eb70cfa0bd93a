//! `ephemeral "warren_gcp_signing_key"`: the private key, for as long as a run needs it to sign tokens.

use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Context, Diagnostics, Ephemeral, async_trait, model};
use warren_gateways::key::{Signing, signing_secret};
use warren_managed::{Cloud as _, Op, Operation, timeouts};

use super::Named;
use crate::link;
use crate::secret;
use crate::session::{Gcp, Session};

model! {
    /// The arguments and the private key.
    pub struct Value {
        /// ID of the secret.
        pub secret: Attr<String>,
        /// Version; null means the latest.
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
            "The private key of a `warren_gcp_signing_key`, read from Secret Manager for the current run. Pass it to \
             `warren_enrolment_token`. Terraform does not store it.",
        )
        .attributes([
            Attribute::string("secret")
                .required()
                .validate(link::check("secrets"))
                .describe("ID of the secret: the `id` of the `warren_gcp_signing_key`."),
            Attribute::number("version").optional().describe(
                "Version of the secret. Reference the `version` of the `warren_gcp_signing_key` so that Terraform \
                 creates the key first. Defaults to the latest version.",
            ),
            Attribute::string("secret_key").computed().sensitive().describe("The private key, `k4.secret.…`."),
        ])
    }

    async fn open(&self, ctx: &Context, config: Value) -> Result<Opened<Value>, Diagnostics> {
        let gcp = self.0.get()?;
        let id = config.secret.text();
        let version = config.version.known().map_or_else(|| "latest".to_owned(), i64::to_string);
        let what = format!("{} {id:?}", Signing::TYPE);
        let op = Op::new(ctx, Gcp::NAME, what, timeouts::of(&Attr::Null, Operation::Read));
        let (_, text) = op.call(|| secret::read(&gcp, id, &version)).await?;
        let secret_key = signing_secret(&text, &format!("secret {id}"), "secret", Signing::TYPE)?;
        Ok(Opened { result: Value { secret_key, ..config }, renew_in: None, private: None })
    }
}
