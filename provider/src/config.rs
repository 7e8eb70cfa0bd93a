//! The provider block.

use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Provider, Value};
use warren_guard::ClaimsUrl;
use warren_managed::Scope;

/// Manages hub-spoke networks across AWS, Google Cloud and rented GPUs, with an address plan that is checked before
/// apply.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
pub(crate) struct Config {
    /// Name of the fabric: the routing domain, within which no two ranges may overlap. 1 to 63 characters of `a-z`,
    /// `0-9` and `-`.
    #[attr(required, validate = name)]
    pub(crate) fabric: Attr<String>,
    /// Name of the repository or team whose Terraform state manages the objects. Each state must use a different
    /// owner. 1 to 63 characters of `a-z`, `0-9` and `-`.
    #[attr(required, validate = name)]
    pub(crate) owner: Attr<String>,
    /// Location of the claims document, which records the ranges claimed by all owners of the fabric: a file path,
    /// `s3://bucket/key` or `gs://bucket/key`. A plan claims its ranges for 1 hour, an apply until the object is
    /// destroyed. The document has up to 16 MiB, which is enough for about 80,000 claims. Without it, only the ranges
    /// in this configuration and in live networks are checked.
    #[attr(optional)]
    pub(crate) claims: Attr<String>,
    /// AWS account to manage. Credentials come from the same sources as in the AWS CLI: environment variables, shared
    /// files, IAM Identity Center (SSO), web identity, and container and instance roles.
    #[attr(optional)]
    pub(crate) aws: Attr<warren_aws::AwsConfig>,
    /// Google Cloud project and region. The provider uses Application Default Credentials:
    /// `GOOGLE_APPLICATION_CREDENTIALS`, `gcloud auth application-default login`, Workload Identity Federation or the
    /// metadata server.
    #[attr(optional)]
    pub(crate) gcp: Attr<warren_gcp::GcpConfig>,
    /// RunPod account. Use `{}` if `RUNPOD_API_KEY` is set.
    #[attr(optional)]
    pub(crate) runpod: Attr<warren_runpod::RunPodConfig>,
}

impl Config {
    /// The fabric and the owner of the run's objects.
    ///
    /// # Errors
    /// One of them is known only after apply, but they identify the objects that exist.
    pub(crate) fn scope(&self) -> Result<Scope, Diagnostics> {
        let known = |value: &Attr<String>, name: &str| {
            value.known().cloned().ok_or_else(|| {
                Diagnostic::error(
                    format!("The {name} is not known yet"),
                    format!(
                        "`{name}` identifies the objects that exist, so the provider needs it during the plan. Use a \
                         value that is known at plan time."
                    ),
                )
                .at(Path::of(name))
            })
        };
        Ok(Scope { fabric: known(&self.fabric, "fabric")?, owner: known(&self.owner, "owner")? })
    }
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
