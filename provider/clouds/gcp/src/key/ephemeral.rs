//! `ephemeral "warren_gcp_signing_key"`: the secret half for as long as a run needs it to sign tokens.

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
    /// What is read.
    pub struct Value {
        /// Id of the secret.
        pub secret: Attr<String>,
        /// Which version; else the last.
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
            "The secret half of a `warren_gcp_signing_key`, read from Secret Manager for this run. Hand it to \
             `warren_enrolment_token`; it is stored nowhere.",
        )
        .attributes([
            Attribute::string("secret")
                .required()
                .validate(link::check("secrets"))
                .describe("Id of the secret: the key's `id`."),
            Attribute::number("version").optional().describe(
                "Version of the secret, such as the key's `version`, so that the key is made first. Default: the last.",
            ),
            Attribute::string("secret_key").computed().sensitive().describe("`k4.secret.…`."),
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
