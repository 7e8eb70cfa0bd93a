//! The service's HTTP: one GET for each cloud, and reports of transfers.

use std::net::IpAddr;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request};
use warren_wire::enrolment::ChannelBinding;
use warren_wire::gateway::{AWS_PATH, Cloud, GOOGLE_PATH, TRANSFER_MAX, TRANSFERS_PATH};
use zeroize::Zeroizing;

use super::Inner;
use crate::gateway::in_tunnel::{self, refusal};
use crate::runtime::http1::{self, Answer};

/// The body of an answer with credentials.
pub(super) type Body = Zeroizing<Vec<u8>>;

pub(super) async fn answer(
    inner: Arc<Inner>,
    from: IpAddr,
    challenge: ChannelBinding,
    request: Request<Incoming>,
) -> Answer {
    let cloud = match (request.method(), request.uri().path()) {
        (&Method::GET, AWS_PATH) => Some(Cloud::Aws),
        (&Method::GET, GOOGLE_PATH) => Some(Cloud::Google),
        // The first request of a connection only gets its text.
        (&Method::POST | &Method::GET, TRANSFERS_PATH) => None,
        _ => {
            return http1::json(
                404,
                refusal("NotFound", "GET /v1/credentials/aws or /v1/credentials/google"),
            );
        }
    };
    let Some(proof) = in_tunnel::proof(&request) else { return in_tunnel::challenge(challenge) };
    let done = match cloud {
        Some(cloud) => inner.answer(from, cloud, &proof, &challenge).await,
        None => {
            let body = Limited::new(request.into_body(), TRANSFER_MAX).collect().await;
            let report = body.ok().and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
            let Some(report) = report else {
                return http1::json(400, refusal("BadRequest", "not a report of a transfer"));
            };
            inner.note_transfer(from, &proof, &challenge, report).map(|()| Body::new(b"{}".to_vec()))
        }
    };
    match done {
        Ok(body) => http1::json(200, body.to_vec()),
        Err(refused) => {
            let (status, code, message) = refused.answer();
            http1::json(status, refusal(code, &message))
        }
    }
}
