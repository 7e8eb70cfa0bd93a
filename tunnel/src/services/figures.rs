//! What the services have done, for the status.

use std::{fmt, sync::Arc};

use warren_device::user::Net;
use warren_proxy::Counters;

use super::BUFFERS;
use crate::status::{Dns, Services, Streams};

/// The counters of the services and of the netstack behind them; clones count the same.
#[derive(Clone)]
pub struct Figures {
    counters: Arc<Counters>,
    net: Net,
}

impl Figures {
    pub(super) fn of(proxies: &warren_proxy::Services, net: Net) -> Self {
        Self { counters: Arc::clone(proxies.counters()), net }
    }

    /// All of them.
    pub fn now(&self) -> Services {
        let counted = self.counters.figures();
        let memory = self.net.memory();
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
            buffer_bytes: memory.buffers as u64,
            buffer_peak_bytes: memory.buffers_peak as u64,
            buffer_limit_bytes: BUFFERS as u64,
        }
    }
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures").field("counters", &self.counters).finish_non_exhaustive()
    }
}
