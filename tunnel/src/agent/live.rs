//! The source of the metrics: empty before the tunnel is up and after it is down.

use std::sync::Arc;

use parking_lot::RwLock;

use super::tunnel::Look;
use crate::runtime::{metrics::Source, status::Status};

/// A view of the tunnel that comes and goes.
#[derive(Default)]
pub(super) struct Live(RwLock<Option<Arc<dyn Look>>>);

impl Live {
    pub(super) fn set(&self, look: Arc<dyn Look>) {
        *self.0.write() = Some(look);
    }

    pub(super) fn clear(&self) {
        *self.0.write() = None;
    }

    fn look(&self) -> Option<Arc<dyn Look>> {
        self.0.read().clone()
    }
}

impl Source for Live {
    fn status(&self) -> Option<Status> {
        self.look()?.status().ok()
    }

    /// An agent that is still coming up is alive.
    fn alive(&self) -> bool {
        self.look().is_none_or(|look| look.alive())
    }
}
