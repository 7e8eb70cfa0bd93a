//! What a direction holds while its reader has stopped.

use std::collections::VecDeque;
use std::task::Waker;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use super::*;

/// Bytes that each end says.
const SAID: usize = 100_000;

/// An end that takes as much as it has room for.
#[derive(Clone)]
struct End {
    inner: Arc<Mutex<Inner>>,
    /// It cannot report its room, and its bytes cannot be peeked at: a socket of the kernel.
    socket: bool,
}

#[derive(Default)]
struct Inner {
    says: VecDeque<u8>,
    took: Vec<u8>,
    room: usize,
}

impl End {
    fn saying(bytes: &[u8], socket: bool) -> Self {
        let inner = Inner { says: bytes.iter().copied().collect(), ..Inner::default() };
        Self { inner: Arc::new(Mutex::new(inner)), socket }
    }

    fn unsaid(&self) -> usize {
        self.inner.lock().says.len()
    }

    fn copy(&self, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let inner = self.inner.lock();
        if inner.says.is_empty() {
            return Poll::Pending;
        }
        let most = inner.says.len().min(buf.remaining());
        buf.put_slice(&inner.says.iter().take(most).copied().collect::<Vec<u8>>());
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let Poll::Ready(read) = self.copy(buf) else { return Poll::Pending };
        self.take_peeked(buf.filled().len() - before);
        Poll::Ready(read)
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.inner.lock();
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
        match self.inner.lock().room {
            _ if self.socket => Poll::Ready(usize::MAX),
            0 => Poll::Pending,
            room => Poll::Ready(room),
        }
    }

    fn poll_peek(&mut self, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Option<Poll<io::Result<()>>> {
        (!self.socket).then(|| self.copy(buf))
    }

    fn take_peeked(&mut self, bytes: usize) {
        self.inner.lock().says.drain(..bytes);
    }
}

/// A socket on one side and a stream of the tunnel on the other, which both have something to say and take 1,000 bytes of it:
/// what is left in each, and the buffers that are out. Then both take the rest.
fn stopped(pool: &Arc<Pool>) -> ([usize; 2], usize) {
    let data: Vec<u8> = (0..SAID).map(|at| (at % 251) as u8).collect();
    let ends = [true, false].map(|socket| End::saying(&data, socket));
    let allow = |room| ends.iter().for_each(|end| end.inner.lock().room = room);
    let timeouts = Timeouts { idle: Duration::from_secs(60), half_closed: Duration::from_secs(60) };
    let mut relay = Relay::new(ends[0].clone(), ends[1].clone(), &[], pool, timeouts);
    let counters = [AtomicU64::new(0), AtomicU64::new(0)];
    let moved = Moved { there: &counters[0], back: &counters[1] };
    let mut cx = Context::from_waker(Waker::noop());
    allow(1_000);
    assert!(relay.poll(&mut cx, moved).is_pending());
    let (left, out) = ([ends[0].unsaid(), ends[1].unsaid()], pool.out());
    allow(usize::MAX);
    assert!(relay.poll(&mut cx, moved).is_pending());
    for end in &ends {
        assert!(end.inner.lock().took == data, "all arrives, in order");
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
