//! Attributes and state of `warren_aws_internet_gateway`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// An internet gateway.
    pub struct InternetGateway {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `igw-..`.
        pub id: Attr<String>,
        /// The VPC that it is attached to.
        pub vpc_id: Attr<String>,
        /// Account id.
        pub owner_id: Attr<String>,
        /// Amazon resource name.
        pub arn: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(InternetGateway, "warren_aws_internet_gateway");

pub(super) fn schema() -> Schema {
    Schema::new(
        "An internet gateway, attached to a VPC. It opens nothing by itself: traffic needs a route to it, a public \
         address and a security group that lets it in.",
    )
    .attributes(common::head("internet gateway"))
    .attributes([
        Attribute::string("vpc_id")
            .required()
            .describe("Id of the VPC to attach to; a VPC has at most one. Changes in place."),
        Attribute::string("owner_id").computed().keeps().describe("Id of the account, 12 digits."),
        Attribute::string("arn").computed().keeps().describe("Amazon resource name."),
    ])
    .attributes(common::tail())
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &InternetGateway) -> InternetGateway {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.arn = aws.arn(&found.owner, &format!("internet-gateway/{}", found.id)).into();
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    state.owner_id = found.owner.into();
    state
}
