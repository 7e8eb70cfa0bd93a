//! Concurrent requests on the TLS port.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::runtime::Handle as Runtime;
use warren_transport::tls::{Answer, Answering, Request};
use warren_wire::enrolment::REPORT_PATH;

use super::reconciler::ReconcilerHandle;
use crate::enrolment::serve;
use crate::enrolment::server::Enrolment;

/// Answers requests on a runtime. The listener limits how many run at once.
pub(super) struct EnrolmentHandler {
    runtime: Runtime,
    enrolment: Arc<ArcSwap<Enrolment>>,
    peers: ReconcilerHandle,
}

impl EnrolmentHandler {
    pub(super) fn new(runtime: Runtime, enrolment: Arc<ArcSwap<Enrolment>>, peers: ReconcilerHandle) -> Self {
        Self { runtime, enrolment, peers }
    }
}

impl Answer for EnrolmentHandler {
    fn answer(&self, request: Request, answering: Answering) {
        let (enrolment, peers) = (self.enrolment.load_full(), self.peers.clone());
        self.runtime.spawn(async move {
            let reply = serve::answer(&enrolment, &request).await;
            if reply.status < 300 && request.head.target != REPORT_PATH {
                // The interface must know the peer before its first handshake arrives.
                peers.synced().await;
            }
            answering.reply(&reply);
        });
    }
}
