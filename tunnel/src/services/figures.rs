//! Counters of the services, for the status.

use std::{fmt, sync::Arc};

use warren_proxy::Counters;

use super::Inside;
use crate::status::{Buffers, Dns, Services, Streams};

/// The counters of the services and of the netstack. Clones share them.
#[derive(Clone)]
pub struct Figures {
    counters: Arc<Counters>,
    buffers: Arc<dyn Fn() -> Option<Buffers> + Send + Sync>,
}

impl Figures {
    pub(super) fn of(proxies: &warren_proxy::Services, inside: impl Inside) -> Self {
        Self { counters: Arc::clone(proxies.counters()), buffers: Arc::new(move || inside.buffers()) }
    }

    /// Reads all counters.
    pub fn now(&self) -> Services {
        let counted = self.counters.figures();
        let streams = counted.services.iter().map(|service| {
            (service.service.label().to_owned(), Streams { open: service.open, total: service.total })
        });
        let refused = counted.refusals.iter().map(|(why, count)| (why.label().to_owned(), *count));
        Services {
            streams: streams.collect(),
            refused: refused.collect(),
            sent_bytes: counted.sent_bytes,
            received_bytes: counted.received_bytes,
            reset: counted.reset,
            idle: counted.idle,
            datagrams_dropped: counted.datagrams_dropped,
            dns: Dns {
                questions: counted.dns_questions,
                cached: counted.dns_cached,
                failed: counted.dns_failed,
                strange: counted.dns_strange,
            },
            buffers: (self.buffers)(),
        }
    }
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures").field("counters", &self.counters).finish_non_exhaustive()
    }
}
