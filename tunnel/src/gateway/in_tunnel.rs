//! HTTP of the gateway's own services for pods, at its addresses in the tunnel.
//!
//! The source address of a request is authentic, but every program of a pod can send from it. So a request has a proof of the
//! pod's key about a text of this gateway, which is made for each connection.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, header};
use tokio::runtime::Handle as Runtime;
use warren_budget::Slots;
use warren_proxy::net::{Gone, Listen, Listener as _, System};
use warren_wire::enrolment::{ChannelBinding, Proof};
use warren_wire::gateway::{CHALLENGE_HEADER, PROOF_HEADER};

use super::forward::Inside;
use crate::runtime::http1::{self, Answer};
use crate::runtime::netstack::Netstack;
use crate::runtime::problem::{Problem, Result};
use crate::runtime::random;

/// Connections of one pod, and of all pods.
const CONNECTIONS: (usize, usize) = (16, 4096);
/// A whole connection.
const LIFETIME: Duration = Duration::from_secs(60);
/// Pause after a failure to accept.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens at this port of addresses of the tunnel, and answers from now on.
///
/// # Errors
/// `what` cannot be served: the port is in use, or an address is not one of this network. `hint` says what to do.
pub(super) fn start<A, F>(
    inside: &Inside,
    runtime: &Runtime,
    (addresses, port): (Vec<IpAddr>, u16),
    (what, hint): (&str, &str),
    answer: A,
) -> Result<()>
where
    A: Fn(IpAddr, ChannelBinding, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    for address in addresses {
        let at = SocketAddr::new(address, port);
        let listening = async {
            match inside {
                Inside::Kernel => serve(&System, at, runtime, answer.clone()).await,
                Inside::User(net) => serve(&Netstack(net.clone()), at, runtime, answer.clone()).await,
            }
        };
        let failed = |error: io::Error| Problem::new(format!("{what} at {at}: {error}")).hint(hint);
        runtime.block_on(listening).map_err(failed)?;
    }
    Ok(())
}

async fn serve<N, A, F>(network: &N, at: SocketAddr, runtime: &Runtime, answer: A) -> io::Result<()>
where
    N: Listen,
    A: Fn(IpAddr, ChannelBinding, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let mut listener = network.listen(at).await?;
    let places = Slots::new(CONNECTIONS.0, CONNECTIONS.1);
    runtime.spawn(async move {
        loop {
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if Gone::is(&error) => return,
                Err(error) => {
                    tracing::debug!(%error, %at, "cannot accept a request");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            // What is dropped is reset.
            let Ok(place) = places.take(from.ip()) else { continue };
            let Ok(bytes) = random() else { continue };
            let (answer, challenge) = (answer.clone(), ChannelBinding(*bytes));
            tokio::spawn(async move {
                let answer = |request| answer(from.ip(), challenge, request);
                http1::serve(stream, LIFETIME, answer).await;
                drop(place);
            });
        }
    });
    Ok(())
}

/// The proof in a request.
pub(super) fn proof<T>(request: &Request<T>) -> Option<Proof> {
    request.headers().get(PROOF_HEADER)?.to_str().ok()?.parse().ok()
}

/// The answer to a request without a proof: the text that the proof must be about.
pub(super) fn challenge(challenge: ChannelBinding) -> Answer {
    let mut response = http1::json(401, refusal("Challenge", "a proof of the pod's key is needed"));
    if let Ok(value) = header::HeaderValue::from_str(&challenge.to_challenge()) {
        response.headers_mut().insert(CHALLENGE_HEADER, value);
    }
    response
}

/// An error, as the container services of AWS write theirs.
pub(super) fn refusal(code: &str, message: &str) -> Vec<u8> {
    serde_json::json!({ "code": code, "message": message }).to_string().into_bytes()
}
