//! The operating system's network.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, UdpSocket},
};

use super::{Datagrams, Dial, DialError, Listen, Listener, Stream};

/// The operating system's sockets.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Dial for System {
    type Stream = SystemStream;
    type Datagrams = SystemDatagrams;

    async fn connect(&self, to: SocketAddr) -> Result<SystemStream, DialError> {
        TcpStream::connect(to).await.map(SystemStream::new).map_err(|error| DialError::from(&error))
    }

    async fn bind_udp(&self, ipv6: bool) -> io::Result<SystemDatagrams> {
        let any: SocketAddr = if ipv6 { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
        UdpSocket::bind(any).await.map(SystemDatagrams)
    }
}

impl Listen for System {
    type Listener = SystemListener;
    type Datagrams = SystemDatagrams;

    async fn listen(&self, at: SocketAddr) -> io::Result<SystemListener> {
        TcpListener::bind(at).await.map(SystemListener)
    }

    async fn bind(&self, at: SocketAddr) -> io::Result<SystemDatagrams> {
        UdpSocket::bind(at).await.map(SystemDatagrams)
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct SystemListener(TcpListener);

impl From<TcpListener> for SystemListener {
    fn from(listener: TcpListener) -> Self {
        Self(listener)
    }
}

impl Listener for SystemListener {
    type Stream = SystemStream;

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    async fn accept(&mut self) -> io::Result<(SystemStream, SocketAddr)> {
        let (stream, from) = self.0.accept().await?;
        Ok((SystemStream::new(stream), from))
    }
}

/// A TCP connection of the operating system.
#[derive(Debug)]
pub struct SystemStream {
    inner: TcpStream,
    /// Our FIN has been sent: dropping it is no reset.
    finished: bool,
}

impl SystemStream {
    /// Segments leave as they are written: clients of a proxy have coalesced them already.
    pub fn new(inner: TcpStream) -> Self {
        // A socket that refuses the option is slower with small writes, not wrong.
        _ = inner.set_nodelay(true);
        Self { inner, finished: false }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// The socket no longer exists.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl Stream for SystemStream {}

impl Drop for SystemStream {
    fn drop(&mut self) {
        if !self.finished {
            // Else the kernel would send FIN, and the other end would take what it has for all there is.
            _ = self.inner.set_zero_linger();
        }
    }
}

impl AsyncRead for SystemStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for SystemStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.finished |= done.is_ready();
        done
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// A UDP socket of the operating system.
#[derive(Debug)]
pub struct SystemDatagrams(UdpSocket);

impl From<UdpSocket> for SystemDatagrams {
    fn from(socket: UdpSocket) -> Self {
        Self(socket)
    }
}

impl Datagrams for SystemDatagrams {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn poll_recv_from(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>> {
        self.0.poll_recv_from(cx, buf)
    }

    fn poll_send_to(&self, cx: &mut Context<'_>, datagram: &[u8], to: SocketAddr) -> Poll<io::Result<()>> {
        self.0.poll_send_to(cx, datagram, to).map_ok(drop)
    }
}
