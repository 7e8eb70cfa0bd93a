//! A connection that fails when nothing moves: an idle path is not distinguishable from a broken one.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How long neither direction may stand still. The completion of a large multipart upload takes minutes, but S3 sends a
/// space every few seconds meanwhile.
const LIMIT: Duration = Duration::from_secs(60);

/// A stream with a limit on its pauses.
pub(super) struct Stall<S> {
    inner: S,
    limit: Pin<Box<Sleep>>,
}

impl<S> Stall<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, limit: Box::pin(sleep(LIMIT)) }
    }

    fn moved(&mut self) {
        self.limit.as_mut().reset(Instant::now() + LIMIT);
    }

    fn stalled(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        ready!(self.limit.as_mut().poll(cx));
        let text = format!("no data for {} s", LIMIT.as_secs());
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, text))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_read(cx, buf) {
            Poll::Pending => self.stalled(cx).map(Err),
            done => {
                self.moved();
                done
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write(cx, buf) {
            Poll::Pending => self.stalled(cx).map(Err),
            done => {
                self.moved();
                done
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write_vectored(cx, bufs) {
            Poll::Pending => self.stalled(cx).map(Err),
            done => {
                self.moved();
                done
            }
        }
    }

    /// Without this, hyper copies each piece of a body into a buffer of the connection.
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
