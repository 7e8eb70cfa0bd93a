//! A double on threads of its own, so that tests without a runtime can have one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

use super::{Cloud, Front};

/// A double that is served. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Hosted {
    at: SocketAddr,
    runtime: Option<Runtime>,
}

impl Hosted {
    /// Serves `cloud` behind `front`; its threads are called `name`.
    ///
    /// # Errors
    /// There are no threads, or there is no port.
    pub(crate) fn start<C: Cloud>(name: &str, front: &Front, cloud: Arc<C>) -> Result<Self> {
        Self::start_at(name, (Ipv4Addr::LOCALHOST, 0).into(), front, cloud)
    }

    /// The same at an address of the caller's network namespace.
    ///
    /// # Errors
    /// There are no threads, or there is no port.
    pub(crate) fn start_at<C: Cloud>(
        name: &str,
        address: SocketAddr,
        front: &Front,
        cloud: Arc<C>,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(name)
            .enable_all()
            .build()
            .context("cannot start the double's runtime")?;
        let (done, port) = mpsc::channel();
        let front = front.clone();
        runtime.spawn(async move {
            // The receiver is gone only if the caller panicked.
            let _ = done.send(front.serve_at(address, cloud).await);
        });
        let port = port.recv().context("the double's task ended without a result")??;
        Ok(Self { at: SocketAddr::new(address.ip(), port), runtime: Some(runtime) })
    }

    /// The URL to give to clients, without a trailing slash.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.at)
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop would block, which panics inside another runtime.
            runtime.shutdown_background();
        }
    }
}
