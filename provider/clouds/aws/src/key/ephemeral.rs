//! `ephemeral "warren_aws_signing_key"`: the private key for signing tokens in a run.

use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::{Attr, Context, Diagnostics, Ephemeral, Secret, async_trait};
use warren_gateways::key::Signing;
use warren_gateways::signing::{self, Place};

use super::model::Named;
use crate::parameter;
use crate::region;
use crate::session::{Aws, Session};

/// Reads the private key of a `warren_aws_signing_key` from Parameter Store for the duration of a run. Pass it to
/// `warren_enrolment_token`. Terraform stores it nowhere.
#[derive(Clone, Debug, Default, PartialEq, Ephemeral)]
#[ephemeral(name = Signing::TYPE)]
pub(crate) struct Value {
    /// Name of the parameter. Use the `id` of the `warren_aws_signing_key`, so that Terraform creates the key first.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) name: Attr<String>,
    /// Region of the parameter, such as `eu-west-1`. Use the `region` of the `warren_aws_signing_key`. Defaults to the
    /// region of the provider.
    #[attr(optional, validate = region::check)]
    pub(crate) region: Attr<String>,
    /// Version of the parameter. Defaults to the latest version.
    #[attr(optional)]
    pub(crate) version: Attr<i64>,
    /// Private key in PASERK format, `k4.secret.…`.
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
        let aws = match config.region.known() {
            Some(region) => self.0.at(region)?,
            None => self.0.get()?,
        };
        let name = config.name.value()?;
        let versioned = match config.version.known() {
            Some(version) => format!("{name}:{version}"),
            None => name.clone(),
        };
        let shown = format!("parameter {versioned}");
        let place = Place { resource: Signing::TYPE, attribute: "name", name, shown: &shown };
        let read = || async { Ok(parameter::read(&aws, &versioned).await?.1) };
        let secret_key = signing::open::<Aws, _>(ctx, place, read).await?;
        Ok(Opened { result: Value { secret_key, ..config }, renew_in: None, private: None })
    }
}
