//! AWS on loopback: the emulator, the proxy in front of it, and what exists in it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use crate::botocore_model::Models;
use crate::moto::{Inventory, MotoApi, MotoServer};
use crate::proxy::{Proxy, ProxyConfig};
use crate::venv::Venv;

/// Emulators that no test uses any more, for the next one: each takes two seconds of the processor to start. They end with
/// this process.
static IDLE: Mutex<Vec<(Instant, MotoServer)>> = Mutex::new(Vec::new());
/// An emulator rests for so long before its next use: what its last user had sent has arrived by then, and a reset waits for it.
const REST: Duration = Duration::from_millis(300);
/// Time for a reset.
const RESET: Duration = Duration::from_secs(15);

/// A fresh AWS account on loopback. When the value is dropped, the next one may use its process.
///
/// ```no_run
/// use warren_harness::{Emulator, ProxyConfig};
///
/// let aws = Emulator::start(ProxyConfig::default())?;
/// let endpoint_url = aws.endpoint(); // "http://127.0.0.1:34567"
/// // ... create and destroy things ...
/// assert!(aws.leftovers()?.is_empty());
/// aws.proxy().assert_valid();
/// # drop(endpoint_url);
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Emulator {
    proxy: Proxy,
    api: MotoApi,
    baseline: Inventory,
    region: String,
    pid: u32,
    /// `None` only while it is dropped.
    server: Option<MotoServer>,
    runtime: Option<Runtime>,
}

impl Emulator {
    /// Starts an emulator, or empties one that is idle, and starts a proxy with these habits in front of it; about two seconds
    /// once the Python environment is there.
    ///
    /// # Errors
    /// The Python environment cannot be made, or the emulator does not start.
    pub fn start(config: ProxyConfig) -> Result<Self> {
        let venv = Venv::ensure()?;
        let models = Models::load(&venv)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("emulator")
            .enable_all()
            .build()
            .context("cannot start the proxy's runtime")?;
        let server = match idle(&runtime)? {
            Some(server) => server,
            None => MotoServer::start(&venv)?,
        };
        let (api, pid) = (server.api(), server.pid());
        let region = config.region.clone();
        let proxy = wait(&runtime, Proxy::start(config, api.clone(), models))??;
        let baseline = {
            let (api, region) = (api.clone(), region.clone());
            wait(&runtime, async move { Inventory::take(&api, &region).await })??
        };
        Ok(Self { proxy, api, baseline, region, pid, server: Some(server), runtime: Some(runtime) })
    }

    /// The URL to give to clients as `endpoint_url`; it has no trailing slash.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.proxy.port())
    }

    /// The emulator's process; the proxy is part of the calling one.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The recording and failing proxy that the endpoint leads to.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// What exists now, asked of the emulator itself.
    ///
    /// # Errors
    /// The emulator does not answer.
    pub fn inventory(&self) -> Result<Inventory> {
        self.inventory_in(&self.region)
    }

    /// Everything in another region.
    ///
    /// # Errors
    /// The emulator does not answer.
    pub fn inventory_in(&self, region: &str) -> Result<Inventory> {
        let (api, region) = (self.api.clone(), region.to_owned());
        self.wait(async move { Inventory::take(&api, &region).await })?
    }

    /// What a new account holds: the default VPC and what belongs to it.
    pub fn baseline(&self) -> &Inventory {
        &self.baseline
    }

    /// What came and went since the start or the last [`Emulator::reset`].
    ///
    /// # Errors
    /// The emulator does not answer.
    pub fn leftovers(&self) -> Result<crate::InventoryDiff> {
        Ok(self.inventory()?.since(&self.baseline))
    }

    /// Empties the account and forgets calls, faults and states in progress; the proxy's configuration stays.
    ///
    /// # Errors
    /// The emulator does not answer.
    pub fn reset(&mut self) -> Result<()> {
        let api = self.api.clone();
        self.wait(async move { api.reset().await })??;
        self.proxy.forget();
        self.baseline = self.inventory()?;
        Ok(())
    }

    /// Calls an action of EC2 behind the proxy's back, as another tool would. Returns the text at this path of the
    /// answer, such as `prefixList/prefixListId`; empty if there is none.
    ///
    /// # Errors
    /// The emulator refuses it, or does not answer.
    pub fn ec2(&self, action: &str, params: &[(&str, &str)], wanted: &str) -> Result<String> {
        let (api, region, action) = (self.api.clone(), self.region.clone(), action.to_owned());
        let params: Vec<(String, String)> =
            params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let answer = self.wait(async move {
            let params: Vec<(&str, &str)> =
                params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            api.ec2(&region, &action, &params).await
        })??;
        Ok(answer.text_at(wanted).to_owned())
    }

    /// What the emulator has written to its log.
    pub fn log(&self) -> String {
        self.server.as_ref().map(MotoServer::log).unwrap_or_default()
    }

    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T> {
        wait(self.runtime.as_ref().context("the emulator has ended")?, work)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop would block, which panics inside another runtime.
            runtime.shutdown_background();
        }
        // After a failure it is not known what the emulator still does.
        if let Some(server) = self.server.take().filter(|_| !std::thread::panicking()) {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), server));
        }
    }
}

/// An emulator that no test uses, without what was created in it. One that does not answer is ended.
fn idle(runtime: &Runtime) -> Result<Option<MotoServer>> {
    loop {
        let Some((since, server)) = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop() else {
            return Ok(None);
        };
        std::thread::sleep(REST.saturating_sub(since.elapsed()));
        let api = server.api();
        let reset = wait(runtime, async move { tokio::time::timeout(RESET, api.reset()).await })?;
        if matches!(reset, Ok(Ok(()))) {
            return Ok(Some(server));
        }
    }
}

/// Runs `work` on the emulator's runtime and waits without a runtime of the caller's, so that tests may be async or not.
fn wait<T: Send + 'static>(runtime: &Runtime, work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (done, result) = mpsc::channel();
    runtime.spawn(async move {
        // The receiver is gone only if the caller panicked.
        let _ = done.send(work.await);
    });
    result.recv().context("the emulator's task ended without a result")
}

/// Shared by everything that serves one emulator.
pub(crate) type SharedModels = Arc<Models>;
