//! What a direction holds while its reader has stopped.

use std::collections::VecDeque;
use std::task::Waker;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use super::*;

/// Bytes that each end says.
const SAID: usize = 100_000;

/// An end that takes as much as it has room for.
#[derive(Clone, Default)]
struct End(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    says: VecDeque<u8>,
    took: Vec<u8>,
    room: usize,
}

impl End {
    fn saying(bytes: &[u8]) -> Self {
        let end = Self::default();
        end.0.lock().says.extend(bytes);
        end
    }

    fn unsaid(&self) -> usize {
        self.0.lock().says.len()
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let Some(Poll::Ready(read)) = self.poll_peek(cx, buf) else { return Poll::Pending };
        self.take_peeked(buf.filled().len() - before);
        Poll::Ready(read)
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock();
        let taken = data.len().min(inner.room);
        if taken == 0 {
            return Poll::Pending;
        }
        inner.room -= taken;
        inner.took.extend_from_slice(&data[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for End {
    fn poll_room(&mut self, _: &mut Context<'_>) -> Poll<usize> {
        match self.0.lock().room {
            0 => Poll::Pending,
            room => Poll::Ready(room),
        }
    }

    fn poll_peek(&mut self, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Option<Poll<io::Result<()>>> {
        let inner = self.0.lock();
        if inner.says.is_empty() {
            return Some(Poll::Pending);
        }
        let most = inner.says.len().min(buf.remaining());
        buf.put_slice(&inner.says.iter().take(most).copied().collect::<Vec<u8>>());
        Some(Poll::Ready(Ok(())))
    }

    fn take_peeked(&mut self, bytes: usize) {
        self.0.lock().says.drain(..bytes);
    }
}

/// Another end that has no notion of room, as a socket of the kernel, and whose bytes cannot be peeked at.
struct Socket(End);

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Socket {}

/// A socket on one side and a stream of the tunnel on the other, which both have something to say and take 1,000 bytes of it:
/// what is left in each, and the buffers that are out. Then both take the rest.
fn stopped(pool: &Arc<Pool>) -> ([usize; 2], usize) {
    let data: Vec<u8> = (0..SAID).map(|at| (at % 251) as u8).collect();
    let ends = [End::saying(&data), End::saying(&data)];
    let allow = |room| ends.iter().for_each(|end| end.0.lock().room = room);
    let timeouts = Timeouts { idle: Duration::from_secs(60), half_closed: Duration::from_secs(60) };
    let mut relay = Relay::new(Socket(ends[0].clone()), ends[1].clone(), &[], pool, timeouts);
    let counters = [AtomicU64::new(0), AtomicU64::new(0)];
    let moved = Moved { there: &counters[0], back: &counters[1] };
    let mut cx = Context::from_waker(Waker::noop());
    allow(1_000);
    assert!(relay.poll(&mut cx, moved).is_pending());
    let (left, out) = ([ends[0].unsaid(), ends[1].unsaid()], pool.out());
    allow(usize::MAX);
    assert!(relay.poll(&mut cx, moved).is_pending());
    for end in &ends {
        assert!(end.0.lock().took == data, "all arrives, in order");
    }
    assert_eq!(counters.map(AtomicU64::into_inner), [SAID as u64; 2]);
    (left, out)
}

#[tokio::test]
async fn while_there_are_buffers_a_stopped_direction_reads_ahead() {
    let pool = Pool::new(1 << 20);
    assert_eq!(stopped(&pool), ([SAID - (64 << 10); 2], 2));
    assert_eq!(pool.out(), 0);
}

#[tokio::test]
async fn once_half_of_them_are_out_a_stopped_direction_holds_none() {
    let pool = Pool::new(128 << 10);
    let _other = pool.take();
    assert_eq!(stopped(&pool), ([SAID - 1_000; 2], 1));
    assert_eq!(pool.out(), 1);
}
