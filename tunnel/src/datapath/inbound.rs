//! From the network to the device.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_device::tun::vnet::GSO_UDP_L4;
use warren_device::tun::{Queue, coalesce::Coalescer};
use warren_proto::plane::DropReason;
use warren_proto::transport::{DATA_HEADER, TAG};
use warren_transport::udp::{Receiver, Wake};

use super::Shared;
use super::moderation::{Moderation, PAUSE};
use super::open::Opener;

/// Receives until told to stop.
pub(super) fn run(shared: &Shared, queue: usize) -> io::Result<()> {
    let Some(tun) = shared.tun.get(queue).or(shared.tun.first()) else { return Ok(()) };
    let Some(counters) = shared.inbound.get(queue) else { return Ok(()) };
    let mut receiver = Receiver::new(Arc::clone(&shared.udp), queue);
    let mut opener = Opener::new(shared);
    let mut inbound =
        Inbound { shared, tun, coalescer: Coalescer::new(tun.offload().joins()), frames: 0, packets: 0 };
    let mut complained = false;
    let mut moderation = Moderation::default();
    while !shared.stopping() {
        match receiver.receive(shared.stop.as_fd()) {
            Ok(Wake::Datagrams) => {}
            Ok(Wake::Stop) => break,
            // Nothing was asked for that they tell of.
            Ok(Wake::Called | Wake::Timeout) => continue,
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    tracing::warn!(%error, "receiving failed; trying on");
                }
                if shared.rest(Duration::from_millis(10)) {
                    break;
                }
                continue;
            }
        }
        let now = shared.clock.mono();
        let (buffer, found) = receiver.parts();
        let items = found.len();
        for datagram in found {
            for place in datagram.places() {
                if let Some(packet) = opener.open(now, buffer, place, &datagram.from, datagram.ecn) {
                    inbound.packet(buffer, packet);
                }
            }
        }
        inbound.write(buffer);
        opener.finish(now);
        counters.frames.store(inbound.frames, Ordering::Relaxed);
        counters.packets.store(inbound.packets, Ordering::Relaxed);
        counters.calls.fetch_add(1, Ordering::Relaxed);
        if moderation.pause(now, items) && shared.rest(PAUSE) {
            break;
        }
    }
    Ok(())
}

struct Inbound<'a> {
    shared: &'a Shared,
    tun: &'a Queue,
    coalescer: Coalescer,
    frames: u64,
    packets: u64,
}

impl Inbound<'_> {
    /// A packet that was opened goes to the device with those of its kind.
    #[inline]
    fn packet(&mut self, buffer: &mut [u8], place: Range<usize>) {
        if self.coalescer.is_full() {
            self.write(buffer);
        }
        self.coalescer.push(buffer, place);
    }

    fn write(&mut self, buffer: &mut [u8]) {
        let Self { coalescer, tun, shared, frames, packets, .. } = self;
        let mut refused = None;
        coalescer.flush(buffer, |pieces, count| match tun.write(pieces) {
            Ok(()) => {
                *frames += 1;
                *packets += count as u64;
            }
            Err(error) => {
                if count > 1 && error.kind() == io::ErrorKind::InvalidInput {
                    refused = pieces.first().and_then(|header| header.get(1).copied());
                }
                shared.plane.drops().count(DropReason::Device, count as u64);
            }
        });
        if let Some(kind) = refused {
            self.stop_joining(kind);
        }
    }

    /// Some kernels refuse frames that they say they take. Who sent the packets sends them again.
    #[cold]
    fn stop_joining(&mut self, kind: u8) {
        let mut joins = self.coalescer.joins();
        let what = if kind == GSO_UDP_L4 { &mut joins.udp } else { &mut joins.tcp };
        if std::mem::take(what) {
            let protocol = if kind == GSO_UDP_L4 { "UDP" } else { "TCP" };
            tracing::warn!(protocol, "the device refuses joined packets: writing them one by one");
        }
        self.coalescer.set_joins(joins);
    }
}

const _: () = assert!(DATA_HEADER >= warren_device::tun::vnet::VNET_HEADER && TAG == 16);
