//! Sending, with a fallback when the kernel refuses an offload.

use std::io;
use std::sync::atomic::Ordering;

use warren_proto::plane::Endpoint;

use super::Udp;
use super::sys::{self, Addressed};

/// Datagrams of one send: the kernel's limit where it is lowest.
pub const MAX_SEGMENTS: usize = 64;
/// Bytes of one send: the longest UDP payload over IPv4, which bounds the buffer the kernel builds.
pub const MAX_BYTES: usize = 65_507;

/// Refusals in a row after which segmentation is taken for broken.
const REFUSALS: u32 = 8;

impl Udp {
    /// Sends one datagram.
    pub fn send_one(&self, to: &Endpoint, bytes: &[u8]) -> io::Result<()> {
        self.send_segments(0, to, bytes, bytes.len(), 0)
    }

    /// Sends `bytes` as datagrams of `segment` bytes, of which the last may be shorter, from the sockets of
    /// `queue`, with the ECN bits `ecn` on the outer header. At most [`MAX_SEGMENTS`] and [`MAX_BYTES`].
    ///
    /// An error means that nothing, or with offloads off not all, was sent. None of them is fatal.
    pub fn send_segments(
        &self,
        queue: usize,
        to: &Endpoint,
        bytes: &[u8],
        segment: usize,
        ecn: u8,
    ) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let fd = self.socket(queue, &to.remote)?;
        let size = u16::try_from(segment).map_err(|_| io::ErrorKind::InvalidInput)?;
        let local = to.local.map(|(ip, _)| ip).filter(|ip| ip.is_ipv4() == to.remote.is_ipv4());
        let mut addressed = Addressed { to: &to.remote, local, ecn };
        if bytes.len() <= segment {
            return attempt(&mut addressed, |addressed| sys::send(fd, addressed, bytes, None)).map(|_| ());
        }
        if self.gso.load(Ordering::Relaxed) {
            match attempt(&mut addressed, |addressed| sys::send(fd, addressed, bytes, Some(size))) {
                Ok(_) => {
                    if self.refused.load(Ordering::Relaxed) != 0 {
                        self.refused.store(0, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                Err(error) => match error.raw_os_error() {
                    // The device cannot fill in the checksums.
                    Some(libc::EIO) => self.give_up(&error),
                    // Longer than the path takes, or this kernel does not cut.
                    Some(libc::EINVAL | libc::EMSGSIZE) => {
                        if self.refused.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS {
                            self.give_up(&error);
                        }
                    }
                    _ => return Err(error),
                },
            }
        }
        let mut outcome = Ok(());
        let mut rest = bytes;
        while !rest.is_empty() {
            let sent = match attempt(&mut addressed, |addressed| sys::send_each(fd, addressed, rest, segment))
            {
                Ok(sent) => sent,
                // One that cannot be sent does not keep the others.
                Err(error) => {
                    outcome = outcome.and(Err(error));
                    1
                }
            };
            rest = rest.get(sent.max(1) * segment..).unwrap_or_default();
        }
        outcome
    }

    fn give_up(&self, error: &io::Error) {
        if self.gso.swap(false, Ordering::Relaxed) {
            tracing::warn!(%error, "UDP segmentation offload does not work on this path: sending datagrams one by one");
        }
    }
}

/// One call, repeated without a local address that is no more, and after an error that an earlier datagram left.
fn attempt<'a>(
    addressed: &mut Addressed<'a>,
    call: impl Fn(Addressed<'a>) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut again = 2;
    loop {
        match call(*addressed) {
            Ok(sent) => return Ok(sent),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // Told of an earlier datagram by ICMP; this one has not been tried.
                Some(libc::ECONNREFUSED | libc::EHOSTUNREACH) if again > 0 => again -= 1,
                Some(libc::EINVAL | libc::ENETUNREACH | libc::EADDRNOTAVAIL) if addressed.local.is_some() => {
                    addressed.local = None;
                }
                _ => return Err(error),
            },
        }
    }
}
