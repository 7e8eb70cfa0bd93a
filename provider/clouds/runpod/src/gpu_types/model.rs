//! Attributes of `warren_runpod_gpu_types`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, DataSource, Diagnostics, Object, Path, Value};

use crate::gpu::Cloud;

/// Lists the GPU types of RunPod's catalog with list prices and current stock, cheapest first. The result changes from
/// one plan to the next, and it is not a reservation: a create can still fail for lack of capacity.
#[derive(Clone, Debug, Default, PartialEq, DataSource)]
#[data_source(name = "warren_runpod_gpu_types")]
pub(crate) struct GpuTypes {
    /// Type of cloud that prices and stock are read for: `SECURE` or `COMMUNITY`. Defaults to `SECURE`. Types that it does
    /// not offer are left out.
    #[attr(optional)]
    pub(crate) cloud: Attr<Cloud>,
    /// Number of GPUs that one pod needs, 1 to 64. Types with a lower `max_count` are left out. Defaults to `1`.
    #[attr(optional, validate = between(1, 64))]
    pub(crate) gpu_count: Attr<i64>,
    /// Minimum memory of one GPU in GB.
    #[attr(optional, validate = between(1, 4096))]
    pub(crate) min_memory: Attr<i64>,
    /// Maximum list price of one GPU in USD per hour.
    #[attr(optional, validate = positive)]
    pub(crate) max_price: Attr<f64>,
    /// Countries in which the GPUs may be, as ISO 3166-1 alpha-2 codes, such as `FR`. Defaults to all countries.
    #[attr(optional, validate = countries)]
    pub(crate) country_codes: Attr<Vec<String>>,
    /// Lowest acceptable CUDA version of the machine, such as `12.4`.
    #[attr(optional, validate = cuda_version)]
    pub(crate) min_cuda_version: Attr<String>,
    /// Product that the stock is read for: `POD` or `CLUSTER`. Defaults to `POD`.
    #[attr(optional)]
    pub(crate) product: Attr<Product>,
    /// Whether types without stock are left out. Defaults to `true`.
    #[attr(optional)]
    pub(crate) in_stock: Attr<bool>,
    /// IDs of the GPU types, cheapest first: a value for `gpu.ids` of a pod.
    #[attr(computed)]
    pub(crate) ids: Attr<Vec<String>>,
    /// The GPU types, cheapest first.
    #[attr(computed)]
    pub(crate) gpu_types: Attr<Vec<GpuType>>,
}

/// A GPU type.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct GpuType {
    /// ID of the type, such as `NVIDIA GeForce RTX 4090`.
    #[attr(computed)]
    pub(crate) id: Attr<String>,
    /// Short name, such as `RTX 4090`.
    #[attr(computed)]
    pub(crate) name: Attr<String>,
    /// Manufacturer: `NVIDIA`, `AMD`, or `UNKNOWN`.
    #[attr(computed)]
    pub(crate) manufacturer: Attr<String>,
    /// Memory of one GPU in GB.
    #[attr(computed)]
    pub(crate) memory: Attr<i64>,
    /// List price of one GPU in USD per hour, in the selected cloud. Discounts of the account are not reflected; `cost` of
    /// a pod is what it is billed.
    #[attr(computed)]
    pub(crate) price: Attr<f64>,
    /// Largest number of GPUs of one pod in the selected cloud.
    #[attr(computed)]
    pub(crate) max_count: Attr<i64>,
    /// Current stock: `NONE`, `LOW`, `MEDIUM`, or `HIGH`.
    #[attr(computed)]
    pub(crate) availability: Attr<String>,
    /// IDs of the data centers with stock.
    #[attr(computed)]
    pub(crate) data_center_ids: Attr<Vec<String>>,
}

/// What the GPUs are rented for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Product {
    #[choice("POD")]
    Pod,
    #[choice("CLUSTER")]
    Cluster,
}

fn positive(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_f64(),
        _ => None,
    };
    if number.is_some_and(|number| number <= 0.0) {
        diagnostics.error_at(path.clone(), "Invalid price", format!("`{path}` must be greater than 0."));
    }
}

fn countries(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    for code in value.as_slice().into_iter().flatten().filter_map(Value::as_str) {
        if code.len() != 2 || !code.chars().all(|c| c.is_ascii_uppercase()) {
            let detail =
                format!("{code:?} is not an ISO 3166-1 alpha-2 code. Use two capital letters, such as `FR`.");
            diagnostics.error_at(path.clone(), "Invalid country code", detail);
        }
    }
}

/// A major version, or major and minor: unlike that of a pod, this filter accepts both.
fn cuda_version(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let fits = match text.split_once('.') {
        Some((major, minor)) => number(major) && number(minor),
        None => number(text),
    };
    if !fits {
        let detail = format!("{text:?} is not a CUDA version. Use a value such as `12` or `12.4`.");
        diagnostics.error_at(path.clone(), "Invalid CUDA version", detail);
    }
}
