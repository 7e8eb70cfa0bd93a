//! The port: connections in, whole requests out, answers or cuts back.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::reply::Outcome;
use super::{Cloud, Front};

/// The connection a call came on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    /// The client's port.
    pub(super) peer: u16,
    /// Our port.
    pub(super) ours: u16,
    /// When it was accepted, on the front's clock.
    pub(super) born: u64,
}

/// Listens at an address and serves `cloud` there for as long as the runtime lives.
pub(super) async fn listen<C: Cloud>(address: SocketAddr, front: Front, cloud: Arc<C>) -> Result<u16> {
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let port = listener.local_addr()?.port();
    tokio::spawn(accept(listener, port, front, cloud));
    Ok(port)
}

async fn accept<C: Cloud>(listener: TcpListener, ours: u16, front: Front, cloud: Arc<C>) {
    while let Ok((stream, peer)) = listener.accept().await {
        let connection = Connection { peer: peer.port(), ours, born: front.tick() };
        tokio::spawn(serve(stream, connection, front.clone(), Arc::clone(&cloud)));
    }
}

async fn serve<C: Cloud>(stream: TcpStream, connection: Connection, front: Front, cloud: Arc<C>) {
    // Small answers to small requests: waiting to fill a segment only adds delay.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (front, cloud) = (front.clone(), Arc::clone(&cloud));
        async move {
            let (parts, body) = request.into_parts();
            let body: Bytes = body.collect().await.map_err(|_| Cut)?.to_bytes();
            // A task of its own: like a cloud, the emulated one finishes a request whose client has died.
            let request = http::Request::from_parts(parts, body);
            let handled = tokio::spawn(async move { front.handle(&*cloud, connection, request).await });
            match handled.await {
                Ok(Outcome::Answer(reply)) => Ok(reply.map(Full::new)),
                Ok(Outcome::Cut) | Err(_) => Err(Cut),
            }
        }
    });
    // An error here is a client that went away or a connection that was cut on purpose.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Returned to the server to make it drop the connection without an answer.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection cut")
    }
}

impl std::error::Error for Cut {}
