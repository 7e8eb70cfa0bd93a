//! `data "warren_runpod_gpu_types"`: the catalog with prices and stock.

mod model;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};
use tf_provider_rs::{Attr, Context, DataSource, Diagnostics, async_trait};
use tokio::time::Instant;
use warren_managed::retry;

use crate::answer::Answer as _;
use crate::error::ApiError;
use crate::gpu::Cloud;
use crate::session::{RunPod, Session};
use model::{GpuType, GpuTypes, Product};

const LIST: &str = "listGpuTypes";

/// Time for reading the catalog.
const READ: Duration = Duration::from_secs(120);

/// The data source.
pub(crate) struct Catalog {
    session: Session,
}

impl Catalog {
    /// The catalog of the account of `session`.
    pub(crate) fn new(session: &Session) -> Catalog {
        Catalog { session: session.clone() }
    }
}

#[async_trait]
impl DataSource for Catalog {
    type Model = GpuTypes;

    async fn read(&self, ctx: &Context, config: GpuTypes) -> Result<GpuTypes, Diagnostics> {
        let runpod = self.session.get()?;
        let read = read(&runpod, &config);
        let gpu_types = retry::until(Instant::now() + READ, ctx.cancel.clone(), read).await?;
        let ids = gpu_types.iter().filter_map(|gpu| gpu.id.known().cloned()).collect();
        Ok(GpuTypes { ids: Attr::Known(ids), gpu_types: Attr::Known(gpu_types), ..config })
    }
}

/// Reads the GPU types, which are in the stable order of price and ID.
async fn read(runpod: &RunPod, config: &GpuTypes) -> Result<Vec<GpuType>, ApiError> {
    let answer = runpod.client.query(LIST, "/v2/catalog/gpus", &query(config)).await?;
    let found = answer.list(LIST, "gpus")?.iter().map(|gpu| found(gpu, config));
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    found.retain(|gpu| fits(gpu, config));
    let price = |gpu: &GpuType| gpu.price.known().copied().unwrap_or(f64::MAX);
    found.sort_by(|one, other| {
        price(one).total_cmp(&price(other)).then_with(|| one.id.known().cmp(&other.id.known()))
    });
    Ok(found)
}

/// The parameters of the call. Stock is read for one product: a type can be scarce for one and plentiful for another.
fn query(config: &GpuTypes) -> Vec<(&'static str, String)> {
    let product = config.product.known().unwrap_or(&Product::Pod);
    let mut query = vec![
        ("include", "AVAILABILITY".to_owned()),
        ("product", product.to_string()),
        ("cloud", cloud(config).to_string()),
        ("count", count(config).to_string()),
    ];
    if let Some(codes) = config.country_codes.known().filter(|codes| !codes.is_empty()) {
        query.push(("countryCodes", codes.join(",")));
    }
    if let Some(version) = config.min_cuda_version.known() {
        query.push(("minCudaVersion", version.clone()));
    }
    query
}

fn cloud(config: &GpuTypes) -> Cloud {
    config.cloud.known().copied().unwrap_or(Cloud::Secure)
}

fn count(config: &GpuTypes) -> i64 {
    config.gpu_count.known().copied().unwrap_or(1)
}

/// A GPU type as the API returns it, with price and maximum of the selected cloud. A cloud that does not offer the type
/// has no price.
fn found(gpu: &Value, config: &GpuTypes) -> Result<GpuType, ApiError> {
    let cloud = match cloud(config) {
        Cloud::Secure => "secure",
        Cloud::Community => "community",
    };
    let offered = gpu[cloud] == json!(true);
    let centers = gpu["dataCenters"].as_array().into_iter().flatten();
    let mut centers: Vec<String> = centers
        .filter(|center| center["availability"] != json!("NONE"))
        .filter_map(|center| center.text("id").map(str::to_owned))
        .collect();
    centers.sort();
    Ok(GpuType {
        id: gpu.member(LIST, "id")?.into(),
        name: gpu.member(LIST, "name")?.into(),
        manufacturer: gpu.member(LIST, "manufacturer")?.into(),
        memory: gpu.number(LIST, "memory")?.into(),
        price: gpu["price"][cloud].as_f64().filter(|_| offered).into(),
        max_count: gpu["maxCount"][cloud].as_i64().filter(|_| offered).unwrap_or(0).into(),
        availability: gpu.text("availability").unwrap_or("NONE").into(),
        data_center_ids: Attr::Known(centers),
    })
}

fn fits(gpu: &GpuType, config: &GpuTypes) -> bool {
    let known = |number: &Attr<i64>| number.known().copied().unwrap_or(0);
    let in_stock = config.in_stock.known().copied().unwrap_or(true);
    known(&gpu.max_count) >= count(config)
        && known(&gpu.memory) >= known(&config.min_memory)
        && gpu.price.known().is_some_and(|price| config.max_price.known().is_none_or(|most| price <= most))
        && (!in_stock || gpu.availability != "NONE".into())
}
