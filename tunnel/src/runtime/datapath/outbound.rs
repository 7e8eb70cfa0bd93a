//! From the device to the network.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_device::tun::{FRAME, Read, split};
use warren_proto::plane::{DropReason, Reader};

use super::Shared;
use super::batch::{Batch, Reached};
use super::unreachable::Unreachable;
use super::wakeups::{PAUSE, WakeupCoalescer};

/// Frames between two checks of the clock and the stop flag while the device is never empty.
const FRAMES: u32 = 16;
/// Frames that are still sent when the thread ends.
const LAST: u32 = 1024;

/// Reads frames until stopped. A batch is sent when the device has no more to read, so joining packets
/// costs no latency.
pub(super) fn run(shared: &Shared, queue: usize) -> io::Result<()> {
    let Some(tun) = shared.tun.get(queue) else { return Ok(()) };
    let Some(counters) = shared.outbound.get(queue) else { return Ok(()) };
    let mut reader = shared.plane.reader();
    let mut batch = Batch::new(queue);
    let mut unreachable = Unreachable::new();
    let mut buffer = vec![0; FRAME];
    let mut coalescer = WakeupCoalescer::default();
    while !shared.stopping() {
        let now = shared.clock.mono();
        let mut frames = 0;
        let mut empty = false;
        while frames < FRAMES {
            match tun.read(&mut buffer)? {
                Read::Frame(length) => {
                    frames += 1;
                    let frame = &buffer[..length];
                    one(shared, queue, &mut reader, &mut batch, &mut unreachable, now, frame);
                }
                Read::Empty => {
                    empty = true;
                    break;
                }
            }
        }
        if empty {
            batch.end(shared, now);
        }
        counters.frames.fetch_add(u64::from(frames), Ordering::Relaxed);
        counters.packets.store(batch.packets, Ordering::Relaxed);
        counters.calls.store(batch.sends, Ordering::Relaxed);
        if empty {
            if coalescer.pause(now, frames as usize) {
                if shared.rest(PAUSE) {
                    break;
                }
                continue;
            }
            reader.release();
            if !tun.wait(shared.stop.as_fd())? {
                break;
            }
        }
    }
    // The last packets of the streams.
    let now = shared.clock.mono();
    for _ in 0..LAST {
        let Read::Frame(length) = tun.read(&mut buffer)? else { break };
        one(shared, queue, &mut reader, &mut batch, &mut unreachable, now, &buffer[..length]);
    }
    batch.end(shared, now);
    Ok(())
}

#[inline]
fn one(
    shared: &Shared,
    queue: usize,
    reader: &mut Reader,
    batch: &mut Batch,
    unreachable: &mut Unreachable,
    now: Duration,
    frame: &[u8],
) {
    let frame = match split::parse(frame) {
        Ok(frame) => frame,
        Err(_) => return shared.plane.drops().count(DropReason::Malformed, 1),
    };
    let reached = match reader.route_packet(now, || frame.source(), frame.destination(), frame.packet()) {
        Some(peer) => batch.frame(shared, peer, now, &frame),
        None => {
            shared.plane.drops().count(DropReason::NoRoute, frame.segments() as u64);
            Reached::No
        }
    };
    if reached == Reached::No
        && let (Some(answer), Some(tun)) = (unreachable.answer(now, frame.packet()), shared.tun.get(queue))
    {
        // The packet is lost anyway, so the ICMP error may be lost too.
        let _ = tun.write(&[io::IoSlice::new(answer)]);
    }
}
