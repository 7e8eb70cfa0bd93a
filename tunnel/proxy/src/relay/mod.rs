//! Bytes between two streams, both ways, until both have said that they send no more.
//!
//! ```text
//!  each way:  Open ── end of stream ─► Ending ── FIN sent ─► Done         both Done: over
//!    any error, or nothing moved for too long: both streams are dropped, which resets them
//! ```
//!
//! A buffer is held only while there are bytes in it: an idle stream has none. Once half of the large buffers are in use, a
//! direction whose reader has stopped holds none either: its bytes stay in the stream that they come from. This needs a stream
//! that can report how many bytes it would take, or be read without taking them.

mod pool;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    future::{Future, poll_fn},
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::ReadBuf,
    time::{Instant, Sleep, sleep},
};

use crate::net::Stream;

pub(crate) use pool::Buffer;
pub use pool::Pool;

/// Reads of one direction before other tasks have their turn.
const TURN: usize = 16;

/// The reason why a relay was interrupted.
#[derive(Debug)]
pub enum Broken {
    /// Nothing moved for too long.
    Idle,
    /// One of the streams failed, most often by a reset.
    Failed(io::Error),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle for too long"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// When a stream on which nothing moves is ended.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// While both ends may send.
    pub idle: Duration,
    /// Once only one may.
    pub half_closed: Duration,
}

/// Where moved bytes are counted: those of `a` to `b`, and those back.
#[derive(Debug, Clone, Copy)]
pub struct Moved<'c> {
    /// From `a` to `b`.
    pub there: &'c AtomicU64,
    /// From `b` to `a`.
    pub back: &'c AtomicU64,
}

/// Moves bytes until both streams have ended; `early` goes to `b` first. The streams are consumed: after an error they are
/// dropped unfinished, so both ends see a reset.
///
/// # Errors
/// The reason of the interruption.
pub fn relay<'c, A: Stream, B: Stream>(
    a: A,
    b: B,
    early: &[u8],
    pool: &Arc<Pool>,
    timeouts: Timeouts,
    moved: Moved<'c>,
) -> impl Future<Output = Result<(), Broken>> + use<'c, A, B> {
    let mut relay = Relay::new(a, b, early, pool, timeouts);
    poll_fn(move |cx| relay.poll(cx, moved))
}

/// Both directions of a stream.
///
/// Thousands of them may wait at once, so this is no `async fn`: its future would hold each stream twice, and that of its
/// caller twice again.
pub(crate) struct Relay<A, B> {
    a: A,
    b: B,
    there: Half,
    back: Half,
    pool: Arc<Pool>,
    timeouts: Timeouts,
    clock: Pin<Box<Sleep>>,
    active: bool,
}

impl<A: Stream, B: Stream> Relay<A, B> {
    /// `early` goes to `b` first.
    pub(crate) fn new(a: A, b: B, early: &[u8], pool: &Arc<Pool>, timeouts: Timeouts) -> Self {
        Self {
            a,
            b,
            there: Half::new(early),
            back: Half::new(&[]),
            pool: Arc::clone(pool),
            timeouts,
            clock: Box::pin(sleep(timeouts.idle)),
            active: false,
        }
    }

    /// Ready once both directions have ended, or with the reason of an interruption.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, moved: Moved<'_>) -> Poll<Result<(), Broken>> {
        let Self { a, b, there, back, pool, timeouts, clock, active } = self;
        let before = (there.moved, back.moved, there.done(), back.done());
        let one = there.poll(cx, a, b, pool, moved.there);
        let other = back.poll(cx, b, a, pool, moved.back);
        match (one, other) {
            (Poll::Ready(Err(error)), _) | (_, Poll::Ready(Err(error))) => {
                return Poll::Ready(Err(Broken::Failed(error)));
            }
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => return Poll::Ready(Ok(())),
            _ => {}
        }
        *active |= (there.moved, back.moved, there.done(), back.done()) != before;
        let limit = if there.done() || back.done() { timeouts.half_closed } else { timeouts.idle };
        if (there.done(), back.done()) != (before.2, before.3) {
            *active = false;
            clock.as_mut().reset(Instant::now() + limit);
        }
        poll_idle(cx, clock.as_mut(), limit, active).map(|()| Err(Broken::Idle))
    }
}

