//! Static forwards: everything that arrives at one port goes to one target. The listening side and the dialled side may each
//! be this machine or the tunnel, so the same code forwards outward and inward.

mod udp;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
};

use tokio::io::ReadBuf;

use crate::{
    counters::Service,
    net::{Datagrams, Dial, Gone, Listen as _, Listener, System},
    outbound::{Asker, Outbound, Resolve},
    relay::Buffer,
    service::{Services, Shared, listen_here, warn_exposed},
    target::Target,
};

impl Services {
    /// Forwards connections to an address of this machine; gives the address, whose port is chosen where it was 0.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn forward_tcp_here<D: Dial, R: Resolve>(
        &self,
        at: SocketAddr,
        outbound: Arc<Outbound<D, R>>,
        target: Target,
    ) -> io::Result<SocketAddr> {
        let listener = listen_here("TCP forward", at, false).await?;
        let bound = listener.local_addr()?;
        self.forward_tcp(listener, outbound, target);
        Ok(bound)
    }

    /// Forwards datagrams to an address of this machine; gives the address, whose port is chosen where it was 0.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn forward_udp_here<D: Dial, R: Resolve>(
        &self,
        at: SocketAddr,
        outbound: Arc<Outbound<D, R>>,
        target: Target,
    ) -> io::Result<SocketAddr> {
        let socket = System.bind(at).await?;
        warn_exposed("UDP forward", at, false);
        let bound = socket.local_addr()?;
        self.forward_udp(socket, outbound, target);
        Ok(bound)
    }

    /// Forwards connections of any listener. A target that is not reached resets the connection: there is no protocol in which
    /// to tell more.
    pub fn forward_tcp<L: Listener, D: Dial, R: Resolve>(
        &self,
        listener: L,
        outbound: Arc<Outbound<D, R>>,
        target: Target,
    ) {
        let shared = Arc::clone(&self.0);
        let target = Arc::new(target);
        self.0.accept(listener, Service::Tcp, move |stream, from, place| {
            let (shared, outbound, target) =
                (Arc::clone(&shared), Arc::clone(&outbound), Arc::clone(&target));
            async move {
                match outbound.connect(&target, Asker::Configuration).await {
                    Ok(reached) => shared.join(stream, reached, &[], place),
                    Err(error) => {
                        tracing::debug!(client = %from, %target, %error, "TCP forward");
                        shared.counters.refuse(error.into());
                    }
                }
            }
        });
    }

    /// Forwards datagrams of any socket. Each client has a socket of its own towards the target, so that answers find back.
    pub fn forward_udp<S: Datagrams, D: Dial, R: Resolve>(
        &self,
        socket: S,
        outbound: Arc<Outbound<D, R>>,
        target: Target,
    ) {
        udp::start(&self.0, socket, outbound, target);
    }
}

/// The next datagram, after `room` for a header; gives where it ends. Errors of datagrams sent before are not of interest to
/// whoever receives, and a datagram that has been cut off is none.
pub(crate) fn receive<S: Datagrams>(
    socket: &S,
    cx: &mut Context<'_>,
    buffer: &mut Buffer,
    room: usize,
    shared: &Shared,
) -> Poll<(usize, SocketAddr)> {
    /// Failures in a row after which others have their turn.
    const TURN: usize = 16;
    for _ in 0..TURN {
        let mut space = ReadBuf::new(&mut buffer[room..]);
        match socket.poll_recv_from(cx, &mut space) {
            Poll::Ready(Ok(from)) if space.remaining() > 0 => {
                return Poll::Ready((room + space.filled().len(), from));
            }
            Poll::Ready(Ok(_)) => {
                shared.counters.datagrams_dropped.fetch_add(1, Relaxed);
            }
            Poll::Ready(Err(error)) if Gone::is(&error) => return Poll::Pending,
            Poll::Ready(Err(_)) => {}
            Poll::Pending => return Poll::Pending,
        }
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}
