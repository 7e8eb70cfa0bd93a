//! The netstack, as a network for the proxies.

use std::{
    collections::BTreeMap,
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use warren_device::user::{self, Congestion, ConnectError, Net};
use warren_proxy::net::{Datagrams, Dial, DialError, Gone, Listen, Listener, Stream};

/// The inside of the tunnel.
#[derive(Clone)]
pub(crate) struct Netstack(pub(crate) Net);

/// A connection inside the tunnel.
pub(crate) struct NetstackStream(user::Stream);

/// A listener inside the tunnel.
pub(crate) struct NetstackListener(user::Listener);

/// A UDP socket inside the tunnel.
pub(crate) struct NetstackDatagrams(user::Datagrams);

impl Netstack {
    /// Current connections, by congestion control.
    pub(crate) fn streams(&self) -> BTreeMap<String, u64> {
        let streams =
            |congestion: Congestion| (congestion.name().to_owned(), self.0.streams_with(congestion) as u64);
        Congestion::ALL.map(streams).into()
    }
}

impl Dial for Netstack {
    type Stream = NetstackStream;
    type Datagrams = NetstackDatagrams;

    async fn connect(&self, to: SocketAddr) -> Result<NetstackStream, DialError> {
        self.0.connect(to).await.map(NetstackStream).map_err(dial_error)
    }

    async fn bind_udp(&self, ipv6: bool) -> io::Result<NetstackDatagrams> {
        let any: SocketAddr = if ipv6 { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
        Ok(NetstackDatagrams(self.0.bind_udp(any)?))
    }
}

/// The same reason, in the words of the proxies.
pub(crate) fn dial_error(error: ConnectError) -> DialError {
    match error {
        ConnectError::NoRoute(_) | ConnectError::NoAddress(_) => DialError::NoRoute,
        ConnectError::Refused | ConnectError::Reset => DialError::Refused,
        ConnectError::Unreachable => DialError::HostUnreachable,
        ConnectError::Prohibited => DialError::NotPermitted,
        ConnectError::TimedOut => DialError::TimedOut,
        ConnectError::TooMany => DialError::Exhausted,
        ConnectError::Down => DialError::Failed,
    }
}

impl Listen for Netstack {
    type Listener = NetstackListener;
    type Datagrams = NetstackDatagrams;

    async fn listen(&self, at: SocketAddr) -> io::Result<NetstackListener> {
        Ok(NetstackListener(self.0.listen(at)?))
    }

    async fn bind(&self, at: SocketAddr) -> io::Result<NetstackDatagrams> {
        Ok(NetstackDatagrams(self.0.bind_udp(at)?))
    }
}

impl Listener for NetstackListener {
    type Stream = NetstackStream;

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local())
    }

    async fn accept(&mut self) -> io::Result<(NetstackStream, SocketAddr)> {
        // It fails only when the tunnel has ended.
        let stream = self.0.accept().await.map_err(|_| Gone)?;
        let from = stream.remote();
        Ok((NetstackStream(stream), from))
    }
}

impl Datagrams for NetstackDatagrams {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local())
    }

    fn poll_recv_from(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>> {
        self.0.poll_recv_from(cx, buf).map_err(gone)
    }

    fn poll_send_to(&self, cx: &mut Context<'_>, datagram: &[u8], to: SocketAddr) -> Poll<io::Result<()>> {
        self.0.poll_send_to(cx, datagram, to).map_err(gone)
    }
}

fn gone(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::NetworkDown { Gone.into() } else { error }
}

impl Stream for NetstackStream {
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        self.0.poll_room(cx)
    }

    fn poll_peek(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Option<Poll<io::Result<()>>> {
        Some(self.0.poll_peek(cx, buf))
    }

    fn take_peeked(&mut self, bytes: usize) {
        self.0.take_peeked(bytes);
    }
}

impl AsyncRead for NetstackStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for NetstackStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut written = 0;
        for buf in bufs.iter().filter(|buf| !buf.is_empty()) {
            match Pin::new(&mut self.0).poll_write(cx, buf) {
                Poll::Ready(Ok(taken)) => {
                    written += taken;
                    if taken < buf.len() {
                        break;
                    }
                }
                // The next call has the rest, and so the same answer.
                _ if written > 0 => break,
                none => return none,
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
