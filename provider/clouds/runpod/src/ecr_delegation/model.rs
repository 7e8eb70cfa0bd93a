//! The schema and state of `warren_runpod_ecr_delegation`.

use tf_provider_rs::{Attr, Diagnostics, Path, Resource, Value};
use warren_managed::HasShared;

use crate::common::{FixedName, RunpodObject};

/// Manages the delegation with which RunPod pulls images from a private repository of Amazon ECR. It needs no password,
/// and it does not expire. The repository's policy must admit RunPod before the delegation is created. At RunPod its name
/// ends with a marker of the fabric and owner, which lets a re-run of an interrupted apply find the delegation.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_runpod_ecr_delegation", noun = "delegation")]
pub(crate) struct EcrDelegation {
    #[attr(flatten)]
    pub(crate) object: RunpodObject<FixedName>,
    /// ARN of the repository, such as `arn:aws:ecr:us-east-2:111122223333:repository/acme/train`. Changing this replaces
    /// the delegation.
    #[attr(required, replaces, validate = repository_arn)]
    pub(crate) repository_arn: Attr<String>,
    /// Registry of the repository, such as `111122223333.dkr.ecr.us-east-2.amazonaws.com`. Null if RunPod does not report
    /// it.
    #[attr(computed, keeps)]
    pub(crate) registry: Attr<String>,
}

impl HasShared for EcrDelegation {
    type Shared = RunpodObject<FixedName>;
}

/// The parts of an ARN that a delegation reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository<'a> {
    pub(super) region: &'a str,
    pub(super) account: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Repository<'a> {
    /// Reads the ARN of a repository; of any partition.
    pub(super) fn parse(arn: &'a str) -> Option<Repository<'a>> {
        let mut parts = arn.splitn(6, ':');
        let [Some("arn"), Some(_), Some("ecr"), Some(region), Some(account), Some(resource)] =
            std::array::from_fn(|_| parts.next())
        else {
            return None;
        };
        let name = resource.strip_prefix("repository/").filter(|name| !name.is_empty())?;
        let numbered = account.len() == 12 && account.chars().all(|c| c.is_ascii_digit());
        (numbered && !region.is_empty()).then_some(Repository { region, account, name })
    }
}

fn repository_arn(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if Repository::parse(text).is_none() {
        let detail = format!(
            "{text:?} is not the ARN of a repository. Use a value such as \
             `arn:aws:ecr:us-east-2:111122223333:repository/acme/train`."
        );
        diagnostics.error_at(path.clone(), "Invalid repository ARN", detail);
    }
}
