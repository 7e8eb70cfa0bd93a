//! A stream under an HTTP connection: counted, and ended when nothing moves on it.

use std::{
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use crate::{counters::Counters, relay::poll_idle};

/// See the module.
#[derive(Debug)]
pub(super) struct Watched<S> {
    inner: S,
    clock: Pin<Box<Sleep>>,
    limit: Duration,
    active: bool,
    counters: Option<Arc<Counters>>,
}

impl<S> Watched<S> {
    /// Ends `inner` when nothing has moved for `limit`; counts if it is told where.
    pub(super) fn new(inner: S, limit: Duration, counters: Option<Arc<Counters>>) -> Self {
        Self { inner, clock: Box::pin(sleep(limit)), limit, active: false, counters }
    }

    /// The stream itself.
    pub(super) fn into_inner(self) -> S {
        self.inner
    }

    fn poll_idle<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        poll_idle(cx, self.clock.as_mut(), self.limit, &mut self.active)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let Poll::Ready(read) = Pin::new(&mut self.inner).poll_read(cx, buf) else {
            return self.poll_idle(cx);
        };
        self.active = true;
        if let Some(counters) = &self.counters {
            counters.received.fetch_add((buf.filled().len() - before) as u64, Relaxed);
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let Poll::Ready(written) = written else { return self.poll_idle(cx) };
        self.active = true;
        if let (Some(counters), Ok(length)) = (&self.counters, &written) {
            counters.sent.fetch_add(*length as u64, Relaxed);
        }
        Poll::Ready(written)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.written(cx, written)
    }

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
