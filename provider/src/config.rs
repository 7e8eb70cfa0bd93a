//! The provider block.

use tf_provider_rs::{Attr, Attribute, Diagnostic, Diagnostics, Path, Schema, Value, model};
use warren_guard::ClaimsUrl;

model! {
    /// `provider "warren" { .. }`.
    pub(crate) struct Config {
        pub(crate) fabric: Attr<String>,
        pub(crate) owner: Attr<String>,
        pub(crate) claims: Attr<String>,
        pub(crate) aws: Attr<warren_aws::AwsConfig>,
        pub(crate) gcp: Attr<warren_gcp::GcpConfig>,
        pub(crate) runpod: Attr<warren_runpod::RunPodConfig>,
    }
}

/// The schema of the provider block.
pub(crate) fn schema() -> Schema {
    Schema::new(
        "Hub-spoke networks across clouds and rented GPUs, with an address plan that is checked before apply.",
    )
    .attribute(
        Attribute::string("fabric")
            .required()
            .validate(name)
            .describe("The routing domain, 1 to 63 characters of `a-z`, `0-9` and `-`. Inside it no two ranges may overlap."),
    )
    .attribute(
        Attribute::string("owner")
            .required()
            .validate(name)
            .describe("The repo or team whose state manages the objects, 1 to 63 characters of `a-z`, `0-9` and `-`. Every state has an owner of its own."),
    )
    .attribute(Attribute::string("claims").optional().describe(
        "Where the ranges claimed by all owners of the fabric are kept: a file, `s3://bucket/key` or `gs://bucket/key`. Without it only the ranges of this configuration and of the live networks are checked.",
    ))
    .attribute(warren_aws::provider_attribute())
    .attribute(warren_gcp::provider_attribute())
    .attribute(warren_runpod::provider_attribute())
}

fn name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() || text.len() > 63 || !text.chars().all(allowed) {
        diagnostics.error_at(
            path.clone(),
            format!("Not a valid `{path}`"),
            format!(
                "{text:?} is not 1 to 63 characters of `a-z`, `0-9` and `-`. It becomes a tag of every object; \
                 choose a short name such as `llm-training`."
            ),
        );
    }
}

/// Where claims are kept.
pub(crate) fn claims(url: &Attr<String>) -> Result<Option<ClaimsUrl>, Diagnostics> {
    let Some(url) = url.known() else { return Ok(None) };
    url.parse::<ClaimsUrl>().map(Some).map_err(|error| {
        Diagnostic::error("Not a claims location", format!("{error}")).at(Path::of("claims")).into()
    })
}
