//! Requests to the gateway, through the tunnel.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use warren_device::user::Net;
use warren_proxy::net::{Dial, DialError, Stream, System};
use warren_wire::enrolment::{ChannelBinding, Proof};
use warren_wire::gateway::{CHALLENGE_HEADER, PROOF_HEADER};

use crate::agent::proxies::Sockets;
use crate::runtime::netstack::Netstack;

/// Timeout for the whole answer. An exchange that takes longer continues at the gateway, and the next request finds its result.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer.
const MAX_SIZE: usize = 64 << 10;

/// Proves to the gateway in use that a request comes from this agent.
pub(in crate::agent) type Prove<'a> = &'a (dyn Fn(&ChannelBinding) -> Option<Proof> + Send + Sync);

/// The network in which the gateway's address is.
pub(in crate::agent) enum Way {
    /// The machine's own: the tunnel has an interface.
    Machine,
    /// The netstack of this process.
    Netstack(Net),
    /// That of a network namespace.
    Private(Sockets),
}

impl Way {
    async fn connect(&self, to: SocketAddr) -> Result<Box<dyn Stream>, DialError> {
        Ok(match self {
            Self::Machine => Box::new(System.connect(to).await?),
            Self::Netstack(net) => Box::new(Netstack(net.clone()).connect(to).await?),
            Self::Private(sockets) => Box::new(sockets.connect(to).await?),
        })
    }

    /// The answer of the first server that accepts a connection; a request with a body is a POST.
    ///
    /// # Errors
    /// One line.
    pub(in crate::agent) async fn ask(
        &self,
        servers: &[SocketAddr],
        path: &str,
        body: Option<Bytes>,
        prove: Prove<'_>,
    ) -> Result<(u16, Bytes), String> {
        let ask = async {
            let mut last = "the gateway named no address".to_owned();
            for server in servers {
                match self.connect(*server).await {
                    Ok(stream) => return exchange(stream, *server, path, body, prove).await,
                    Err(error) => last = format!("gateway {server}: {error}"),
                }
            }
            Err(last)
        };
        let late = || Err(format!("the gateway did not answer within {} s", TIMEOUT.as_secs()));
        tokio::time::timeout(TIMEOUT, ask).await.unwrap_or_else(|_| late())
    }
}

/// Two requests on one connection: the gateway answers the first one with a text of its own, and the second one has the proof.
async fn exchange(
    stream: Box<dyn Stream>,
    server: SocketAddr,
    path: &str,
    body: Option<Bytes>,
    prove: Prove<'_>,
) -> Result<(u16, Bytes), String> {
    let failed = |error: &dyn std::fmt::Display| format!("gateway {server}: {error}");
    let request = |proof: Option<Proof>| {
        let request = Request::builder().uri(path).header(header::HOST, server.to_string());
        let (request, body) = match (proof, &body) {
            (Some(proof), Some(body)) => {
                (request.method(Method::POST).header(PROOF_HEADER, proof.to_string()), body.clone())
            }
            (Some(proof), None) => (request.header(PROOF_HEADER, proof.to_string()), Bytes::new()),
            (None, _) => (request, Bytes::new()),
        };
        request.body(Full::new(body)).map_err(|error| failed(&error))
    };
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| failed(&error))?;
    let answer = async {
        let asked = sender.send_request(request(None)?).await.map_err(|error| failed(&error))?;
        let challenge = asked.headers().get(CHALLENGE_HEADER).and_then(|value| value.to_str().ok());
        let proof =
            challenge.and_then(ChannelBinding::from_challenge).and_then(|challenge| prove(&challenge));
        let proof = proof.ok_or_else(|| failed(&"no challenge in its answer"))?;
        // The connection carries the next request once this body has ended.
        let rest = Limited::new(asked.into_body(), MAX_SIZE).collect().await;
        rest.map_err(|error| failed(&error))?;
        sender.ready().await.map_err(|error| failed(&error))?;
        let response = sender.send_request(request(Some(proof))?).await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_SIZE).collect().await;
        Ok((status, body.map_err(|error| failed(&error))?.to_bytes()))
    };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        // The connection may end after the whole response has arrived.
        _ = connection => answer.await,
    }
}
