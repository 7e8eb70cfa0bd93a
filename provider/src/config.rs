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
        "Manages hub-spoke networks across AWS, Google Cloud and rented GPUs, with an address plan that is checked \
         before apply.",
    )
    .attribute(
        Attribute::string("fabric")
            .required()
            .validate(name)
            .describe("Name of the fabric: the routing domain, within which no two ranges may overlap. 1 to 63 \
                       characters of `a-z`, `0-9` and `-`."),
    )
    .attribute(
        Attribute::string("owner")
            .required()
            .validate(name)
            .describe("Name of the repository or team whose Terraform state manages the objects. Each state must \
                       use a different owner. 1 to 63 characters of `a-z`, `0-9` and `-`."),
    )
    .attribute(Attribute::string("claims").optional().describe(
        "Location of the claims document, which records the ranges claimed by all owners of the fabric: a file \
         path, `s3://bucket/key` or `gs://bucket/key`. Without it, only the ranges in this configuration and in \
         live networks are checked.",
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
            format!("Invalid {path}"),
            format!(
                "{text:?} must be 1 to 63 characters of `a-z`, `0-9` and `-`, because it becomes a tag of every \
                 object. Choose a short name such as `llm-training`."
            ),
        );
    }
}

/// Parses the location of the claims document.
pub(crate) fn claims(url: &Attr<String>) -> Result<Option<ClaimsUrl>, Diagnostics> {
    let Some(url) = url.known() else { return Ok(None) };
    url.parse::<ClaimsUrl>().map(Some).map_err(|error| {
        Diagnostic::error("Invalid claims location", format!("{error}")).at(Path::of("claims")).into()
    })
}
