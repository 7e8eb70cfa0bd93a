//! The catalog: GPU types with prices and stock.

use serde_json::{Value, json};

use super::config::GpuType;
use super::error::Refusal;
use super::world::World;
use crate::query::Params;

impl World {
    pub(crate) fn list_gpu_types(&self, query: &Params) -> Result<Value, Refusal> {
        let stock = query.get("include") == "AVAILABILITY";
        if stock && !query.has("product") {
            return Err(Refusal::bad("product is required with include=AVAILABILITY"));
        }
        let scoped = ["product", "count", "cloud", "countryCodes", "cudaVersions", "minCudaVersion"];
        if let Some(name) = scoped.iter().find(|name| !stock && query.has(name)) {
            return Err(Refusal::bad(format!("{name} is valid only with include=AVAILABILITY")));
        }
        if query.has("cudaVersions") && query.has("minCudaVersion") {
            return Err(Refusal::bad("cudaVersions and minCudaVersion are mutually exclusive"));
        }
        let countries: Vec<&str> =
            query.get("countryCodes").split(',').filter(|code| !code.is_empty()).collect();
        let count: u32 = query.get("count").parse().unwrap_or(1);
        let community = query.get("cloud") == "COMMUNITY";
        let mut found = Vec::new();
        for (id, gpu) in &self.config.gpus {
            let mut shown = gpu.shown(id);
            if stock {
                let centers = self.config.data_centers.iter().filter(|(center, gpus)| {
                    gpus.contains(id) && (countries.is_empty() || countries.contains(&country(center)))
                });
                let centers: Vec<&String> = centers.map(|(center, _)| center).collect();
                if centers.is_empty() && !countries.is_empty() {
                    continue;
                }
                let most = if community { gpu.max_count.1 } else { gpu.max_count.0 };
                let free = !self.config.sold_out.contains(id) && count <= most;
                let level = if free && !centers.is_empty() { "HIGH" } else { "NONE" };
                shown["availability"] = json!(level);
                if level != "NONE" {
                    let of = |center: &&String| json!({"id": center, "name": center, "availability": level});
                    shown["dataCenters"] = centers.iter().map(of).collect();
                    shown["cudaVersions"] = json!([{"version": "12.8", "available": true}]);
                }
            }
            found.push(shown);
        }
        Ok(json!({"gpus": found}))
    }
}

/// The double's data centers carry their country as the second part of the name where there is one of Europe.
fn country(center: &str) -> &str {
    let mut parts = center.split('-');
    match (parts.next(), parts.next()) {
        (Some("EU"), Some(country)) => country,
        (Some(country), _) => country,
        _ => "",
    }
}

impl GpuType {
    fn shown(&self, id: &str) -> Value {
        json!({
            "id": id, "name": self.name, "pool": null, "manufacturer": "NVIDIA", "memory": self.memory,
            "secure": self.max_count.0 > 0, "community": self.max_count.1 > 0,
            "price": {"secure": f64::from(self.price.0) / 100.0, "community": f64::from(self.price.1) / 100.0},
            "maxCount": {"secure": self.max_count.0, "community": self.max_count.1},
        })
    }
}
