//! A name server on loopback for a machine whose tunnel has an interface: `/etc/resolv.conf` cannot send some domains to other
//! servers, so it names this one.
//!
//! ```text
//! program --> 127.83.0.1 --+-- domain of the gateway --> the gateway, through the interface; no other server, even if it is down
//!                          +-- any other ------------> the machine's own name servers
//! ```

use std::{net::SocketAddr, time::Duration};

use tokio::runtime::Runtime;
use warren_proxy::{
    Limits, Services,
    dns::{Names, Others, name_servers},
    net::System,
};
use warren_wire::config::Config;

use super::proxies::zones;
use crate::runtime::problem::{Context, Problem, Result};

/// Addresses that are tried, so that several agents can run on one machine. All of 127.0.0.0/8 is loopback.
const ADDRESSES: std::ops::RangeInclusive<u8> = 1..=8;
/// How long a shutdown waits for answers.
const GRACE: Duration = Duration::from_millis(100);

/// The running name server; dropping it ends it.
pub(super) struct LocalDns {
    runtime: Option<Runtime>,
    services: Services,
    names: Names<System>,
    at: SocketAddr,
}

impl LocalDns {
    /// Starts to answer; `resolv_conf` has the machine's own name servers.
    ///
    /// # Errors
    /// When port 53 is not available.
    pub(super) fn start(config: &Config, resolv_conf: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("dns")
            .enable_all()
            .build()
            .while_doing(|| "cannot start the name server".into())?;
        let services = Services::new(Limits { buffer_bytes: 256 << 10, streams: 256, ..Limits::default() });
        let others = Others::System(name_servers(resolv_conf));
        let names = Names::new(&services, System, &zones(config), others);
        let mut last = None;
        for number in ADDRESSES {
            let at = SocketAddr::from(([127, 83, 0, number], 53));
            match runtime.block_on(services.dns(at, names.clone())) {
                Ok(at) => {
                    tracing::info!(%at, "name server listening");
                    return Ok(Self { runtime: Some(runtime), services, names, at });
                }
                Err(error) => last = Some(error),
            }
        }
        let error = last.map(|error| error.to_string()).unwrap_or_default();
        Err(Problem::new(format!("cannot answer DNS on 127.83.0.1 port 53 for the gateway's domains: {error}")).hint(
            "port 53 needs CAP_NET_BIND_SERVICE and no other program on all addresses; or use --device user, whose proxies resolve names",
        ))
    }

    /// Its address.
    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }

    /// Applies another configuration.
    pub(super) fn reload(&self, config: &Config) {
        self.names.set_zones(&zones(config));
    }
}

impl Drop for LocalDns {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.services.shutdown(GRACE));
            runtime.shutdown_timeout(GRACE);
        }
    }
}
