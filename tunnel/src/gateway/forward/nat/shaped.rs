//! A connection to a peer that keeps to the peer's rates: it waits, and so does whoever is at the other end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use warren_device::user;

use crate::gateway::access::Way;
use crate::gateway::peers::Member;
use crate::runtime::datapath::Clock;

/// Bytes that are taken from the rates at once: a part of the least burst.
const PART: usize = 16 << 10;
/// Until the rates are asked again.
const PAUSE: Duration = Duration::from_millis(4);

/// The stream and whose it is.
pub(super) struct Shaped {
    stream: user::Stream,
    member: Arc<Member>,
    /// One for each direction.
    waits: [Option<Pin<Box<Sleep>>>; 2],
}

impl Shaped {
    pub(super) fn new(stream: user::Stream, member: Arc<Member>) -> Self {
        Self { stream, member, waits: [None, None] }
    }

    /// Takes so many bytes from the rates, or fewer; 0 means that there are no rates.
    fn poll_take(&mut self, context: &mut Context<'_>, way: Way, most: usize) -> Poll<usize> {
        let wait = &mut self.waits[usize::from(way == Way::Back)];
        loop {
            if let Some(waiting) = wait {
                ready!(waiting.as_mut().poll(context));
                *wait = None;
            }
            let shares = self.member.shares.load();
            if !shares.limited(way) {
                return Poll::Ready(0);
            }
            let part = most.min(PART);
            if shares.take(way, Clock.mono(), part) {
                return Poll::Ready(part);
            }
            *wait = Some(Box::pin(sleep(PAUSE)));
        }
    }

    fn put_back(&self, way: Way, bytes: usize) {
        self.member.shares.load().put_back(way, bytes);
    }
}

impl AsyncRead for Shaped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.member.shares.load().limited(Way::Out) {
            return Pin::new(&mut self.stream).poll_read(context, out);
        }
        // Nothing is taken while there is nothing.
        ready!(self.stream.poll_readable(context));
        let taken = ready!(self.poll_take(context, Way::Out, out.remaining()));
        if taken == 0 {
            return Pin::new(&mut self.stream).poll_read(context, out);
        }
        let mut part = ReadBuf::new(out.initialize_unfilled_to(taken));
        let read = Pin::new(&mut self.stream).poll_read(context, &mut part);
        let filled = part.filled().len();
        out.advance(filled);
        self.put_back(Way::Out, taken - filled);
        read
    }
}

impl AsyncWrite for Shaped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if data.is_empty() || !self.member.shares.load().limited(Way::Back) {
            return Pin::new(&mut self.stream).poll_write(context, data);
        }
        ready!(self.stream.poll_room(context));
        let taken = ready!(self.poll_take(context, Way::Back, data.len()));
        if taken == 0 {
            return Pin::new(&mut self.stream).poll_write(context, data);
        }
        let written = Pin::new(&mut self.stream).poll_write(context, &data[..taken]);
        let used = if let Poll::Ready(Ok(used)) = &written { *used } else { 0 };
        self.put_back(Way::Back, taken - used);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
