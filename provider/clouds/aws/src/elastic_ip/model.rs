//! Schema and state of `warren_aws_elastic_ip`.

use std::net::Ipv4Addr;

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsObject;

/// Manages an Elastic IP address, a static public IPv4 address. It exists independently of the instance that uses it,
/// so clients keep the same address when the instance is replaced.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_elastic_ip", noun = "Elastic IP address")]
pub(crate) struct ElasticIp {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// Public IPv4 address.
    #[attr(computed, keeps)]
    pub(crate) public_ip: Attr<Ipv4Addr>,
}

impl HasShared for ElasticIp {
    type Shared = AwsObject;
}
