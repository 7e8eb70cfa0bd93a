//! The session that the resources of one run share.

use std::sync::Arc;

use tf_provider_rs::{Diagnostics, IdentitySchema, ImportRequest, Value, async_trait};
use warren_guard::{LiveSource, Location};
use warren_managed::{Cloud, Imported, Locator, Place, Scope};

pub(crate) use crate::account::Gcp;
use crate::config::GcpConfig;
use crate::error::ApiError;
use crate::link::{self, Link};
use crate::live::LiveGcp;
use crate::memory::RunMemory;

/// Shared by all resources of this cloud; cheap to clone.
pub type Session = warren_managed::Session<Gcp>;

/// An operation on one object, and the session that it uses.
pub(crate) type Work<'a> = warren_managed::Work<'a, Gcp>;

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
        Gcp::new(config, scope).await
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The ID contains the project and the region.
    fn identity() -> IdentitySchema {
        IdentitySchema::new()
            .required("id", "ID such as `projects/acme-ml/global/networks/hub`, or a self link.")
    }

    fn identity_of(_gcp: Option<&Gcp>, id: &str, _project: Option<&str>) -> Value {
        Value::object([("id", Value::from(id))])
    }

    const LOCATORS: &'static [Locator] = &[Locator {
        attribute: "project",
        noun: "project",
        setting: "configure the provider (`gcp.project`)",
    }];

    const SITE: Option<&'static str> = Some("project");

    fn site_of(id: &str) -> Option<String> {
        Link::parse(id).map(|link| link.project).filter(|project| !link::is_number(project))
    }

    fn at(self: &Arc<Gcp>, project: &str) -> Arc<Gcp> {
        Arc::new(self.in_project(project))
    }

    fn admits(&self, project: &str) -> Result<(), Diagnostics> {
        Ok(Gcp::admits(self, project)?)
    }

    fn live(self: &Arc<Gcp>) -> Option<Arc<dyn LiveSource>> {
        Some(Arc::new(LiveGcp::new(Arc::clone(self))))
    }

    fn live_sites(&self) -> Vec<String> {
        self.live_projects.iter().cloned().collect()
    }

    fn place(&self) -> Place {
        Place::from([("project", self.project.clone())])
    }

    /// From the ID.
    fn place_of(state: &Value) -> Place {
        let project = state.get("id").and_then(Value::as_str).and_then(Gcp::site_of);
        project.map(|project| ("project", project)).into_iter().collect()
    }

    fn location(&self) -> Location {
        Location::gcp(&self.project, self.region.clone().unwrap_or_default())
    }

    fn import(
        _account: Result<Arc<Gcp>, Diagnostics>,
        request: &ImportRequest,
        _sited: bool,
    ) -> Result<Imported, Diagnostics> {
        Ok(Imported { id: link::id(&request.id_or("id")?), site: None })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tf_provider_rs::Attr;
    use warren_guard::Guard;
    use warren_managed::sets;

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
