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
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(ElasticIp, "warren_aws_elastic_ip");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A public IPv4 address. As an object of its own it stays when the gateway that has it is replaced, so that \
         peers find the next one where the last one was.",
    )
    .attributes(common::head("address"))
    .attributes([Attribute::string("public_ip").computed().keeps().describe("The address.")])
    .attributes(common::tail())
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Elastic, before: &ElasticIp) -> ElasticIp {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.public_ip = found.public_ip.into();
    state.id = found.id.into();
    state
}
