//! The TLS port's requests, several at once.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::runtime::Handle as Runtime;
use warren_transport::tls::{Answer, Answering, Request};

use super::peers::Settled;
use crate::enrolment::serve;
use crate::enrolment::server::Enrolment;

/// Answers on a runtime, as many at once as the listener lets in.
pub(super) struct Answers {
    runtime: Runtime,
    enrolment: Arc<ArcSwap<Enrolment>>,
    settled: Settled,
}

impl Answers {
    pub(super) fn new(runtime: Runtime, enrolment: Arc<ArcSwap<Enrolment>>, settled: Settled) -> Self {
        Self { runtime, enrolment, settled }
    }
}

impl Answer for Answers {
    fn answer(&self, request: Request, answering: Answering) {
        let (enrolment, settled) = (self.enrolment.load_full(), self.settled.clone());
        self.runtime.spawn(async move {
            let reply = serve::answer(&enrolment, &request).await;
            if reply.status < 300 {
                // Its first handshake must not come before the interface knows it.
                settled.wait().await;
            }
            answering.reply(&reply);
        });
    }
}
