//! `data "warren_capacity_plan"`: transfer times, planned rates, costs, and the recommended link.

mod compute;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Context, DataSource, Diagnostics, async_trait};

use model::CapacityPlan;

/// The data source.
pub(crate) struct CapacityPlans;

#[async_trait]
impl DataSource for CapacityPlans {
    type Model = CapacityPlan;

    async fn read(&self, _: &Context, config: CapacityPlan) -> Result<CapacityPlan, Diagnostics> {
        compute::compute(config)
    }
}
