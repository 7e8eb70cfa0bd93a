//! `warren_aws_wireguard_key`, `warren_aws_signing_key`, `warren_aws_tls_key`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_gateways::key::{KeyAttributes, Kind, Signing, Tls, Wireguard};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::parameter::ParameterName;

/// A key of type `K`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = K::TYPE,
    description = description(K::WHAT),
    noun = "key",
    example = "`/warren/gw-a/wireguard`",
    store = "parameter",
)]
pub(crate) struct Key<K: Named> {
    #[attr(flatten)]
    pub(crate) object: AwsObject<ParameterName>,
    #[attr(flatten)]
    pub(crate) key: KeyAttributes<K>,
    /// ARN or alias of the KMS key that encrypts the private key. Changing this replaces the key. Defaults to the AWS
    /// managed key `alias/aws/ssm`.
    #[attr(optional, replaces)]
    pub(crate) kms_key_id: Attr<String>,
}

fn description(what: &str) -> String {
    format!(
        "Generates {what} and stores it in Systems Manager Parameter Store. The private key is generated in \
         the provider process, stored as a `SecureString` and never written to the plan, the state or a \
         log. Changing `rotation` generates a new key; earlier versions stay readable as `NAME:VERSION` \
         until Parameter Store discards them, after 100 versions."
    )
}

impl<K: Named> HasShared for Key<K> {
    type Shared = AwsObject<ParameterName>;
}

/// A key type with a resource type.
pub(crate) trait Named: Kind {
    /// The resource type.
    const TYPE: &'static str;
}

impl Named for Wireguard {
    const TYPE: &'static str = "warren_aws_wireguard_key";
}

impl Named for Signing {
    const TYPE: &'static str = "warren_aws_signing_key";
}

impl Named for Tls {
    const TYPE: &'static str = "warren_aws_tls_key";
}
