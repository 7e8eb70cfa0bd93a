//! Google's API clients, each made once, with Application Default Credentials.

use std::sync::Arc;
use std::time::Duration;

use google_cloud_artifactregistry_v1::client::ArtifactRegistry;
use google_cloud_auth::credentials::{self, CacheableResource, Credentials, CredentialsProvider};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_compute_v1::client::{
    Addresses, Disks, Firewalls, GlobalAddresses, GlobalForwardingRules, GlobalOperations,
    InstanceGroupManagers, InstanceTemplates, Instances, Networks, Projects, RegionOperations, Routers,
    Routes, Subnetworks, ZoneOperations,
};
use google_cloud_dns_v1::client::{ManagedZoneOperations, ManagedZones, ResourceRecordSets};
use google_cloud_gax::backoff_policy::BackoffPolicy;
use google_cloud_gax::error::Error;
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax::retry_throttler::CircuitBreaker;
use google_cloud_iam_admin_v1::client::Iam;
use google_cloud_identity_accesscontextmanager_v1::client::AccessContextManager;
use google_cloud_networkconnectivity_v1::client::InternalRangeService;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use http::{Extensions, HeaderMap};
use tf_provider_rs::{Diagnostic, Diagnostics, Path};
use tokio::sync::OnceCell;
use warren_managed::retry::{self, Budget};

use crate::credentials::Found;
use crate::error::{ApiError, Failure as _, Remedy, chain};
use crate::reach::Hosts;

/// A client of one collection. The errors are in prose.
macro_rules! client {
    ($client:ty, $settings:expr) => {{
        let Settings { endpoint, credentials, universe, hosts } = $settings;
        // The clients of one API share its budget and its host, which have the name of their crate.
        let service = std::any::type_name::<$client>().split("::").next().unwrap_or_default();
        let policy = Policy { budget: Budget::of(service) };
        let reach = hosts.of(endpoint.as_deref().unwrap_or(service));
        let credentials = Admission { budget: Arc::clone(&policy.budget), credentials: credentials.clone() };
        let mut builder = <$client>::builder()
            .with_credentials(credentials)
            .with_retry_policy(reach.policy(policy.clone()))
            .with_backoff_policy(policy)
            .with_retry_throttler(reach.throttler(throttler()?))
            .with_attempt_timeout(Duration::from_secs(60));
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint.clone());
        }
        if let Some(universe) = universe {
            builder = builder.with_universe_domain(universe.clone());
        }
        builder.build().await.map_err(|error| chain(&error))
    }};
}

/// Declares [`Clients`] with a client for each collection of the API.
macro_rules! clients {
    ($($name:ident: $client:ty,)*) => {
        /// A client for each collection of the API, made when it is first used: each one reads the root certificates.
        pub(crate) struct Clients {
            settings: Settings,
            $($name: OnceCell<$client>,)*
        }

        impl Clients {
            fn with(settings: Settings) -> Clients {
                Clients { settings, $($name: OnceCell::new(),)* }
            }

            $(
                /// The client of this collection.
                ///
                /// # Errors
                /// It cannot be made, which [`Clients::new`] would have reported too.
                pub(crate) async fn $name(&self) -> Result<&$client, ApiError> {
                    let made = self.$name.get_or_try_init(async || client!($client, &self.settings)).await;
                    made.map_err(|why: String| ApiError::unsent(stringify!($name), &why))
                }
            )*
        }
    };
}

clients! {
    projects: Projects,
    networks: Networks,
    subnetworks: Subnetworks,
    firewalls: Firewalls,
    routes: Routes,
    routers: Routers,
    addresses: Addresses,
    global_addresses: GlobalAddresses,
    forwarding_rules: GlobalForwardingRules,
    instances: Instances,
    disks: Disks,
    templates: InstanceTemplates,
    groups: InstanceGroupManagers,
    global_operations: GlobalOperations,
    region_operations: RegionOperations,
    zone_operations: ZoneOperations,
    dns_zones: ManagedZones,
    dns_records: ResourceRecordSets,
    dns_operations: ManagedZoneOperations,
    artifacts: ArtifactRegistry,
    perimeters: AccessContextManager,
    secrets: SecretManagerService,
    service_accounts: Iam,
    internal_ranges: InternalRangeService,
}

