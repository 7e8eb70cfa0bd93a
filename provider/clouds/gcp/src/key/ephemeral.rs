//! `ephemeral "warren_gcp_signing_key"`: the private key, for as long as a run needs it to sign tokens.

use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::{Attr, Context, Diagnostics, Ephemeral, Secret, async_trait};
use warren_gateways::key::Signing;
use warren_gateways::signing::{self, Place};

use super::model::Named;
use crate::link;
use crate::secret;
use crate::session::{Gcp, Session};

/// The private key of a `warren_gcp_signing_key`, read from Secret Manager for the current run. Pass it to
/// `warren_enrolment_token`. Terraform does not store it.
#[derive(Clone, Debug, Default, PartialEq, Ephemeral)]
#[ephemeral(name = Signing::TYPE)]
pub(crate) struct Value {
    /// ID of the secret: the `id` of the `warren_gcp_signing_key`.
    #[attr(required, validate = link::check("secrets"))]
    pub(crate) secret: Attr<String>,
    /// Version of the secret. Reference the `version` of the `warren_gcp_signing_key` so that Terraform creates the key
    /// first. Defaults to the latest version.
    #[attr(optional)]
    pub(crate) version: Attr<i64>,
    /// The private key, `k4.secret.…`.
    #[attr(computed, sensitive)]
    pub(crate) secret_key: Attr<Secret>,
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

    async fn open(&self, ctx: &Context, config: Value) -> Result<Opened<Value>, Diagnostics> {
        let gcp = self.0.get()?;
        let id = config.secret.value()?;
        let version = config.version.known().map_or_else(|| "latest".to_owned(), i64::to_string);
        let shown = format!("secret {id}");
        let place = Place { resource: Signing::TYPE, attribute: "secret", name: id, shown: &shown };
        let read = || async { Ok(secret::read(&gcp, id, &version).await?.1) };
        let secret_key = signing::open::<Gcp, _>(ctx, place, read).await?;
        Ok(Opened { result: Value { secret_key, ..config }, renew_in: None, private: None })
    }
}
