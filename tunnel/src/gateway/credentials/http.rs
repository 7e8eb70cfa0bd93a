//! The service's HTTP: one GET for each cloud, and reports of transfers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, header};
use warren_budget::Slots;
use warren_proxy::net::{Gone, Listen, Listener as _};
use warren_wire::enrolment::{ChannelBinding, Proof};
use warren_wire::gateway::{
    AWS_PATH, CHALLENGE_HEADER, Cloud, GOOGLE_PATH, PROOF_HEADER, TRANSFER_MAX, TRANSFERS_PATH,
};
use zeroize::Zeroizing;

use super::Inner;
use crate::runtime::http1::{self, Answer};
use crate::runtime::random;

/// Connections of one pod, and of all pods.
const CONNECTIONS: (usize, usize) = (16, 4096);
/// A whole connection.
const LIFETIME: Duration = Duration::from_secs(60);
/// Pause after a failure to accept.
const PAUSE: Duration = Duration::from_millis(100);

/// The body of an answer with credentials.
pub(super) type Body = Zeroizing<Vec<u8>>;

/// Listens at an address of the tunnel, and answers from now on.
///
/// # Errors
/// It is in use, or not an address of this network.
pub(super) async fn serve<N: Listen>(network: &N, at: SocketAddr, inner: Arc<Inner>) -> io::Result<()> {
    let mut listener = network.listen(at).await?;
    let places = Slots::new(CONNECTIONS.0, CONNECTIONS.1);
    inner.context.runtime.clone().spawn(async move {
        loop {
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if Gone::is(&error) => return,
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a request for credentials");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            // What is dropped is reset.
            let Ok(place) = places.take(from.ip()) else { continue };
            let Ok(bytes) = random() else { continue };
            let (inner, challenge) = (Arc::clone(&inner), ChannelBinding(*bytes));
            tokio::spawn(async move {
                let answer = |request| {
                    let inner = Arc::clone(&inner);
                    async move { answer(&inner, from.ip(), challenge, request).await }
                };
                http1::serve(stream, LIFETIME, answer).await;
                drop(place);
            });
        }
    });
    Ok(())
}

async fn answer(
    inner: &Arc<Inner>,
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
    let proof =
        request.headers().get(PROOF_HEADER).and_then(|value| value.to_str().ok()?.parse::<Proof>().ok());
    let Some(proof) = proof else {
        let mut response = http1::json(401, refusal("Challenge", "a proof of the pod's key is needed"));
        if let Ok(value) = header::HeaderValue::from_str(&challenge.to_challenge()) {
            response.headers_mut().insert(CHALLENGE_HEADER, value);
        }
        return response;
    };
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

/// An error, as the container services of AWS write theirs.
fn refusal(code: &str, message: &str) -> Vec<u8> {
    serde_json::json!({ "code": code, "message": message }).to_string().into_bytes()
}