/// Ready once nothing has been active for `limit`, at the latest after twice that: the clock is set again only when it rings,
/// not at each byte.
pub(crate) fn poll_idle(
    cx: &mut Context<'_>,
    mut clock: Pin<&mut Sleep>,
    limit: Duration,
    active: &mut bool,
) -> Poll<()> {
    loop {
        ready!(clock.as_mut().poll(cx));
        if !std::mem::take(active) {
            return Poll::Ready(());
        }
        clock.as_mut().reset(Instant::now() + limit);
    }
}

/// One direction.
struct Half {
    buffer: Option<Buffer>,
    start: usize,
    end: usize,
    state: State,
    moved: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ending,
    Done,
}

impl Half {
    fn new(early: &[u8]) -> Self {
        let buffer = (!early.is_empty()).then(|| Buffer::of(early));
        Self { buffer, start: 0, end: early.len(), state: State::Open, moved: 0 }
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }

    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
        pool: &Arc<Pool>,
        counter: &AtomicU64,
    ) -> Poll<io::Result<()>>
    where
        R: Stream,
        W: Stream,
    {
        if self.done() {
            return Poll::Ready(Ok(()));
        }
        for _ in 0..TURN {
            ready!(self.write(cx, to, counter))?;
            if self.state == State::Ending {
                ready!(Pin::new(to).poll_shutdown(cx))?;
                self.state = State::Done;
                return Poll::Ready(Ok(()));
            }
            let tight = pool.is_tight();
            let room = if tight { to.poll_room(cx) } else { Poll::Ready(usize::MAX) };
            let Poll::Ready(room) = room else { return self.wait(cx, to) };
            let buffer = self.buffer.get_or_insert_with(|| pool.take());
            let most = buffer.len().min(room);
            let mut space = ReadBuf::new(&mut buffer[..most]);
            let peeked = if tight { from.poll_peek(cx, &mut space) } else { None };
            let left_there = peeked.is_some();
            match peeked.unwrap_or_else(|| Pin::new(&mut *from).poll_read(cx, &mut space)) {
                Poll::Pending => return self.wait(cx, to),
                Poll::Ready(read) => read?,
            }
            let length = space.filled().len();
            if length == 0 {
                self.buffer = None;
                self.state = State::Ending;
            } else if left_there {
                let Poll::Ready(written) = Pin::new(&mut *to).poll_write(cx, &buffer[..length])? else {
                    return self.wait(cx, to);
                };
                self.count(written, counter)?;
                from.take_peeked(written);
            } else {
                (self.start, self.end) = (0, length);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Holds nothing while the streams have nothing to give or to take.
    fn wait<W: Stream>(&mut self, cx: &mut Context<'_>, to: &mut W) -> Poll<io::Result<()>> {
        self.buffer = None;
        match Pin::new(to).poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }

    fn count(&mut self, written: usize, counter: &AtomicU64) -> io::Result<()> {
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.moved += written as u64;
        counter.fetch_add(written as u64, Relaxed);
        Ok(())
    }

    /// Writes what the buffer holds.
    fn write<W: Stream>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut W,
        counter: &AtomicU64,
    ) -> Poll<io::Result<()>> {
        while let Some(buffer) = &self.buffer
            && self.start < self.end
        {
            let written = ready!(Pin::new(&mut *to).poll_write(cx, &buffer[self.start..self.end]))?;
            self.count(written, counter)?;
            self.start += written;
        }
        Poll::Ready(Ok(()))
    }
}
