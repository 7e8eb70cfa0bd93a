//! An HTTP/1.1 proxy: CONNECT, and requests in absolute form for `http:`.
//!
//! ```text
//! request head ─► password? ─┬─ CONNECT host:port ─► dial ─► 200 ─► relay
//!                            └─ GET http://host/path ─► dial, or the connection of the request before ─► request ─► answer
//! ```

mod answer;
pub mod fields;
mod watched;

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use hyper::{
    Method, Request, Response, StatusCode, body::Incoming, client::conn::http1 as client,
    header::PROXY_AUTHORIZATION, server::conn::http1 as server, service::service_fn, upgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::time::sleep;

use self::{
    answer::{Body, plain},
    watched::Watched,
};
use crate::{
    auth::Credentials,
    counters::{Refusal, Service},
    net::{Dial, Listener, Stream},
    outbound::{Asker, Outbound, Resolve, Unreached},
    service::{Place, Services, Shared, listen_here},
    target::Target,
};

impl Services {
    /// Serves an HTTP proxy at an address of this machine; gives the address, whose port is chosen where it was 0.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn http<D: Dial, R: Resolve>(
        &self,
        at: SocketAddr,
        outbound: Arc<Outbound<D, R>>,
        credentials: Option<Credentials>,
    ) -> io::Result<SocketAddr> {
        let listener = listen_here("HTTP proxy", at, credentials.is_some()).await?;
        let bound = listener.local_addr()?;
        self.http_on(listener, outbound, credentials);
        Ok(bound)
    }

    /// Serves an HTTP proxy to those who reach a listener, of any network.
    pub fn http_on<L: Listener, D: Dial, R: Resolve>(
        &self,
        listener: L,
        outbound: Arc<Outbound<D, R>>,
        credentials: Option<Credentials>,
    ) {
        let server = Arc::new(Server { shared: Arc::clone(&self.0), outbound, credentials });
        self.0.accept(listener, Service::Http, move |stream, from, place| {
            Arc::clone(&server).serve(stream, from, place)
        });
    }
}

/// What every connection needs.
pub(crate) struct Server<D, R> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) outbound: Arc<Outbound<D, R>>,
    pub(crate) credentials: Option<Credentials>,
}

/// One client's connection.
struct Connection<D, R> {
    server: Arc<Server<D, R>>,
    from: SocketAddr,
    /// Goes with the stream when CONNECT takes that over.
    place: Mutex<Option<Place>>,
    /// A whole request has come.
    asked: AtomicBool,
    /// The connection of the request before; requests of one connection come one after the other.
    upstream: Mutex<Option<(Target, client::SendRequest<Incoming>)>>,
}

impl<D: Dial, R: Resolve> Server<D, R> {
    /// Serves one connection of a client at `from`.
    pub(crate) async fn serve<S: Stream>(self: Arc<Self>, stream: S, from: SocketAddr, place: Place) {
        let shared = Arc::clone(&self.shared);
        let limits = &shared.limits;
        let connection = Arc::new(Connection {
            server: self,
            from,
            place: Mutex::new(Some(place)),
            asked: AtomicBool::new(false),
            upstream: Mutex::new(None),
        });
        let answering = Arc::clone(&connection);
        let service = service_fn(move |request| {
            let connection = Arc::clone(&answering);
            async move { Ok::<_, Infallible>(connection.answer::<S>(request).await) }
        });
        let serving = server::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.keep_alive)
            .max_buf_size(limits.head_bytes)
            .max_header_size(limits.head_bytes)
            .max_headers(limits.head_fields)
            .preserve_header_case(true)
            .serve_connection(TokioIo::new(Watched::new(stream, limits.idle, None)), service)
            .with_upgrades();
        tokio::pin!(serving);
        let first = sleep(limits.handshake);
        tokio::pin!(first);
        let (mut stopping, mut waiting) = (false, true);
        loop {
            tokio::select! {
                biased;
                served = &mut serving => return connection.ended(served),
                () = shared.stop.cancelled(), if !stopping => {
                    stopping = true;
                    serving.as_mut().graceful_shutdown();
                }
                () = &mut first, if waiting => {
                    waiting = false;
                    if !connection.asked.load(Relaxed) {
                        return connection.refuse(Refusal::Handshake);
                    }
                }
            }
        }
    }
}

impl<D: Dial, R: Resolve> Connection<D, R> {
    fn refuse(&self, why: Refusal) {
        tracing::debug!(client = %self.from, why = why.label(), "HTTP");
        self.server.shared.counters.refuse(why);
    }

    fn ended(&self, served: hyper::Result<()>) {
        match served {
            Err(error) if error.is_parse() => self.refuse(Refusal::Malformed),
            Err(error) if error.is_timeout() && !self.asked.load(Relaxed) => self.refuse(Refusal::Handshake),
            Err(error) => tracing::debug!(client = %self.from, %error, "HTTP connection"),
            Ok(()) => {}
        }
    }

