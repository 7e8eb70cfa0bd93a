//! A connection to a peer within the peer's rate limits: it waits, and backpressure slows the other end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use warren_device::user;
use warren_proxy::net::Stream;

use crate::gateway::access::Direction;
use crate::gateway::peers::Member;
use crate::runtime::datapath::Clock;

/// Bytes taken from the rate limits at once: a part of the smallest burst.
const PART: usize = 16 << 10;
/// Pause before the rate limits are checked again.
const PAUSE: Duration = Duration::from_millis(4);

/// A stream and its member.
pub(super) struct Shaped {
    stream: user::Stream,
    member: Arc<Member>,
    /// Timers, one per direction.
    waits: [Option<Pin<Box<Sleep>>>; 2],
}

impl Shaped {
    pub(super) fn new(stream: user::Stream, member: Arc<Member>) -> Self {
        Self { stream, member, waits: [None, None] }
    }

    /// Takes up to this many bytes from the rate limits; 0 means that there is no limit.
    fn poll_take(&mut self, context: &mut Context<'_>, direction: Direction, most: usize) -> Poll<usize> {
        let wait = &mut self.waits[usize::from(direction == Direction::Back)];
        loop {
            if let Some(waiting) = wait {
                ready!(waiting.as_mut().poll(context));
                *wait = None;
            }
            let rate_limits = self.member.rate_limits.load();
            if !rate_limits.limited(direction) {
                return Poll::Ready(0);
            }
            let part = most.min(PART);
            if rate_limits.take(direction, Clock.mono(), part) {
                return Poll::Ready(part);
            }
            *wait = Some(Box::pin(sleep(PAUSE)));
        }
    }

    fn put_back(&self, direction: Direction, bytes: usize) {
        self.member.rate_limits.load().put_back(direction, bytes);
    }
}

impl Stream for Shaped {
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        self.stream.poll_room(context)
    }

    fn poll_peek(
        &mut self,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Option<Poll<io::Result<()>>> {
        // What a rate limit counts is what was taken.
        let limited = self.member.rate_limits.load().limited(Direction::Out);
        (!limited).then(|| self.stream.poll_peek(context, out))
    }

    fn take_peeked(&mut self, bytes: usize) {
        self.stream.take_peeked(bytes);
    }
}

impl AsyncRead for Shaped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.member.rate_limits.load().limited(Direction::Out) {
            return Pin::new(&mut self.stream).poll_read(context, out);
        }
        // Take nothing while there is nothing to read.
        ready!(self.stream.poll_readable(context));
        let taken = ready!(self.poll_take(context, Direction::Out, out.remaining()));
        if taken == 0 {
            return Pin::new(&mut self.stream).poll_read(context, out);
        }
        let mut part = ReadBuf::new(out.initialize_unfilled_to(taken));
        let read = Pin::new(&mut self.stream).poll_read(context, &mut part);
        let filled = part.filled().len();
        out.advance(filled);
        self.put_back(Direction::Out, taken - filled);
        read
    }
}

impl AsyncWrite for Shaped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if data.is_empty() || !self.member.rate_limits.load().limited(Direction::Back) {
            return Pin::new(&mut self.stream).poll_write(context, data);
        }
        ready!(self.stream.poll_room(context));
        let taken = ready!(self.poll_take(context, Direction::Back, data.len()));
        if taken == 0 {
            return Pin::new(&mut self.stream).poll_write(context, data);
        }
        let written = Pin::new(&mut self.stream).poll_write(context, &data[..taken]);
        let used = if let Poll::Ready(Ok(used)) = &written { *used } else { 0 };
        self.put_back(Direction::Back, taken - used);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
