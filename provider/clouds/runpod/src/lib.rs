//! The RunPod resources of the Warren provider: one folder a resource, over a shared base.
//!
//! * [`Session`] is what the resources share: the configured account.
//! * [`registry`] lists the resources; [`provider_attribute`] is the `runpod` block of the provider.
//!
//! RunPod has no tags. What tells an object of ours from others is written where each kind has room for it, from the
//! create call on (see `marker`), so that an object left behind by a killed apply is found and adopted by the next one.

mod client;
mod common;
mod config;
mod error;
mod marker;
mod network_volume;
mod pod;
mod registry_auth;
mod secret;
mod session;

pub use config::{RunPodConfig, provider_attribute};
pub use error::ApiError;
pub use session::{RunPod, Session};

use tf_provider_rs::Registry;
use warren_managed::Managed;

/// Every resource of this cloud.
pub fn registry(session: &Session) -> Registry {
    Registry::new()
        .resource(Managed::<pod::Pod>::new(session))
        .resource(Managed::<secret::Secret>::new(session))
        .resource(Managed::<registry_auth::RegistryAuth>::new(session))
        .resource(Managed::<network_volume::NetworkVolume>::new(session))
}
