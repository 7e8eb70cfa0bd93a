//! The source of the metrics: empty before the tunnel is up and after it is down.

use std::sync::Arc;

use parking_lot::RwLock;

use super::tunnel::TunnelHandle;
use crate::runtime::{metrics::Source, status::Status, supervise::Supervisor};

/// A view of the tunnel that comes and goes.
#[derive(Default)]
pub(super) struct MetricsSource {
    handle: RwLock<Option<Arc<dyn TunnelHandle>>>,
    supervisor: Supervisor,
}

impl MetricsSource {
    pub(super) fn set(&self, handle: Arc<dyn TunnelHandle>) {
        *self.handle.write() = Some(handle);
    }

    pub(super) fn clear(&self) {
        *self.handle.write() = None;
    }

    fn handle(&self) -> Option<Arc<dyn TunnelHandle>> {
        self.handle.read().clone()
    }
}

impl Source for MetricsSource {
    fn status(&self) -> Option<Status> {
        self.handle()?.status().ok()
    }

    fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// An agent that is still coming up is alive.
    fn alive(&self) -> bool {
        self.handle().is_none_or(|handle| handle.alive())
    }
}
