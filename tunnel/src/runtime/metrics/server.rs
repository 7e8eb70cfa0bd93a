//! The HTTP server for metrics: one thread with its own runtime, which sleeps between requests.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

pub use http::request::Parts as RequestHead;
use http_body_util::Full;
use hyper::{Method, Response, StatusCode, body::Bytes, header::CONTENT_TYPE};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

use super::{ready, render};
pub use crate::runtime::http1::Answer;
use crate::runtime::{
    http1,
    problem::{Context, Problem, Result},
    status::{Rate, Status},
    supervise::Supervisor,
};

/// Connections served at once.
const MAX_CONNECTIONS: usize = 32;
/// A whole connection, kept alive or not.
const LIFETIME: Duration = Duration::from_secs(120);
/// Scrapes within this time of each other get the same text, since each one costs the control thread time.
const SHARED_FOR: Duration = Duration::from_millis(500);

/// The source of the metrics.
pub trait Source: Send + Sync + 'static {
    /// Reads the status; `None` when the interface is not up or does not answer in time.
    fn status(&self) -> Option<Status>;
    /// Whether the control thread answers.
    fn alive(&self) -> bool;
    /// Knows which threads and tasks have died.
    fn supervisor(&self) -> &Supervisor;
    /// Additional metrics.
    fn more(&self) -> String {
        String::new()
    }
    /// Answers a request for another path than those of metrics and health.
    fn other(&self, _: &RequestHead) -> Option<Answer> {
        None
    }
    /// Whether traffic can pass.
    ///
    /// # Errors
    /// What is missing.
    fn ready(&self) -> std::result::Result<(), String> {
        self.status().ok_or("the interface is not up\n".to_owned()).and_then(|status| ready(&status))
    }
}

/// The running server; dropping it ends it.
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    address: SocketAddr,
}

impl Server {
    /// Binds and serves from now on.
    ///
    /// # Errors
    /// When the address is in use or does not belong to this machine.
    pub fn start(address: SocketAddr, source: Arc<dyn Source>) -> Result<Self> {
        let listener = TcpListener::bind(address).map_err(|error| {
            let problem = Problem::new(format!("cannot serve metrics on {address}: {error}"));
            match error.kind() {
                std::io::ErrorKind::AddrInUse => problem.hint(
                    "another process uses the port: choose another one, such as --metrics 127.0.0.1:9587, or --metrics off",
                ),
                _ => problem.hint("set --metrics to an address of this machine with a port, or to off"),
            }
        })?;
        let doing = || format!("serving metrics on {address}");
        listener.set_nonblocking(true).while_doing(doing)?;
        let address = listener.local_addr().while_doing(doing)?;
        let (stop, stopped) = oneshot::channel();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().while_doing(doing)?;
        let thread = Arc::clone(&source)
            .supervisor()
            .thread("metrics", 2 << 20, move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, Arc::new(Scraper::new(source))) => {}
                        _ = stopped => {}
                    }
                });
            })
            .while_doing(doing)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), address })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, scraper: Arc<Scraper>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "metrics"),
    };
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection for metrics");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let scraper = Arc::clone(&scraper);
        tokio::spawn(async move {
            let answer = |request: hyper::Request<_>| answer(request.into_parts().0, Arc::clone(&scraper));
            http1::serve(stream, LIFETIME, answer).await;
            drop(slot);
        });
    }
}

async fn answer(request: RequestHead, scraper: Arc<Scraper>) -> Answer {
    if request.method != Method::GET && request.method != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is supported\n");
    }
    match request.uri.path() {
        "/metrics" => match scraper.text() {
            Some(text) => {
                let mut response = plain(StatusCode::OK, text);
                let kind =
                    hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response
            }
            None => plain(StatusCode::SERVICE_UNAVAILABLE, "the control thread does not answer\n"),
        },
        "/healthz" => match health(&*scraper.source) {
            Ok(()) => plain(StatusCode::OK, "ok\n"),
            Err(missing) => plain(StatusCode::SERVICE_UNAVAILABLE, missing),
        },
        "/readyz" => match health(&*scraper.source).and_then(|()| scraper.source.ready()) {
            Ok(()) => plain(StatusCode::OK, "ok\n"),
            Err(missing) => plain(StatusCode::SERVICE_UNAVAILABLE, missing),
        },
        _ => {
            // What else there is may take seconds, for which health must not wait.
            let other = tokio::task::spawn_blocking(move || other(&request, &scraper)).await;
            other.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR, "see the log\n"))
        }
    }
}

fn other(request: &RequestHead, scraper: &Scraper) -> Answer {
    scraper.source.other(request).unwrap_or_else(|| match request.uri.path() {
        "/" => plain(StatusCode::OK, "/metrics /healthz /readyz\n"),
        _ => plain(StatusCode::NOT_FOUND, "not found: /metrics /healthz /readyz\n"),
    })
}

/// Whether everything runs.
fn health(source: &dyn Source) -> std::result::Result<(), String> {
    let dead = source.supervisor().dead();
    if !dead.is_empty() {
        return Err(format!("ended unexpectedly: {}\n", dead.join(", ")));
    }
    if source.alive() { Ok(()) } else { Err("the control thread does not answer\n".to_owned()) }
}

fn plain(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response
}

/// The last scrape, for the next one's rate and for those that come at the same time.
struct Scraper {
    source: Arc<dyn Source>,
    last: Mutex<Option<Last>>,
}

struct Last {
    when: Instant,
    text: Bytes,
    at: f64,
    bytes: (u64, u64),
}

impl Scraper {
    fn new(source: Arc<dyn Source>) -> Self {
        Self { source, last: Mutex::new(None) }
    }

    fn text(&self) -> Option<Bytes> {
        let mut last = self.last.lock();
        if let Some(last) = last.as_ref()
            && last.when.elapsed() < SHARED_FOR
        {
            return Some(last.text.clone());
        }
        let status = self.source.status()?;
        let bytes = status.bytes();
        let rate = last.as_ref().and_then(|last| Rate::between(last.at, last.bytes, status.at, bytes));
        let text = Bytes::from(render(&status, rate) + &self.source.more());
        *last = Some(Last { when: Instant::now(), text: text.clone(), at: status.at, bytes });
        Some(text)
    }
}
