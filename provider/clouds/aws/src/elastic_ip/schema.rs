//! Attributes and state of `warren_aws_elastic_ip`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};

use crate::address::Elastic;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// A public address.
    pub struct ElasticIp {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `eipalloc-..`.
        pub id: Attr<String>,
        /// The address.
        pub public_ip: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(ElasticIp, "warren_aws_elastic_ip");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages an Elastic IP address, a static public IPv4 address. It exists independently of the \
         instance that uses it, so clients keep the same address when the instance is replaced.",
    )
    .attributes(common::head("Elastic IP address"))
    .attributes([Attribute::string("public_ip").computed().keeps().describe("Public IPv4 address.")])
    .attributes(common::tail())
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Elastic, before: &ElasticIp) -> ElasticIp {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.public_ip = found.public_ip.into();
    state.id = found.id.into();
    state
}
