//! Concurrent requests on the TLS port.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::runtime::Handle as Runtime;
use warren_transport::tls::{Answer, Answering, Request};

use super::peers::Keeping;
use crate::enrolment::serve;
use crate::enrolment::server::Enrolment;

/// Answers on a runtime, as many at once as the listener lets in.
pub(super) struct Answers {
    runtime: Runtime,
    enrolment: Arc<ArcSwap<Enrolment>>,
    peers: Keeping,
}

impl Answers {
    pub(super) fn new(runtime: Runtime, enrolment: Arc<ArcSwap<Enrolment>>, peers: Keeping) -> Self {
        Self { runtime, enrolment, peers }
    }
}

impl Answer for Answers {
    fn answer(&self, request: Request, answering: Answering) {
        let (enrolment, peers) = (self.enrolment.load_full(), self.peers.clone());
        self.runtime.spawn(async move {
            let reply = serve::answer(&enrolment, &request).await;
            if reply.status < 300 {
                // Its first handshake must not come before the interface knows it.
                peers.settled().await;
            }
            answering.reply(&reply);
        });
    }
}
