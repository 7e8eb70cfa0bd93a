//! The network as the proxies see it: streams and datagrams, out of it and into it.
//!
//! ```text
//! Dial    connect -> Stream       bind_udp -> Datagrams       out
//! Listen  listen  -> Listener -> accept -> Stream              in
//!         bind    -> Datagrams
//! ```
//!
//! [`System`] is the operating system's own network; the tunnel's user-space network is another implementation.

mod error;
mod split;
mod system;

use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub use error::DialError;
pub use split::{Either, Prefixes, Split, SplitDatagrams, is_local};
pub use system::{System, SystemDatagrams, SystemListener, SystemStream};

/// One TCP connection.
///
/// `poll_shutdown` sends FIN and leaves the other direction open. A stream that is dropped before it was shut down ends with
/// RST, and so does one that is dropped with unread bytes: whoever drops it tells the other end that something went wrong.
/// A FIN from the other end is a read of zero bytes, an RST is an error of kind `ConnectionReset`.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// How many bytes a write takes now; waits until it is more than none. A stream that cannot tell says [`usize::MAX`].
    fn poll_room(&mut self, _cx: &mut Context<'_>) -> Poll<usize> {
        Poll::Ready(usize::MAX)
    }

    /// Reads, and leaves in the stream what it has read, until [`Self::take_peeked`]. `None`: the stream cannot.
    fn poll_peek(&mut self, _cx: &mut Context<'_>, _buf: &mut ReadBuf<'_>) -> Option<Poll<io::Result<()>>> {
        None
    }

    /// Takes out the first bytes of what [`Self::poll_peek`] has read.
    fn take_peeked(&mut self, _bytes: usize) {}
}

/// A UDP socket that receives datagrams from any address; dropping it closes it.
///
/// One task at a time waits in each direction: only the last waker of a direction is woken.
pub trait Datagrams: Send + Sync + 'static {
    /// The address that it is bound to.
    ///
    /// # Errors
    /// The socket no longer exists.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Receives the next datagram into `buf`, truncated if it does not fit.
    ///
    /// # Errors
    /// Errors that came back for an earlier datagram (ICMP port unreachable is `ConnectionRefused`): the socket stays usable.
    fn poll_recv_from(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>>;

    /// Sends one datagram as a whole; pending while there is no room for it.
    ///
    /// # Errors
    /// When it is too large, or `to` is of the other family, or there is no way to it.
    fn poll_send_to(&self, cx: &mut Context<'_>, datagram: &[u8], to: SocketAddr) -> Poll<io::Result<()>>;

    /// Waits for the next datagram. A datagram that is longer than `buf` is cut off.
    ///
    /// # Errors
    /// As [`Self::poll_recv_from`].
    fn recv_from(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<(usize, SocketAddr)>> + Send {
        let mut buf = ReadBuf::new(buf);
        poll_fn(move |cx| self.poll_recv_from(cx, &mut buf).map_ok(|from| (buf.filled().len(), from)))
    }

    /// Sends one datagram, waiting for room.
    ///
    /// # Errors
    /// As [`Self::poll_send_to`].
    fn send_to(&self, datagram: &[u8], to: SocketAddr) -> impl Future<Output = io::Result<()>> + Send {
        poll_fn(move |cx| self.poll_send_to(cx, datagram, to))
    }
}

/// The way out.
pub trait Dial: Send + Sync + 'static {
    /// A connection.
    type Stream: Stream;
    /// A UDP socket.
    type Datagrams: Datagrams;

    /// Connects. Dropping the future gives the attempt up. An implementation has a time limit of its own; the caller
    /// usually has a shorter one.
    fn connect(&self, to: SocketAddr) -> impl Future<Output = Result<Self::Stream, DialError>> + Send;

    /// Binds a UDP socket of that address family to an unpredictable port.
    fn bind_udp(&self, ipv6: bool) -> impl Future<Output = io::Result<Self::Datagrams>> + Send;
}

/// The way in.
pub trait Listen: Send + Sync + 'static {
    /// A listening TCP socket.
    type Listener: Listener;
    /// A UDP socket.
    type Datagrams: Datagrams;

    /// Listens for connections. An unspecified address (`0.0.0.0`, `::`) is every address of the network, of that family;
    /// port 0 is a free one.
    fn listen(&self, at: SocketAddr) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// Receives datagrams to a port. If `at` is unspecified, the network chooses the source address of answers.
    fn bind(&self, at: SocketAddr) -> impl Future<Output = io::Result<Self::Datagrams>> + Send;
}

/// A listening TCP socket; dropping it closes it and leaves accepted streams open.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: Stream;

    /// The address that it listens on.
    ///
    /// # Errors
    /// The socket no longer exists.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Waits for the next connection and returns it with its client's address. Dropping the future loses no connection.
    ///
    /// # Errors
    /// Those of one connection, or a lack of descriptors or memory: calling again after a pause is right. [`Gone`] as the
    /// error's source means that no more will come.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, SocketAddr)>> + Send;
}

/// The network behind a listener or socket has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the network no longer exists")]
pub struct Gone;

impl From<Gone> for io::Error {
    fn from(gone: Gone) -> Self {
        Self::new(io::ErrorKind::NotConnected, gone)
    }
}

impl Gone {
    /// Whether that is what `error` says.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|source| source.is::<Self>())
    }
}
