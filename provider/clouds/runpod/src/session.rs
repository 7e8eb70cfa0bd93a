//! The configured account.

use std::sync::Arc;

use tf_provider_rs::{Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Path, Value, async_trait};
use warren_managed::{Cloud, Imported, Scope};

use crate::client::Client;
use crate::config::{ENDPOINT, KEY_VARIABLE, RunPodConfig};
use crate::error::ApiError;

/// Shared by all resources of this cloud; cheap to clone.
pub type Session = warren_managed::Session<RunPod>;

/// An operation on one object, with the account it runs against.
pub(crate) type Work<'a> = warren_managed::Work<'a, RunPod>;

/// The configured account.
pub struct RunPod {
    /// Fabric and owner of the objects.
    pub(crate) scope: Scope,
    pub(crate) client: Client,
}

#[async_trait]
impl Cloud for RunPod {
    const NAME: &'static str = "RunPod";
    const ABSENT: (&'static str, &'static str) = (
        "The provider has no RunPod account",
        "The provider block has no `runpod` attribute, which this resource needs. Add `runpod = {}` to `provider \
         \"warren\"` and set RUNPOD_API_KEY.",
    );
    const UNKNOWN: (&'static str, &'static str) = (
        "The provider's RunPod account is not known yet",
        "A value in `runpod` of the provider block is known only after apply, so the provider cannot call RunPod \
         during the plan. Use values that are known at plan time, or first apply the resources that they come from \
         (`terraform apply -target=..`).",
    );
    const UNIQUE_NAMES: bool = false;

    type Config = RunPodConfig;
    type Error = ApiError;
    /// The marker that each object type writes into its field.
    type Marks = String;
    type Memory = ();

    async fn connect(config: &RunPodConfig, scope: Scope) -> Result<RunPod, Diagnostics> {
        let configured = config.api_key.known().map(|key| key.0.clone());
        let key = configured.or_else(|| std::env::var(KEY_VARIABLE).ok()).unwrap_or_default();
        if key.trim().is_empty() {
            return Err(Diagnostic::error(
                "No RunPod API key",
                "Neither `runpod.api_key` in the provider block nor RUNPOD_API_KEY contains a key. Create one in \
                 the RunPod console under Settings > API Keys and set RUNPOD_API_KEY.",
            )
            .at(Path::of("runpod").attribute("api_key"))
            .into());
        }
        let endpoint = config.endpoint_url.known().map_or(ENDPOINT, String::as_str);
        Ok(RunPod { scope, client: Client::new(endpoint, key.trim())? })
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    /// IDs are unique at RunPod.
    fn identity() -> IdentitySchema {
        IdentitySchema::new().required("id", "ID of the object, such as `7h9k2m4n6p`.")
    }

    fn identity_of(_cloud: Option<&Self>, id: &str, _site: Option<&str>) -> Value {
        Value::object([("id", Value::from(id))])
    }

    fn import(
        _account: Result<Arc<RunPod>, Diagnostics>,
        request: &ImportRequest,
        _sited: bool,
    ) -> Result<Imported, Diagnostics> {
        Ok(Imported { id: request.id_or("id")?, site: None })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tf_provider_rs::Attr;
    use tf_provider_rs::model::Secret;
    use warren_guard::Guard;

    /// A configured session whose account is never called.
    pub(crate) async fn session() -> Session {
        let config = RunPodConfig {
            api_key: Attr::Known(Secret("rpa_TEST".to_owned())),
            endpoint_url: "http://127.0.0.1:9".into(),
        };
        let session = Session::new(Guard::default());
        let scope = Scope { fabric: "training".into(), owner: "platform".into() };
        assert_eq!(session.configure(&Attr::Known(config), scope).await, Diagnostics::default());
        session
    }

    #[tokio::test]
    async fn a_missing_key_and_a_wrong_url_are_told() {
        let mut all = String::new();
        for (key, url) in [(" ", "http://127.0.0.1:9"), ("a key\n2", "http://x"), ("k", "runpod")] {
            let config =
                RunPodConfig { api_key: Attr::Known(Secret(key.to_owned())), endpoint_url: url.into() };
            let session = Session::new(Guard::default());
            let told = session.configure(&Attr::Known(config), Scope::default()).await;
            all.extend(told.0.iter().map(|d| format!("{}\n{}\n", d.summary, d.detail)));
        }
        insta::assert_snapshot!(all);
    }
}
