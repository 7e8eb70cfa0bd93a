//! The service's HTTP: one GET for each cloud.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request};
use warren_wire::enrolment::ChannelBinding;
use warren_wire::gateway::{AWS_PATH, Cloud, GOOGLE_PATH};
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
        (&Method::GET, AWS_PATH) => Cloud::Aws,
        (&Method::GET, GOOGLE_PATH) => Cloud::Google,
        _ => {
            return http1::json(
                404,
                refusal("NotFound", "GET /v1/credentials/aws or /v1/credentials/google"),
            );
        }
    };
    let Some(proof) = in_tunnel::proof(&request) else { return in_tunnel::challenge(challenge) };
    match inner.answer(from, cloud, &proof, &challenge).await {
        Ok(body) => http1::json(200, body.to_vec()),
        Err(refused) => {
            let (status, code, message) = refused.answer();
            http1::json(status, refusal(code, &message))
        }
    }
}
