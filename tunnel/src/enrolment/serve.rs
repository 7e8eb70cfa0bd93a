//! Passes requests of the TLS listener to the enrolment, and the responses back.

use warren_transport::tls::{Reply, Request};
use warren_wire::enrolment::ChannelBinding;

use super::server::{self, Enrolment};

/// The response to a request on the TLS port.
pub async fn answer(enrolment: &Enrolment, request: &Request) -> Reply {
    let response = enrolment
        .handle(server::Request {
            remote: request.remote,
            binding: ChannelBinding(request.binding),
            method: &request.head.method,
            path: request.head.target.split('?').next().unwrap_or_default(),
            content_type: request.head.header("content-type").unwrap_or_default(),
            body: &request.body,
        })
        .await;
    Reply {
        status: response.status,
        content_type: response.content_type,
        retry_after: response.retry_after,
        body: response.body,
    }
}