struct Settings {
    endpoint: Option<String>,
    credentials: Credentials,
    universe: Option<String>,
    hosts: Hosts,
}

impl Clients {
    /// Clients of Google with these credentials, or of the emulator at `endpoint`, which is called without credentials.
    ///
    /// # Errors
    /// The endpoint is not a URL, or the domain is not that of the credentials.
    pub(crate) async fn new(endpoint: Option<&str>, found: Option<&Found>) -> Result<Clients, Diagnostics> {
        let clients = Clients::with(Settings {
            endpoint: endpoint.map(str::to_owned),
            credentials: match found {
                Some(found) => found.credentials.clone().into(),
                None => credentials::anonymous::Builder::new().build(),
            },
            universe: found.and_then(|found| found.universe.clone()),
            hosts: Hosts::default(),
        });
        // Settings that one client refuses are refused by all.
        clients.projects().await.map_err(|error| unusable(&error.message))?;
        Ok(clients)
    }
}

/// The policy of retries ([`warren_managed::retry`]) in Google's client. Reads and changes with a request ID are repeatable.
#[derive(Clone, Debug)]
struct Policy {
    budget: Arc<Budget>,
}

impl RetryPolicy for Policy {
    fn on_error(&self, state: &RetryState, error: Error) -> RetryResult {
        let failed = ApiError::new("attempt", &error);
        let remedy = failed.remedy();
        tracing::debug!(
            service = "google",
            attempt = state.attempt_count,
            status = failed.status,
            idempotent = state.idempotent,
            "attempt of a Google API call failed"
        );
        if remedy == Remedy::Throttled {
            self.budget.throttled();
        }
        let unsent = error.is_connect() || error.is_transient_and_before_rpc();
        if retry::repeats(remedy, state.idempotent || unsent) {
            RetryResult::Continue(error)
        } else {
            RetryResult::Permanent(error)
        }
    }
}

impl BackoffPolicy for Policy {
    fn on_failure(&self, state: &RetryState) -> Duration {
        retry::backoff(state.attempt_count)
    }
}

/// Lets a call have its credentials once the budget of the service admits it.
#[derive(Clone, Debug)]
struct Admission {
    budget: Arc<Budget>,
    credentials: Credentials,
}

impl CredentialsProvider for Admission {
    async fn headers(
        &self,
        extensions: Extensions,
    ) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        self.budget.admit().await;
        self.credentials.headers(extensions).await
    }

    async fn universe_domain(&self) -> Option<String> {
        self.credentials.universe_domain().await
    }
}

/// Lets every call follow its retry policy, however many other calls were retried.
fn throttler() -> Result<CircuitBreaker, String> {
    CircuitBreaker::new(u64::MAX, 0, 0).map_err(|error| chain(&error))
}

/// A request ID, which makes a retried change the same change: the token of the create that this is, else a random UUID.
pub(crate) fn request_id(call: &str) -> String {
    let token = retry::token(call).map_or_else(rand::random, u128::from_be_bytes);
    let bits = (token & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn unusable(why: &str) -> Diagnostics {
    Diagnostic::error(
        "Google Cloud client could not be created",
        format!("{why}. Check `gcp.endpoint_url` and `gcp.universe_domain` in the provider block."),
    )
    .at(Path::of("gcp"))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_random_uuids() {
        let id = request_id("networks.insert");
        assert_eq!(id.len(), 36);
        assert_eq!((&id[14..15], id.split('-').count()), ("4", 5));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert_ne!(id, request_id("networks.insert"));
    }
}
