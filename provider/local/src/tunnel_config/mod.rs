//! `data "warren_tunnel_config"`: the agent's configuration for the platform that runs the pods.

mod render;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Context, DataSource, Diagnostics, Schema, async_trait};

use schema::TunnelConfig;

/// The data source.
pub(crate) struct TunnelConfigs;

#[async_trait]
impl DataSource for TunnelConfigs {
    type Model = TunnelConfig;

    fn type_name(&self) -> &'static str {
        "warren_tunnel_config"
    }

    fn schema(&self) -> Schema {
        schema::schema()
    }

    async fn read(&self, _: &Context, config: TunnelConfig) -> Result<TunnelConfig, Diagnostics> {
        render::render(config)
    }
}
