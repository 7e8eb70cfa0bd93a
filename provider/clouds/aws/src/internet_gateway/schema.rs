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
        /// Account ID.
        pub owner_id: Attr<String>,
        /// Amazon Resource Name.
        pub arn: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(InternetGateway, "warren_aws_internet_gateway");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages an internet gateway and attaches it to a VPC. The gateway alone opens nothing: traffic \
         also needs a route to the gateway, a public IP address and a security group that allows it.",
    )
    .attributes(common::head("internet gateway"))
    .attributes([
        Attribute::string("vpc_id").required().describe(
            "ID of the VPC to attach the gateway to. A VPC has at most one internet gateway. Updated in \
             place.",
        ),
        Attribute::string("owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the gateway."),
        Attribute::string("arn")
            .computed()
            .keeps()
            .describe("Amazon Resource Name (ARN) of the internet gateway."),
    ])
    .attributes(common::tail())
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &InternetGateway) -> InternetGateway {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.arn = aws.arn(&found.owner, &format!("internet-gateway/{}", found.id)).into();
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    state.owner_id = found.owner.into();
    state
}
