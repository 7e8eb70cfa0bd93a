//! From the network to the device.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_device::tun::vnet::GSO_UDP_L4;
use warren_device::tun::{Queue, coalesce::Coalescer};
use warren_proto::plane::{DropReason, Endpoint};
use warren_proto::transport::{DATA_HEADER, TAG};
use warren_transport::tls;
use warren_transport::udp::{Receiver, Wake};

use super::open::Opener;
use super::outbound;
use super::wakeups::{CALM, PAUSE, WakeupCoalescer};
use super::{Counters, Shared};

/// Packets after which a receiving thread sends the kernel's answers itself.
const FEW: u64 = 4;

/// Receives from a pair of sockets until stopped.
pub(super) fn run(shared: &Shared, queue: usize) -> io::Result<()> {
    let mut receiver = Receiver::new(Arc::clone(&shared.udp), queue);
    let mut complaint = Complaint::default();
    let mut coalescer = WakeupCoalescer::default();
    let Some(mut inbound) = Inbound::new(shared, queue) else { return Ok(()) };
    while !shared.stopping() {
        match receiver.receive(shared.stop.as_fd()) {
            Ok(Wake::Datagrams) => {}
            Ok(Wake::Stop) => break,
            // Control messages that were not requested.
            Ok(Wake::Called | Wake::Timeout) => continue,
            Err(error) if complaint.ends(shared, &error) => break,
            Err(_) => continue,
        }
        let now = shared.clock.mono();
        let (buffer, found) = receiver.parts();
        let items = found.len();
        for datagram in found {
            for place in datagram.places() {
                inbound.datagram(now, buffer, place, &datagram.from, datagram.ecn);
            }
        }
        inbound.finish(now, buffer);
        inbound.answer(now);
        if coalescer.pause(now, items) && shared.rest(PAUSE) {
            break;
        }
    }
    Ok(())
}

/// Receives from all TLS connections until stopped. TCP gathers data itself, so no coalescing of wake-ups is needed.
pub(super) fn run_tls(shared: &Shared, counters: usize) -> io::Result<()> {
    let mut receiver = tls::Receiver::new(Arc::clone(&shared.streams), shared.stop.as_fd())?;
    let mut complaint = Complaint::default();
    let Some(mut inbound) = Inbound::new(shared, counters) else { return Ok(()) };
    while !shared.stopping() {
        match receiver.receive() {
            Ok(Wake::Datagrams) => {}
            Ok(Wake::Stop) => break,
            Ok(Wake::Called | Wake::Timeout) => continue,
            Err(error) if complaint.ends(shared, &error) => break,
            Err(_) => continue,
        }
        let now = shared.clock.mono();
        let (buffer, found) = receiver.parts();
        for arrival in found {
            // TCP has no congestion marks per packet, so the outer header counts as not ECN-capable.
            inbound.datagram(now, buffer, arrival.place.clone(), &arrival.from, 0);
        }
        inbound.finish(now, buffer);
        inbound.answer(now);
    }
    Ok(())
}

/// Logs a receive error once, and retries after a pause.
#[derive(Default)]
struct Complaint(bool);

impl Complaint {
    /// True if the thread must stop.
    fn ends(&mut self, shared: &Shared, error: &io::Error) -> bool {
        if !std::mem::replace(&mut self.0, true) {
            tracing::warn!(%error, "receive failed, retrying");
        }
        shared.rest(Duration::from_millis(10))
    }
}

struct Inbound<'a> {
    shared: &'a Shared,
    opener: Opener<'a>,
    counters: &'a Counters,
    /// The queue that is written to.
    queue: usize,
    tun: &'a Queue,
    coalescer: Coalescer,
    frames: u64,
    packets: u64,
    /// Packets written before this batch.
    before: u64,
    /// The last time that a batch had many packets.
    many: Duration,
}

impl<'a> Inbound<'a> {
    /// For the thread with counter slot `number`.
    fn new(shared: &'a Shared, number: usize) -> Option<Self> {
        let queue = if number < shared.tun.len() { number } else { 0 };
        let tun = shared.tun.get(queue)?;
        Some(Self {
            shared,
            queue,
            opener: Opener::new(shared),
            counters: shared.inbound.get(number)?,
            tun,
            coalescer: Coalescer::new(tun.offload().joins()),
            frames: 0,
            packets: 0,
            before: 0,
            many: Duration::ZERO,
        })
    }

    /// Sends the kernel's answers to a batch of a few packets.
    fn answer(&mut self, now: Duration) {
        let written = self.packets - std::mem::replace(&mut self.before, self.packets);
        if written > FEW {
            self.many = now;
        } else if written > 0 && now.saturating_sub(self.many) > CALM {
            outbound::answer(self.shared, self.queue, now);
        }
    }

    /// Adds the packet of a datagram to the frame of similar packets for the device.
    #[inline]
    fn datagram(&mut self, now: Duration, buffer: &mut [u8], place: Range<usize>, from: &Endpoint, ecn: u8) {
        if let Some(packet) = self.opener.open(now, buffer, place, from, ecn) {
            if self.coalescer.is_full() {
                self.opener.settle(now);
                self.write(buffer);
            }
            self.coalescer.push(buffer, packet);
        }
    }

    /// Ends a batch. It is reported before it is written: the kernel answers within the write, and an answer that another thread
    /// sends meanwhile must not count as already answered by this batch.
    fn finish(&mut self, now: Duration, buffer: &mut [u8]) {
        self.opener.finish(now);
        self.write(buffer);
        self.counters.frames.store(self.frames, Ordering::Relaxed);
        self.counters.packets.store(self.packets, Ordering::Relaxed);
        self.counters.calls.fetch_add(1, Ordering::Relaxed);
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

    /// Handles kernels that refuse frames although they announced support. The senders retransmit the packets.
    #[cold]
    fn stop_joining(&mut self, kind: u8) {
        let mut joins = self.coalescer.joins();
        let what = if kind == GSO_UDP_L4 { &mut joins.udp } else { &mut joins.tcp };
        if std::mem::take(what) {
            let protocol = if kind == GSO_UDP_L4 { "UDP" } else { "TCP" };
            tracing::warn!(protocol, "the device refuses coalesced packets, writing them one by one");
        }
        self.coalescer.set_joins(joins);
    }
}

const _: () = assert!(DATA_HEADER >= warren_device::tun::vnet::VNET_HEADER && TAG == 16);
