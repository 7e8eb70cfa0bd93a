//! The RunPod resources of the Warren provider: one folder per resource, on a shared base.
//!
//! * [`Session`] is the configured account, shared by all resources.
//! * [`registry`] lists the resources; the configuration is the `runpod` attribute of the provider block.
//!
//! RunPod has no tags. Instead, the create call writes an ownership marker into a field that the object type offers
//! (see `marker`), so that the next apply finds and adopts an object left behind by an interrupted one.

mod answer;
mod client;
mod cluster;
mod common;
mod config;
mod ecr_delegation;
mod error;
#[cfg(test)]
mod evidence;
mod gpu;
mod gpu_types;
mod marker;
mod network_volume;
mod placement;
mod pod;
mod registry_auth;
mod secret;
mod session;

pub use config::RunPodConfig;
pub use error::ApiError;
pub use session::{RunPod, Session};

use tf_provider_rs::Registry;
use warren_managed::Managed;

/// Everything that this cloud offers.
pub fn registry(session: &Session) -> Registry {
    Registry::new()
        .resource(Managed::<pod::Pod>::new(session))
        .resource(Managed::<secret::Secret>::new(session))
        .resource(Managed::<registry_auth::RegistryAuth>::new(session))
        .resource(Managed::<ecr_delegation::EcrDelegation>::new(session))
        .resource(Managed::<cluster::Cluster>::new(session))
        .resource(Managed::<network_volume::NetworkVolume>::new(session))
        .data_source(gpu_types::Catalog::new(session))
}
