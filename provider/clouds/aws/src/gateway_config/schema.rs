//! Attributes and state of `warren_aws_gateway_config`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};

use crate::common::{self, Tagged, common};
use crate::parameter;
use crate::session::Aws;
use crate::tags::{TagMap, Tags};
use warren_managed::Timeouts;

model! {
    /// A gateway's configuration file.
    pub struct GatewayConfig {
        /// The parameter's name.
        pub name: Attr<String>,
        /// The same.
        pub id: Attr<String>,
        /// TOML.
        pub content: Attr<String>,
        /// Version of the parameter.
        pub version: Attr<i64>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(GatewayConfig, "warren_aws_gateway_config");

pub(super) fn schema() -> Schema {
    Schema::new(
        "The configuration file of a gateway in the parameter store. The gateway fetches it every minute, so groups, \
         policy and token keys change without replacing it. It holds no secret.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(parameter::check_name).describe(
            "Name of the parameter, such as `/warren/gw-a/config`. A change replaces the parameter.",
        ),
        Attribute::string("id").computed().keeps().describe("The name."),
        Attribute::string("content").required().validate(warren_gateways::config::check).describe(
            "The file: TOML as [docs/gateway.md](../gateway.md) says, up to 8 KB. Mistakes are told at plan. Changes in place.",
        ),
        Attribute::number("version").computed().keeps().describe("Version of the parameter."),
    ])
    .attributes(common::tail())
}

/// A configuration as the parameter store has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) content: String,
    pub(super) version: i64,
    pub(super) tags: Tags,
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &GatewayConfig) -> GatewayConfig {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.content = found.content.into();
    state.version = found.version.into();
    state.name = found.name.as_str().into();
    state.id = found.name.into();
    state
}
