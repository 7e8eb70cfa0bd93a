//! `data "warren_tunnel_config"`: the agent's configuration for the platform that runs the pods.

mod model;
mod render;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Context, DataSource, Diagnostics, async_trait};

use model::TunnelConfig;

/// The data source.
pub(crate) struct TunnelConfigs;

#[async_trait]
impl DataSource for TunnelConfigs {
    type Model = TunnelConfig;

    async fn read(&self, _: &Context, config: TunnelConfig) -> Result<TunnelConfig, Diagnostics> {
        render::render(config)
    }
}
