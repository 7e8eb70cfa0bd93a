//! Counters of the proxies, for the status.

use std::sync::Arc;

use super::{TunnelNetwork, tester::Tester};
use crate::runtime::{
    control::ServiceCounters,
    status::{Dns, Services, Streams},
};

/// The counters of the proxies and of the stream buffers.
pub(super) fn of<N: TunnelNetwork>(
    proxies: &warren_proxy::Services,
    inside: N,
    tester: Tester<N>,
) -> ServiceCounters {
    let counters = Arc::clone(proxies.counters());
    ServiceCounters::new(move || {
        let counted = counters.snapshot();
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
            dns_test: tester.look(),
            buffers: inside.buffers(),
        }
    })
}
