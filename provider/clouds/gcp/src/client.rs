//! Google's API clients, created once, with Application Default Credentials.

use std::time::Duration;

use google_cloud_artifactregistry_v1::client::ArtifactRegistry;
use google_cloud_auth::credentials::{self, Credentials};
use google_cloud_compute_v1::client::{
    Addresses, Firewalls, GlobalAddresses, GlobalForwardingRules, GlobalOperations, Instances, Networks,
    RegionOperations, Routers, Routes, Subnetworks, ZoneOperations,
};
use google_cloud_dns_v1::client::{ManagedZoneOperations, ManagedZones, ResourceRecordSets};
use google_cloud_gax::error::Error;
use google_cloud_gax::exponential_backoff::{ExponentialBackoff, ExponentialBackoffBuilder};
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax::retry_throttler::CircuitBreaker;
use google_cloud_iam_admin_v1::client::Iam;
use google_cloud_identity_accesscontextmanager_v1::client::AccessContextManager;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use tf_provider_rs::{Diagnostic, Diagnostics, Path};

use crate::credentials::Found;
use crate::error::chain;
use crate::reach::Reach;

/// Attempts per call, including the first.
const ATTEMPTS: u32 = 10;

/// A client for each collection of the API.
pub(crate) struct Clients {
    pub(crate) networks: Networks,
    pub(crate) subnetworks: Subnetworks,
    pub(crate) firewalls: Firewalls,
    pub(crate) routes: Routes,
    pub(crate) routers: Routers,
    pub(crate) addresses: Addresses,
    pub(crate) global_addresses: GlobalAddresses,
    pub(crate) forwarding_rules: GlobalForwardingRules,
    pub(crate) instances: Instances,
    pub(crate) global_operations: GlobalOperations,
    pub(crate) region_operations: RegionOperations,
    pub(crate) zone_operations: ZoneOperations,
    pub(crate) dns_zones: ManagedZones,
    pub(crate) dns_records: ResourceRecordSets,
    pub(crate) dns_operations: ManagedZoneOperations,
    pub(crate) artifacts: ArtifactRegistry,
    pub(crate) perimeters: AccessContextManager,
    pub(crate) secrets: SecretManagerService,
    pub(crate) service_accounts: Iam,
}

/// Builds a client of one collection.
macro_rules! client {
    ($client:ty, $settings:expr) => {{
        let Settings { endpoint, credentials, universe, reach } = $settings;
        let mut builder = <$client>::builder()
            .with_credentials(credentials.clone())
            .with_retry_policy(reach.policy(Repeat))
            .with_backoff_policy(backoff()?)
            .with_retry_throttler(reach.throttler(throttler()?))
            .with_attempt_timeout(Duration::from_secs(60));
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint.clone());
        }
        if let Some(universe) = universe {
            builder = builder.with_universe_domain(universe.clone());
        }
        builder.build().await.map_err(|error| unusable(&error))?
    }};
}

struct Settings {
    endpoint: Option<String>,
    credentials: Credentials,
    universe: Option<String>,
    reach: Reach,
}

impl Clients {
    /// Clients of Google with these credentials, or of the emulator at `endpoint`, which is called without credentials.
    ///
    /// # Errors
    /// The endpoint is not a URL, or the domain is not that of the credentials.
    pub(crate) async fn new(endpoint: Option<&str>, found: Option<&Found>) -> Result<Clients, Diagnostics> {
        let settings = &Settings {
            endpoint: endpoint.map(str::to_owned),
            credentials: match found {
                Some(found) => found.credentials.clone().into(),
                None => credentials::anonymous::Builder::new().build(),
            },
            universe: found.and_then(|found| found.universe.clone()),
            reach: Reach::default(),
        };
        Ok(Clients {
            networks: client!(Networks, settings),
            subnetworks: client!(Subnetworks, settings),
            firewalls: client!(Firewalls, settings),
            routes: client!(Routes, settings),
            routers: client!(Routers, settings),
            addresses: client!(Addresses, settings),
            global_addresses: client!(GlobalAddresses, settings),
            forwarding_rules: client!(GlobalForwardingRules, settings),
            instances: client!(Instances, settings),
            global_operations: client!(GlobalOperations, settings),
            region_operations: client!(RegionOperations, settings),
            zone_operations: client!(ZoneOperations, settings),
            dns_zones: client!(ManagedZones, settings),
            dns_records: client!(ResourceRecordSets, settings),
            dns_operations: client!(ManagedZoneOperations, settings),
            artifacts: client!(ArtifactRegistry, settings),
            perimeters: client!(AccessContextManager, settings),
            secrets: client!(SecretManagerService, settings),
            service_accounts: client!(Iam, settings),
        })
    }
}

/// Retries calls that were throttled, and calls whose response was lost if a retry does no harm: reads, and changes
/// with a request ID.
#[derive(Clone, Debug)]
struct Repeat;

impl RetryPolicy for Repeat {
    fn on_error(&self, state: &RetryState, error: Error) -> RetryResult {
        if state.attempt_count >= ATTEMPTS {
            return RetryResult::Exhausted(error);
        }
        let status = error.http_status_code().unwrap_or_default();
        let put_off = matches!(status, 429 | 503) || error.is_transient_and_before_rpc();
        tracing::debug!(
            service = "google",
            attempt = state.attempt_count,
            status,
            idempotent = state.idempotent,
            "attempt of a Google API call failed"
        );
        let lost =
            status >= 500 || error.is_io() || error.is_timeout() || error.is_transport() && status == 0;
        if put_off || (lost && state.idempotent) {
            RetryResult::Continue(error)
        } else {
            RetryResult::Permanent(error)
        }
    }
}

fn backoff() -> Result<ExponentialBackoff, Diagnostics> {
    ExponentialBackoffBuilder::new()
        .with_initial_delay(Duration::from_millis(100))
        .with_maximum_delay(Duration::from_secs(10))
        .build()
        .map_err(|error| unusable(&error))
}

/// Lets every call follow its retry policy, however many other calls were retried.
fn throttler() -> Result<CircuitBreaker, Diagnostics> {
    CircuitBreaker::new(u64::MAX, 0, 0).map_err(|error| unusable(&error))
}

/// A request ID, which makes a retried change the same change: a random UUID.
pub(crate) fn request_id() -> String {
    let bits = (rand::random::<u128>() & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn unusable(error: &(dyn std::error::Error + 'static)) -> Diagnostics {
    Diagnostic::error(
        "Google Cloud client could not be created",
        format!(
            "{}. Check `gcp.endpoint_url` and `gcp.universe_domain` in the provider block.",
            chain(error)
        ),
    )
    .at(Path::of("gcp"))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_random_uuids() {
        let id = request_id();
        assert_eq!(id.len(), 36);
        assert_eq!((&id[14..15], id.split('-').count()), ("4", 5));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert_ne!(id, request_id());
    }
}
