//! Connections from the other side of the tunnel.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use warren_netstack::ListenerId;

use super::Stream;
use super::error::down;
use super::shared::Shared;

/// Accepts connections on a port; one task at a time.
pub struct Listener {
    shared: Arc<Shared>,
    id: ListenerId,
    local: SocketAddr,
}

impl Listener {
    pub(super) fn new(shared: Arc<Shared>, id: ListenerId, local: SocketAddr) -> Self {
        Self { shared, id, local }
    }

    /// Where it listens; unspecified for all own addresses.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The next connection.
    ///
    /// # Errors
    /// The tunnel has ended.
    pub async fn accept(&self) -> io::Result<Stream> {
        std::future::poll_fn(|context| self.poll_accept(context)).await
    }

    /// As [`Listener::accept`].
    pub fn poll_accept(&self, context: &Context<'_>) -> Poll<io::Result<Stream>> {
        let accepted = self.shared.with(|state, _| {
            if state.closed {
                return Poll::Ready(Err(down()));
            }
            loop {
                let Some(id) = state.stack.accept(self.id) else {
                    state.wait_listener(self.id, context);
                    return Poll::Pending;
                };
                let Some((local, remote)) = state.stack.ends(id) else { continue };
                state.adopt(id);
                return Poll::Ready(Ok((id, local, remote)));
            }
        });
        accepted.map_ok(|(id, local, remote)| {
            self.shared.set_controller(id, remote.ip());
            Stream::new(Arc::clone(&self.shared), id, local, remote)
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.with(|state, now| {
            state.drop_listener(self.id);
            state.stack.unlisten(now, self.id);
        });
    }
}
