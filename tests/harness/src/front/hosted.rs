//! A double on threads of its own, so that tests without a runtime can have one.

use std::sync::{Arc, mpsc};

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

use super::{Cloud, Front};

/// A double that is served. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Hosted {
    port: u16,
    runtime: Option<Runtime>,
}

impl Hosted {
    /// Serves `cloud` behind `front`; its threads are called `name`.
    ///
    /// # Errors
    /// There are no threads, or there is no port.
    pub(crate) fn start<C: Cloud>(name: &str, front: &Front, cloud: Arc<C>) -> Result<Self> {
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
            let _ = done.send(front.serve(cloud).await);
        });
        let port = port.recv().context("the double's task ended without a result")??;
        Ok(Self { port, runtime: Some(runtime) })
    }

    /// The URL to give to clients, without a trailing slash.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
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
