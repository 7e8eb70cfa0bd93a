//! Attributes and state of `warren_aws_gateway_config`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};

use crate::common::{self, Tagged, common};
use crate::parameter;
use crate::session::Aws;
use crate::tags::{TagMap, Tags};
use warren_managed::Timeouts;

model! {
    /// The configuration file of a gateway.
    pub struct GatewayConfig {
        /// The parameter's name.
        pub name: Attr<String>,
        /// The same.
        pub id: Attr<String>,
        /// TOML.
        pub content: Attr<String>,
        /// Version of the parameter.
        pub version: Attr<i64>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(GatewayConfig, "warren_aws_gateway_config");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages the configuration file of a gateway in Systems Manager Parameter Store. The gateway \
         fetches it every minute, so groups, policy and token keys change without replacing the gateway. \
         The file contains no secrets.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(parameter::check_name).describe(
            "Name of the parameter, such as `/warren/gw-a/config`. Changing this replaces the parameter.",
        ),
        Attribute::string("id").computed().keeps().describe("Name of the parameter."),
        Attribute::string("content").required().validate(warren_gateways::config::check).describe(
            "Configuration file in TOML format, up to 8 KB, as described in [Gateway](../gateway.md). It \
             is validated at plan time. Updated in place.",
        ),
        Attribute::number("version").computed().keeps().describe("Current version of the parameter."),
    ])
    .attributes(common::tail())
}

/// A configuration in Parameter Store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) content: String,
    pub(super) version: i64,
    pub(super) tags: Tags,
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &GatewayConfig) -> GatewayConfig {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.content = found.content.into();
    state.version = found.version.into();
    state.name = found.name.as_str().into();
    state.id = found.name.into();
    state
}
