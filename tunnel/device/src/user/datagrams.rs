//! A UDP socket inside the tunnel.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use warren_netstack::{SocketId, UdpError};

use super::error::down;
use super::shared::Shared;

/// Sends and receives datagrams; one task may wait to receive at a time.
pub struct Datagrams {
    shared: Arc<Shared>,
    id: SocketId,
    local: SocketAddr,
}

impl Datagrams {
    pub(super) fn new(shared: Arc<Shared>, id: SocketId, local: SocketAddr) -> Self {
        Self { shared, id, local }
    }

    /// Where it is bound; unspecified for all own addresses.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends one datagram, and waits while too many are under way.
    ///
    /// # Errors
    /// `NetworkUnreachable`: no peer has the destination. `AddrNotAvailable`: no address of its family.
    /// `InvalidInput`: longer than a packet.
    pub async fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        std::future::poll_fn(|context| self.poll_send_to(context, data, to)).await
    }

    /// As [`Datagrams::send_to`].
    pub fn poll_send_to(&self, context: &Context<'_>, data: &[u8], to: SocketAddr) -> Poll<io::Result<()>> {
        let to = SocketAddr::new(to.ip().to_canonical(), to.port());
        if !(self.shared.routes)(to.ip()) {
            return Poll::Ready(Err(super::ConnectError::NoRoute(to.ip()).into()));
        }
        self.shared.with(|state, _| {
            if state.closed {
                return Poll::Ready(Err(down()));
            }
            match state.stack.udp_send_to(self.id, to, data) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(UdpError::Full) => {
                    state.wait_sender(context);
                    Poll::Pending
                }
                Err(error) => {
                    let kind = match error {
                        UdpError::NoAddress => io::ErrorKind::AddrNotAvailable,
                        UdpError::TooLarge(_) => io::ErrorKind::InvalidInput,
                        UdpError::InUse => io::ErrorKind::AddrInUse,
                        UdpError::Closed | UdpError::Full => io::ErrorKind::NotConnected,
                    };
                    Poll::Ready(Err(io::Error::new(kind, error)))
                }
            }
        })
    }

    /// The next datagram: its length and its sender. What does not fit into `buffer` is cut off.
    ///
    /// # Errors
    /// The tunnel has ended.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut buffer = ReadBuf::new(buffer);
        let from = std::future::poll_fn(|context| self.poll_recv_from(context, &mut buffer)).await?;
        Ok((buffer.filled().len(), from))
    }

    /// As [`Datagrams::recv_from`].
    pub fn poll_recv_from(
        &self,
        context: &Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let received = self.shared.with(|state, _| {
            if state.closed {
                return Poll::Ready(Err(down()));
            }
            match state.stack.udp_recv_from(self.id) {
                Some(datagram) => Poll::Ready(Ok(datagram)),
                None => {
                    state.wait_socket(self.id, context);
                    Poll::Pending
                }
            }
        });
        received.map_ok(|datagram| {
            buffer.put_slice(&datagram.data[..datagram.data.len().min(buffer.remaining())]);
            datagram.remote
        })
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        self.shared.with(|state, _| {
            state.drop_socket(self.id);
            state.stack.udp_close(self.id);
        });
    }
}
