//! A connection, as any runtime's tasks see it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use warren_netstack::{RecvError, Stack, StreamId};

use super::error::{down, ended};
use super::shared::{Shared, Side};

/// Bytes of one call: what is copied under the device's lock.
const TURN: usize = 128 << 10;

/// A connection through the tunnel.
///
/// [`AsyncWrite::poll_shutdown`] ends the sending direction (FIN) and leaves the other open. Dropping the stream after that
/// lets the connection end in order; dropping it before resets it. Neither direction holds memory while nothing is
/// under way.
pub struct Stream {
    shared: Arc<Shared>,
    id: StreamId,
    local: SocketAddr,
    remote: SocketAddr,
    shut: bool,
}

impl Stream {
    pub(super) fn new(shared: Arc<Shared>, id: StreamId, local: SocketAddr, remote: SocketAddr) -> Self {
        Self { shared, id, local, remote, shut: false }
    }

    /// This end, inside the tunnel.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The other end.
    pub fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Waits until [`AsyncRead::poll_read`] has something: data, the end, or an error. A task that waits here needs no
    /// buffer meanwhile.
    pub fn poll_readable(&self, context: &Context<'_>) -> Poll<()> {
        self.shared.with(|state, _| {
            let pending = !state.closed
                && state.stack.readable(self.id) == 0
                && matches!(state.stack.recv(self.id, &mut []), Err(RecvError::WouldBlock));
            if pending {
                state.wait(self.id, Side::Read, context);
                return Poll::Pending;
            }
            Poll::Ready(())
        })
    }

    /// As [`AsyncRead::poll_read`], but leaves what was read in the stream until [`Self::take_peeked`].
    ///
    /// # Errors
    /// As those of [`AsyncRead::poll_read`].
    pub fn poll_peek(&self, context: &Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_receive(context, out, Stack::peek)
    }

    /// Takes out the first bytes of what [`Self::poll_peek`] has read.
    pub fn take_peeked(&self, bytes: usize) {
        let mut left = bytes;
        let taken = self.shared.with(|state, _| {
            state.stack.recv_with(self.id, |slice| {
                let length = slice.len().min(left);
                left -= length;
                length
            })
        });
        debug_assert!(taken.is_err() || left == 0, "{left} bytes that were not peeked at");
    }

    fn poll_receive(
        &self,
        context: &Context<'_>,
        out: &mut ReadBuf<'_>,
        receive: impl FnOnce(&mut Stack, StreamId, &mut [u8]) -> Result<usize, RecvError>,
    ) -> Poll<io::Result<()>> {
        let most = out.remaining().min(TURN);
        if most == 0 {
            return Poll::Ready(Ok(()));
        }
        let room = out.initialize_unfilled_to(most);
        let read = self.shared.with(|state, _| match receive(&mut state.stack, self.id, room) {
            _ if state.closed => Poll::Ready(Err(down())),
            Ok(read) => Poll::Ready(Ok(read)),
            Err(RecvError::Closed(reason)) => Poll::Ready(Err(ended(reason))),
            Err(RecvError::WouldBlock) => {
                state.wait(self.id, Side::Read, context);
                Poll::Pending
            }
        });
        out.advance(ready!(read)?);
        Poll::Ready(Ok(()))
    }

    /// How many bytes [`AsyncWrite::poll_write`] would take; waits until it is more than none. An ended stream says `1`:
    /// writing then tells why.
    pub fn poll_room(&self, context: &Context<'_>) -> Poll<usize> {
        self.shared.with(|state, now| {
            if state.closed || state.stack.reason(self.id).is_some() {
                return Poll::Ready(1);
            }
            match state.stack.send_room(self.id) {
                0 => {
                    // Asking in vain makes the stack tell when there is room.
                    state.stack.send(now, self.id, &[0]);
                    state.wait(self.id, Side::Write, context);
                    Poll::Pending
                }
                room => Poll::Ready(room),
            }
        })
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_receive(context, out, Stack::recv)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.shut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.shared.with(|state, now| {
            if state.closed {
                return Poll::Ready(Err(down()));
            }
            match state.stack.send(now, self.id, &data[..data.len().min(TURN)]) {
                0 => match state.stack.reason(self.id) {
                    Some(reason) => Poll::Ready(Err(ended(reason))),
                    None => {
                        state.wait(self.id, Side::Write, context);
                        Poll::Pending
                    }
                },
                taken => Poll::Ready(Ok(taken)),
            }
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.shut, true) {
            self.shared.with(|state, now| state.stack.shutdown(now, self.id));
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.with(|state, now| {
            state.forget(self.id);
            if self.shut {
                state.stack.close(now, self.id);
            } else {
                state.stack.abort(now, self.id);
            }
        });
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("local", &self.local).field("remote", &self.remote).finish()
    }
}