    async fn answer<S: Stream>(&self, request: Request<Incoming>) -> Response<Body> {
        self.asked.store(true, Relaxed);
        if let Some(credentials) = &self.server.credentials {
            let offered = request.headers().get(PROXY_AUTHORIZATION);
            if !offered.is_some_and(|value| credentials.accept_basic(value.as_bytes())) {
                self.refuse(Refusal::Authentication);
                return answer::who_are_you();
            }
        }
        if request.method() == Method::CONNECT {
            self.connect::<S>(request).await
        } else {
            self.pass_on(request).await
        }
    }

    async fn dial(&self, target: &Target) -> Result<D::Stream, Unreached> {
        self.server.outbound.connect(target, Asker::Client(self.from.ip())).await
    }

    fn unreached(&self, target: &Target, error: Unreached) -> Response<Body> {
        tracing::debug!(client = %self.from, %target, %error, "HTTP");
        self.server.shared.counters.refuse(error.into());
        answer::unreached(target, error)
    }

    fn not_for_proxy(&self, error: fields::NotForProxy) -> Response<Body> {
        self.refuse(match error {
            fields::NotForProxy::Scheme => Refusal::Unsupported,
            _ => Refusal::Malformed,
        });
        plain(StatusCode::BAD_REQUEST, error.to_string())
    }

    async fn connect<S: Stream>(&self, request: Request<Incoming>) -> Response<Body> {
        let target = match fields::connect_target(request.uri()) {
            Ok(target) => target,
            Err(error) => return self.not_for_proxy(error),
        };
        let reached = match self.dial(&target).await {
            Ok(reached) => reached,
            Err(error) => return self.unreached(&target, error),
        };
        let Some(place) = self.place.lock().take() else {
            // A second CONNECT cannot come on a connection that the first one took over.
            return plain(StatusCode::BAD_REQUEST, "this connection is already in use");
        };
        let shared = Arc::clone(&self.server.shared);
        self.server.shared.spawn(async move {
            // The stream is handed over once the answer has been written.
            let Ok(upgraded) = upgrade::on(request).await else { return };
            if let Ok(parts) = upgraded.downcast::<TokioIo<Watched<S>>>() {
                let stream = parts.io.into_inner().into_inner();
                shared.join(stream, reached, &parts.read_buf, place);
            }
        });
        answer::connected()
    }

    async fn pass_on(&self, request: Request<Incoming>) -> Response<Body> {
        let target = match fields::absolute_target(request.uri()) {
            Ok(target) => target,
            Err(error) => return self.not_for_proxy(error),
        };
        let (mut parts, body) = request.into_parts();
        fields::outward(&mut parts);
        let mut request = Request::from_parts(parts, body);
        let before = self.upstream.lock().take().filter(|(before, _)| *before == target);
        if let Some((_, sender)) = before {
            match self.exchange(&target, sender, request).await {
                Ok(response) => return response,
                // The server has closed a connection that was kept for us: nothing of the request was sent.
                Err(Unsent::Whole(unsent)) => request = *unsent,
                Err(Unsent::Broken) => return self.broken(&target),
            }
        }
        let sender = match self.open(&target).await {
            Ok(sender) => sender,
            Err(error) => return self.unreached(&target, error),
        };
        match self.exchange(&target, sender, request).await {
            Ok(response) => response,
            Err(_) => self.broken(&target),
        }
    }

    fn broken(&self, target: &Target) -> Response<Body> {
        self.refuse(Refusal::Failed);
        plain(
            StatusCode::BAD_GATEWAY,
            format!("warren-tunnel: {target}: the connection broke, or the response is not HTTP"),
        )
    }

    async fn open(&self, target: &Target) -> Result<client::SendRequest<Incoming>, Unreached> {
        let stream = self.dial(target).await?;
        let shared = &self.server.shared;
        let limits = &shared.limits;
        let stream = Watched::new(stream, limits.idle, Some(Arc::clone(&shared.counters)));
        let (sender, connection) = client::Builder::new()
            .max_buf_size(limits.head_bytes)
            .max_header_size(limits.head_bytes)
            .max_headers(limits.head_fields)
            .preserve_header_case(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|_| crate::net::DialError::Failed)?;
        shared.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "HTTP connection to a server");
            }
        });
        Ok(sender)
    }

    async fn exchange(
        &self,
        target: &Target,
        mut sender: client::SendRequest<Incoming>,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Unsent> {
        if sender.ready().await.is_err() {
            return Err(Unsent::Whole(Box::new(request)));
        }
        let response = sender.try_send_request(request).await.map_err(|mut error| {
            tracing::debug!(%target, error = %error.error(), "HTTP exchange");
            error.take_message().map_or(Unsent::Broken, |request| Unsent::Whole(Box::new(request)))
        })?;
        // Nobody asked for another protocol.
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Unsent::Broken);
        }
        *self.upstream.lock() = Some((target.clone(), sender));
        let (mut parts, body) = response.into_parts();
        fields::inward(&mut parts.headers, parts.version);
        Ok(Response::from_parts(parts, Body::Left(body)))
    }
}

/// A request without an answer.
enum Unsent {
    /// Nothing of it was sent.
    Whole(Box<Request<Incoming>>),
    /// Some of it may have been.
    Broken,
}
