//! Connections of this process itself, without a proxy in between.

use std::{fmt, io, sync::Arc};

use async_trait::async_trait;
use warren_proxy::{outbound::Asker, target::Target};
use warren_sync::net::{Io, Network};

use super::{Route, TunnelNetwork};

/// The network that the proxies reach.
pub(super) struct Within<N>(pub(super) Arc<Route<N>>);

impl<N> fmt::Debug for Within<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").finish_non_exhaustive()
    }
}

#[async_trait]
impl<N: TunnelNetwork> Network for Within<N> {
    async fn connect(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        let target = Target::new(host.parse().map_err(io::Error::other)?, port);
        let stream = self.0.connect(&target, Asker::Configuration).await;
        Ok(Box::new(stream.map_err(io::Error::other)?))
    }
}
