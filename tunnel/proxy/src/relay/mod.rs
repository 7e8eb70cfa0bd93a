//! Bytes between two streams, both ways, until both have said that they send no more.
//!
//! ```text
//!  each way:  Open ── end of stream ─► Ending ── FIN sent ─► Done         both Done: over
//!    any error, or nothing moved for too long: both streams are dropped, which resets them
//! ```
//!
//! A buffer is held only while there are bytes in it: an idle stream has none.

mod pool;

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
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

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
pub async fn relay<A, B>(
    mut a: A,
    mut b: B,
    early: &[u8],
    pool: &Arc<Pool>,
    timeouts: Timeouts,
    moved: Moved<'_>,
) -> Result<(), Broken>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let mut there = Half::new(early);
    let mut back = Half::new(&[]);
    let clock = sleep(timeouts.idle);
    tokio::pin!(clock);
    let mut active = false;
    poll_fn(move |cx| {
        let before = (there.moved, back.moved, there.done(), back.done());
        let one = there.poll(cx, &mut a, &mut b, pool, moved.there);
        let other = back.poll(cx, &mut b, &mut a, pool, moved.back);
        match (one, other) {
            (Poll::Ready(Err(error)), _) | (_, Poll::Ready(Err(error))) => {
                return Poll::Ready(Err(Broken::Failed(error)));
            }
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => return Poll::Ready(Ok(())),
            _ => {}
        }
        active |= (there.moved, back.moved, there.done(), back.done()) != before;
        let limit = if there.done() || back.done() { timeouts.half_closed } else { timeouts.idle };
        if (there.done(), back.done()) != (before.2, before.3) {
            active = false;
            clock.as_mut().reset(Instant::now() + limit);
        }
        poll_idle(cx, clock.as_mut(), limit, &mut active).map(|()| Err(Broken::Idle))
    })
    .await
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
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
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
            let buffer = self.buffer.get_or_insert_with(|| pool.take());
            let mut space = ReadBuf::new(buffer);
            match Pin::new(&mut *from).poll_read(cx, &mut space) {
                Poll::Pending => {
                    self.buffer = None;
                    return match Pin::new(to).poll_flush(cx) {
                        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                        _ => Poll::Pending,
                    };
                }
                Poll::Ready(read) => read?,
            }
            let length = space.filled().len();
            (self.start, self.end) = (0, length);
            if length == 0 {
                self.buffer = None;
                self.state = State::Ending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes what the buffer holds.
    fn write<W: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut W,
        counter: &AtomicU64,
    ) -> Poll<io::Result<()>> {
        while let Some(buffer) = &self.buffer
            && self.start < self.end
        {
            let written = ready!(Pin::new(&mut *to).poll_write(cx, &buffer[self.start..self.end]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.start += written;
            self.moved += written as u64;
            counter.fetch_add(written as u64, Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}
