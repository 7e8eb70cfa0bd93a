//! The configured project, and what its resources share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tf_provider_rs::{
    Attr, Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Path, Value, async_trait,
};
use warren_managed::{Cloud, Scope, sets};

use crate::client::Clients;
use crate::config::{GcpConfig, PROJECT_VARIABLES, REGION_VARIABLES};
use crate::error::ApiError;
use crate::link;
use crate::live::LiveSubnetworks;
use crate::memory::RunMemory;
use crate::operation::Begun;

/// Shared by all resources of this cloud; cheap to clone.
pub type Session = warren_managed::Session<Gcp>;

/// An operation on one object, and the session that it uses.
pub(crate) type Work<'a> = warren_managed::Work<'a, Gcp>;

/// The configured project.
pub struct Gcp {
    /// Fabric and owner of the objects.
    pub(crate) scope: Scope,
    /// ID of the project.
    pub(crate) project: String,
    /// Default region of resources.
    pub(crate) region: Option<String>,
    /// Networks that the check against live networks ignores.
    pub(crate) ignore_live: BTreeSet<String>,
    pub(crate) clients: Clients,
    /// Creates in progress, by the ID of their object.
    begun: Mutex<BTreeMap<String, Begun>>,
}

impl Gcp {
    /// Remembers a create that has started; [`crate::operation::landed`] waits for it.
    pub(crate) fn began(&self, id: &str, begun: Begun) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), begun);
    }

    /// The create of `id` that this process has started and not yet waited for.
    pub(crate) fn take_begun(&self, id: &str) -> Option<Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

#[async_trait]
impl Cloud for Gcp {
    const NAME: &'static str = "Google";
    const ABSENT: (&'static str, &'static str) = (
        "Google Cloud is not configured",
        "This resource needs a Google Cloud project, but the provider block does not set one. Add `gcp = { project = \
         \"acme-ml\", region = \"us-central1\" }` to `provider \"warren\"`. The provider uses Application Default \
         Credentials (`gcloud auth application-default login`).",
    );
    const UNKNOWN: (&'static str, &'static str) = (
        "Google Cloud configuration not known yet",
        "A value of `gcp` in the provider block is known only after apply, so the provider cannot call Google Cloud \
         during plan. Use values that are known at plan time, or first apply the resources that they come from \
         (`terraform apply -target=...`).",
    );
    const UNIQUE_NAMES: bool = true;

    type Config = GcpConfig;
    type Error = ApiError;
    /// The description: marker and text.
    type Marks = String;
    type Memory = RunMemory;

    async fn connect(config: &GcpConfig, scope: Scope) -> Result<Gcp, Diagnostics> {
        let Some(project) = setting(&config.project, &PROJECT_VARIABLES) else {
            return Err(Diagnostic::error(
                "Missing Google Cloud project",
                "Neither `gcp.project` in the provider block nor GOOGLE_CLOUD_PROJECT is set. Set `gcp = { project = \
                 \"acme-ml\" }`.",
            )
            .at(Path::of("gcp").attribute("project"))
            .into());
        };
        let allowed = sets::known(&config.allowed_projects);
        if !allowed.is_empty() && !allowed.contains(&project) {
            return Err(wrong_project(&project, &allowed).into());
        }
        Ok(Gcp {
            scope,
            region: setting(&config.region, &REGION_VARIABLES),
            ignore_live: sets::known(&config.ignore_live).iter().map(|text| link::id(text)).collect(),
            clients: Clients::new(config.endpoint_url.known().map(String::as_str)).await?,
            project,
            begun: Mutex::default(),
        })
    }

    /// The ID contains the project and the region.
    fn identity() -> IdentitySchema {
        IdentitySchema::new()
            .required("id", "ID such as `projects/acme-ml/global/networks/hub`, or a self link.")
    }

    fn identity_of(_gcp: Option<&Gcp>, id: &str) -> Value {
        Value::object([("id", Value::from(id))])
    }

    fn import(_session: &Session, request: &ImportRequest) -> Result<String, Diagnostics> {
        Ok(link::id(&request.id_or("id")?))
    }
}

/// Adds the live subnetworks of the project to the guard's comparisons; call it after the guard is
/// configured.
pub fn watch_live(session: &Session) {
    if let Some(gcp) = session.known() {
        session.guard().add_live(Arc::new(LiveSubnetworks::new(gcp)));
    }
}

/// The configured value, or the first of these environment variables that is set.
fn setting(configured: &Attr<String>, variables: &[&str]) -> Option<String> {
    let from_environment = || variables.iter().find_map(|name| std::env::var(name).ok());
    configured.known().cloned().or_else(from_environment).filter(|text| !text.is_empty())
}

fn wrong_project(project: &str, allowed: &BTreeSet<String>) -> Diagnostic {
    let allowed = allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Diagnostic::error(
        "Google Cloud project not allowed",
        format!(
            "The provider is configured for project {project}, but `allowed_projects` permits only {allowed}. \
             Nothing was changed. Configure a permitted project, or add this one to the list."
        ),
    )
    .at(Path::of("gcp").attribute("allowed_projects"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use warren_guard::Guard;

    /// A configured session that never calls its project.
    pub(crate) async fn session() -> Session {
        let config = GcpConfig {
            project: "acme-ml".into(),
            region: "us-central1".into(),
            endpoint_url: "http://127.0.0.1:9".into(),
            ..GcpConfig::default()
        };
        let session = Session::new(Guard::default());
        let scope = Scope { fabric: "training".into(), owner: "platform".into() };
        assert_eq!(session.configure(&Attr::Known(config), scope).await, Diagnostics::default());
        session
    }

    #[tokio::test]
    async fn a_project_that_is_not_allowed_is_refused() {
        let config = GcpConfig {
            project: "acme-prod".into(),
            allowed_projects: sets::of(["acme-ml".to_owned()]),
            ..GcpConfig::default()
        };
        let told = Session::new(Guard::default()).configure(&Attr::Known(config), Scope::default()).await;
        insta::assert_snapshot!(told.0[0].detail);
    }
}
