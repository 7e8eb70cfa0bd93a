//! From the device to the network.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use warren_device::tun::{FRAME, Queue, Read, split};
use warren_proto::plane::{DropReason, Plane, Reader};

use super::batch::{Batch, Reached};
use super::unreachable::Unreachable;
use super::wakeups::{CALM, PAUSE, WakeupCoalescer};
use super::{Counters, Shared};

/// Frames between two checks of the clock and the stop flag while the device is never empty.
const FRAMES: u32 = 16;
/// Frames that are still sent when the thread ends.
const LAST: u32 = 1024;
/// Frames that a receiving thread sends after it wrote to the device.
const ANSWERS: u32 = 4;
/// Bytes of a frame that belongs to a transfer: the sending thread is busy anyway, and is not to wait for another one.
const LONG: usize = 4096;

/// The sending half of a queue. Whoever holds it reads frames and sends them, so the packets of a flow stay in order.
pub(super) struct Outbound {
    queue: usize,
    reader: Reader,
    batch: Batch,
    unreachable: Unreachable,
    buffer: Vec<u8>,
    /// The last time that there was a long frame.
    long: Duration,
}

/// What was read from the device.
#[derive(Clone, Copy)]
struct Drained {
    frames: u32,
    /// There is no more.
    empty: bool,
}

impl Outbound {
    pub(super) fn new(queue: usize, plane: &Arc<Plane>) -> Mutex<Self> {
        Mutex::new(Self {
            queue,
            reader: plane.reader(),
            batch: Batch::new(queue),
            unreachable: Unreachable::new(),
            buffer: vec![0; FRAME],
            long: Duration::ZERO,
        })
    }

    /// Sends up to `most` frames of `tun`. The batch is sent when the device has no more to read, so joining packets costs no
    /// latency.
    fn drain(&mut self, shared: &Shared, tun: &Queue, now: Duration, most: u32) -> io::Result<Drained> {
        let mut drained = Drained { frames: 0, empty: false };
        while drained.frames < most {
            let Read::Frame(length) = tun.read(&mut self.buffer)? else {
                drained.empty = true;
                break;
            };
            drained.frames += 1;
            if length >= LONG {
                self.long = now;
            }
            self.frame(shared, tun, now, length);
        }
        if drained.empty {
            self.end(shared, now);
        }
        if let Some(Counters { frames, packets, calls }) = shared.outbound.get(self.queue) {
            frames.fetch_add(drained.frames.into(), Ordering::Relaxed);
            packets.store(self.batch.packets, Ordering::Relaxed);
            calls.store(self.batch.sends, Ordering::Relaxed);
        }
        Ok(drained)
    }

    /// Sends what is left, and holds nothing that a sleeping thread must not keep alive.
    fn end(&mut self, shared: &Shared, now: Duration) {
        self.batch.end(shared, now);
        self.reader.release();
    }

    #[inline]
    fn frame(&mut self, shared: &Shared, tun: &Queue, now: Duration, length: usize) {
        let Ok(frame) = split::parse(&self.buffer[..length]) else {
            return shared.plane.drops().count(DropReason::Malformed, 1);
        };
        let peer = self.reader.route_packet(now, || frame.source(), frame.destination(), frame.packet());
        let reached = match peer {
            Some(peer) => self.batch.frame(shared, peer, now, &frame),
            None => {
                shared.plane.drops().count(DropReason::NoRoute, frame.segments() as u64);
                Reached::No
            }
        };
        if reached == Reached::No
            && let Some(answer) = self.unreachable.answer(now, frame.packet())
        {
            // The packet is lost anyway, so the ICMP error may be lost too.
            let _ = tun.write(&[io::IoSlice::new(answer)]);
        }
    }
}

/// Reads frames until stopped.
pub(super) fn run(shared: &Shared, queue: usize) -> io::Result<()> {
    let (Some(tun), Some(half)) = (shared.tun.get(queue), shared.halves.get(queue)) else { return Ok(()) };
    let mut coalescer = WakeupCoalescer::default();
    while !shared.stopping() {
        let now = shared.clock.mono();
        let drained = half.lock().drain(shared, tun, now, FRAMES)?;
        if !drained.empty {
            continue;
        }
        if coalescer.pause(now, drained.frames as usize) {
            if shared.rest(PAUSE) {
                break;
            }
        } else if !tun.wait(shared.stop.as_fd())? {
            break;
        }
    }
    // The last packets of the streams.
    let (mut half, now) = (half.lock(), shared.clock.mono());
    half.drain(shared, tun, now, LAST)?;
    half.end(shared, now);
    Ok(())
}

/// Sends what the kernel has answered while a receiving thread wrote a few packets to the device. The sending thread would have to
/// wake up first.
pub(super) fn answer(shared: &Shared, queue: usize, now: Duration) {
    let (Some(tun), Some(half)) = (shared.tun.get(queue), shared.halves.get(queue)) else { return };
    // Whoever has it sends the answers, too.
    let Some(mut half) = half.try_lock() else { return };
    // The sending thread reports an error that lasts.
    if now.saturating_sub(half.long) > CALM
        && half.drain(shared, tun, now, ANSWERS).is_ok_and(|drained| !drained.empty)
    {
        half.end(shared, now);
    }
}
