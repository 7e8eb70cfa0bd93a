//! The explicit list of everything that the provider offers.

use tf_provider_rs::{Context, Diagnostics, Provider, Registry, async_trait};
use warren_guard::Guard;

use crate::config::{self, Config};

/// The provider.
pub(crate) struct Warren {
    guard: Guard,
    aws: warren_aws::Session,
    gcp: warren_gcp::Session,
    runpod: warren_runpod::Session,
}

impl Default for Warren {
    fn default() -> Warren {
        // Without the cookie, a developer attaches Terraform to this process, which then serves all runs.
        let guard = match std::env::var_os("TF_PLUGIN_MAGIC_COOKIE") {
            Some(_) => Guard::of_this_run(),
            None => Guard::default(),
        };
        Warren {
            aws: warren_aws::Session::new(guard.clone()),
            gcp: warren_gcp::Session::new(guard.clone()),
            runpod: warren_runpod::Session::new(guard.clone()),
            guard,
        }
    }
}

#[async_trait]
impl Provider for Warren {
    type Model = Config;

    fn registry(&self) -> Registry {
        warren_local::registry(self.guard.clone())
            .merge(warren_aws::registry(&self.aws))
            .merge(warren_gcp::registry(&self.gcp))
            .merge(warren_runpod::registry(&self.runpod))
    }

    async fn configure(&self, _: &Context, _: &str, config: Config, diagnostics: &mut Diagnostics) {
        let scope = match config.scope() {
            Ok(scope) => scope,
            Err(error) => return diagnostics.extend(error),
        };
        let warren_managed::Scope { fabric, owner } = scope.clone();
        diagnostics.extend(self.aws.configure(&config.aws, scope.clone()).await);
        diagnostics.extend(self.gcp.configure(&config.gcp, scope.clone()).await);
        diagnostics.extend(self.runpod.configure(&config.runpod, scope).await);
        match config::claims(&config.claims) {
            Ok(claims) => self.guard.configure(warren_guard::GuardConfig {
                fabric,
                owner,
                claims,
                s3: warren_aws::s3_options(&self.aws),
                gcs: warren_gcp::gcs_options(&self.gcp),
            }),
            Err(error) => diagnostics.extend(error),
        }
        self.aws.watch_live();
        self.gcp.watch_live();
    }
}
