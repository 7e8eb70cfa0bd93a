//! Accepts, authenticates and counts connections of the client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

use crate::serve::network::{Listener, Stream};

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Current and total number of connections.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Open {
    pub(crate) now: usize,
    pub(crate) ever: usize,
}

/// The stream of accepted connections.
pub(crate) struct Connections {
    incoming: mpsc::Receiver<io::Result<Connection>>,
    open: watch::Sender<Open>,
}

impl Connections {
    /// Accepts connections on `listener` until `stop`. With an acceptor, connections that fail the TLS handshake are
    /// logged and dropped.
    pub(crate) fn accept(
        listener: Listener,
        acceptor: Option<TlsAcceptor>,
        stop: CancellationToken,
    ) -> Connections {
        let (sender, incoming) = mpsc::channel(16);
        let (open, _) = watch::channel(Open::default());
        let counter = open.clone();
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                match accepted {
                    Ok(stream) => {
                        tokio::spawn(admit(stream, acceptor.clone(), counter.clone(), sender.clone()));
                    }
                    // Out of file descriptors, most likely: others will be closed.
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        });
        Connections { incoming, open }
    }

    /// Follows the number of connections.
    pub(crate) fn open(&self) -> watch::Receiver<Open> {
        self.open.subscribe()
    }

    /// The connections, as they are accepted.
    pub(crate) fn into_stream(self) -> ReceiverStream<io::Result<Connection>> {
        ReceiverStream::new(self.incoming)
    }
}

async fn admit(
    stream: Stream,
    acceptor: Option<TlsAcceptor>,
    counter: watch::Sender<Open>,
    sender: mpsc::Sender<io::Result<Connection>>,
) {
    let link = match acceptor {
        None => Link::Plain(stream),
        Some(acceptor) => match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Link::Tls(Box::new(stream)),
            Ok(Err(error)) => return tracing::warn!(%error, "rejected a connection"),
            Err(_) => return tracing::warn!("rejected a connection: TLS handshake timed out"),
        },
    };
    let connection = Connection { link, _count: Count::new(counter) };
    // Nobody takes it when the server has stopped; then it closes.
    let _stopped = sender.send(Ok(connection)).await;
}

/// One connection.
pub(crate) struct Connection {
    link: Link,
    _count: Count,
}

enum Link {
    Plain(Stream),
    Tls(Box<TlsStream<Stream>>),
}

/// Counts a connection while it is open.
struct Count(watch::Sender<Open>);

impl Count {
    fn new(counter: watch::Sender<Open>) -> Count {
        counter.send_modify(|open| {
            open.now += 1;
            open.ever += 1;
        });
        Count(counter)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.send_modify(|open| open.now -= 1);
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.link {
            Link::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Link::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.link {
            Link::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Link::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.link {
            Link::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Link::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.link {
            Link::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Link::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
