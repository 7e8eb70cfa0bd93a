//! The Google Cloud resources of the Warren provider: one folder per resource, on a shared base.
//!
//! * [`Session`] holds what the resources share: the configured project, and what this run plans.
//! * [`registry`] lists the resources; the configuration is the `gcp` attribute of the provider block.
//!
//! Most of Google's network objects have no labels. Their description starts with a marker of fabric, owner and name
//! from the create call on, so that the next apply finds and adopts an object that an interrupted apply left behind.

mod account;
mod address;
mod artifact_registry_repository;
mod begun;
mod claims;
mod client;
mod common;
mod config;
mod credentials;
mod dns;
mod dns_record_set;
mod dns_zone;
mod error;
#[cfg(test)]
mod evidence;
mod firewall;
mod gateway;
mod gateway_config;
mod gateway_group;
mod gateway_service_account;
mod key;
mod labels;
mod link;
mod live;
mod marker;
mod memory;
mod network;
mod network_peering;
mod operation;
mod private_service_connect;
mod reach;
mod route;
mod router_nat;
mod secret;
mod service_perimeter;
mod session;
mod subnetwork;

pub use account::Gcp;
pub use claims::gcs_options;
pub use config::GcpConfig;
pub use error::ApiError;
pub use live::LiveRanges;
pub use memory::RunMemory;
pub use session::Session;

use tf_provider_rs::Registry;
use warren_gateways::key::{Signing, Tls, Wireguard};
use warren_managed::Managed;

/// Every resource of this cloud.
pub fn registry(session: &Session) -> Registry {
    Registry::new()
        .resource(Managed::<network::Network>::new(session))
        .resource(Managed::<subnetwork::Subnetwork>::new(session))
        .resource(Managed::<router_nat::RouterNat>::new(session))
        .resource(Managed::<firewall::Firewall>::new(session))
        .resource(Managed::<route::Route>::new(session))
        .resource(Managed::<network_peering::NetworkPeering>::new(session))
        .resource(Managed::<private_service_connect::Endpoint>::new(session))
        .resource(Managed::<dns_zone::Zone>::new(session))
        .resource(Managed::<dns_record_set::RecordSet>::new(session))
        .resource(Managed::<artifact_registry_repository::Repository>::new(session))
        .resource(Managed::<service_perimeter::ServicePerimeter>::new(session))
        .resource(Managed::<address::Address>::new(session))
        .resource(Managed::<key::Key<Wireguard>>::new(session))
        .resource(Managed::<key::Key<Signing>>::new(session))
        .resource(Managed::<key::Key<Tls>>::new(session))
        .resource(Managed::<gateway_config::GatewayConfig>::new(session))
        .resource(Managed::<gateway_service_account::ServiceAccount>::new(session))
        .resource(Managed::<gateway::Gateway>::new(session))
        .resource(Managed::<gateway_group::GatewayGroup>::new(session))
        .ephemeral(key::SigningKeyValue::new(session))
}
