//! Moves packets between the network and the netstack of this process, in one thread, since received packets trigger sent ones.
//!
//! ```text
//! receive many -> open in place -> stack -> contiguous packets -> seal in place -> one segmented send per run
//! ```

use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_device::tun::{ip, vnet::VNET_HEADER};
use warren_device::user::{Driver, HEADROOM, Place, TAILROOM, Turn};
use warren_proto::plane::{DropReason, Reader, Wakeup};
use warren_proto::transport::{DATA_HEADER, TAG};
use warren_transport::tls;
use warren_transport::udp::{MAX_BYTES, MAX_SEGMENTS, Receiver, Wake};

use super::Shared;
use super::open::Opener;
use super::target::{Key, Target};
use super::unreachable::Unreachable;

/// Packets that are opened before the stack processes them, few enough to stay in the processor's cache.
const GROUP: usize = 64;
/// Batches from TLS connections between two checks of the sockets.
const MAX_TURNS: u32 = 4;

/// Moves packets until stopped, then puts the device back.
pub(super) fn run(shared: &Shared) -> io::Result<()> {
    let Some(mut driver) = shared.user.lock().take() else { return Ok(()) };
    let result = drive(shared, &mut driver);
    *shared.user.lock() = Some(driver);
    result
}

fn drive(shared: &Shared, driver: &mut Driver) -> io::Result<()> {
    let (Some(counters_in), Some(counters_out)) = (shared.inbound.first(), shared.outbound.first()) else {
        return Ok(());
    };
    let mut receiver = Receiver::new(Arc::clone(&shared.udp), 0);
    let mut connections = tls::Receiver::new(Arc::clone(&shared.streams), shared.stop.as_fd())?;
    let mut opener = Opener::new(shared);
    let mut sender = Sender::new(shared);
    let mut packets: Vec<Range<usize>> = Vec::with_capacity(2 * GROUP);
    let mut timeout = Some(Duration::ZERO);
    let mut complained = false;
    while !shared.stopping() {
        let calls = [Some(driver.wake_fd()), Some(connections.readable().as_fd())];
        let limit = [timeout, connections.due()].into_iter().flatten().min();
        match receiver.receive_until(shared.stop.as_fd(), calls, limit) {
            Ok(Wake::Datagrams | Wake::Timeout) => {}
            Ok(Wake::Called) => driver.acknowledge(),
            Ok(Wake::Stop) => break,
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    tracing::warn!(%error, "receive failed, retrying");
                }
                if shared.rest(Duration::from_millis(10)) {
                    break;
                }
            }
        }
        let now = shared.clock.mono();
        let (buffer, found) = receiver.parts();
        for datagram in found {
            for place in datagram.places() {
                packets.extend(opener.open(now, buffer, place, &datagram.from, datagram.ecn));
            }
            if packets.len() >= GROUP {
                opener.settle(now);
                counters_in.packets.fetch_add(packets.len() as u64, Ordering::Relaxed);
                sender.turn(driver, now, packets.drain(..).map(|place| &buffer[place]));
            }
        }
        // Received packets are reported before those that the stack sends in response. Otherwise an unanswered acknowledgement
        // would count as answered by the packet that it acknowledges, and a lost path would stay unnoticed.
        opener.settle(now);
        counters_in.packets.fetch_add(packets.len() as u64, Ordering::Relaxed);
        timeout = sender.turn(driver, now, packets.drain(..).map(|place| &buffer[place]));
        // Limited, so that the sockets are served too.
        for turn in 0..=MAX_TURNS {
            if !connections.receive_now()? {
                break;
            }
            let (buffer, found) = connections.parts();
            for arrival in found {
                packets.extend(opener.open(now, buffer, arrival.place.clone(), &arrival.from, 0));
            }
            opener.settle(now);
            counters_in.packets.fetch_add(packets.len() as u64, Ordering::Relaxed);
            timeout = sender.turn(driver, now, packets.drain(..).map(|place| &buffer[place]));
            if turn == MAX_TURNS {
                timeout = Some(Duration::ZERO);
            }
        }
        opener.finish(now);
        sender.finish();
        counters_in.calls.fetch_add(1, Ordering::Relaxed);
        counters_out.packets.store(sender.packets, Ordering::Relaxed);
        counters_out.calls.store(sender.sends, Ordering::Relaxed);
    }
    // The last packets of the streams.
    sender.turn(driver, shared.clock.mono(), []);
    sender.finish();
    Ok(())
}

/// Seals and sends the packets of the stack.
struct Sender<'a> {
    shared: &'a Shared,
    reader: Reader,
    target: Option<Target>,
    unreachable: Unreachable,
    /// ICMP errors for packets that could not be sent, for the stack.
    answers: Vec<Vec<u8>>,
    wakeup: Wakeup,
    packets: u64,
    sends: u64,
}

impl<'a> Sender<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            reader: shared.plane.reader(),
            target: None,
            unreachable: Unreachable::new(),
            answers: Vec::new(),
            wakeup: Wakeup::NONE,
            packets: 0,
            sends: 0,
        }
    }

    /// Passes packets to the stack and sends all that it returns. Returns the time until the stack needs to be polled again.
    fn turn<'p>(
        &mut self,
        driver: &mut Driver,
        now: Duration,
        packets: impl IntoIterator<Item = &'p [u8]>,
    ) -> Option<Duration> {
        let mut turn = driver.turn(packets);
        loop {
            let (arena, places) = driver.batch().parts();
            self.send(now, arena, places);
            let answers = std::mem::take(&mut self.answers);
            turn = match turn {
                Turn::Wait(timeout) if answers.is_empty() => return timeout,
                _ => driver.turn(answers.iter().map(Vec::as_slice)),
            };
        }
    }

    fn send(&mut self, now: Duration, arena: &mut [u8], mut places: &[Place]) {
        while let Some(first) = places.first() {
            let count = run_length(places.iter().map(|place| (place.frame().len(), &arena[place.packet()])));
            let count = self.on_one_path(now, arena, &places[..count]);
            let (run, rest) = places.split_at(count);
            self.run(now, arena, first, run);
            places = rest;
        }
    }

    /// The number of packets, from the first one, that take the same path to their destination.
    fn on_one_path(&self, now: Duration, arena: &[u8], run: &[Place]) -> usize {
        let direct = |place: &Place| {
            let packet = &arena[place.packet()];
            ip::destination(packet).is_some_and(|to| self.reader.takes_direct_path(now, to, packet))
        };
        let Some((first, rest)) = run.split_first() else { return 0 };
        if rest.is_empty() || !self.reader.has_direct_paths() {
            return run.len();
        }
        let first = direct(first);
        1 + rest.iter().take_while(|place| direct(place) == first).count()
    }

    /// Packets for one destination, of equal size except for the last, with the same ECN bits.
    fn run(&mut self, now: Duration, arena: &mut [u8], first: &Place, run: &[Place]) {
        let count = run.len() as u64;
        let packet = &arena[first.packet()];
        let ecn = ip::ecn(packet);
        let peer = ip::destination(packet)
            .and_then(|to| self.reader.route_packet(now, || ip::source(packet), to, packet));
        let Some(peer) = peer else {
            self.shared.plane.drops().count(DropReason::NoRoute, count);
            return self.answer(now, &arena[first.packet()]);
        };
        let target = match &mut self.target {
            Some(target) if target.is(peer) => target,
            other => other.insert(Target::new(peer)),
        };
        match target.reserve(now, run.len()) {
            Key::Nowhere => {
                target.peer.drops().count(DropReason::NoEndpoint, count);
                self.answer(now, &arena[first.packet()]);
            }
            Key::Missing => {
                for place in run {
                    self.wakeup |= target.peer.stage(&arena[place.packet()]);
                }
            }
            Key::Ready(key, first) => {
                let (mut counters, mut rest) = (first.., run);
                while let Some(first) = rest.first() {
                    let flow = target.flow(&arena[first.packet()]);
                    let same = |place: &&Place| flow.is_none() || target.flow(&arena[place.packet()]) == flow;
                    let (one, others) = rest.split_at(rest.iter().take_while(same).count().max(1));
                    for (place, counter) in one.iter().zip(&mut counters) {
                        key.seal(counter, &mut arena[place.frame()]);
                    }
                    let end = one.last().unwrap_or(first).frame().end;
                    let bytes = &arena[first.frame().start..end];
                    let segment = first.frame().len();
                    if let Some(wakeup) = target.send(self.shared, 0, now, bytes, segment, ecn, flow) {
                        self.wakeup |= wakeup;
                        self.sends += 1;
                        self.packets += one.len() as u64;
                    }
                    rest = others;
                }
            }
        }
    }

    #[cold]
    fn answer(&mut self, now: Duration, packet: &[u8]) {
        let answer = self.unreachable.answer(now, packet);
        self.answers.extend(answer.map(|frame| frame[VNET_HEADER..].to_vec()));
    }

    /// Ends a batch: a sleeping thread must not keep peer and key alive.
    fn finish(&mut self) {
        self.target = None;
        self.reader.release();
        self.shared.control.attend(std::mem::take(&mut self.wakeup));
    }
}

/// The number of packets, from the first one, that one call can send: of one destination, one size except for the last, and one ECN
/// mark, which all their outer headers have. Each comes with the length of its frame.
fn run_length<'a>(mut packets: impl Iterator<Item = (usize, &'a [u8])>) -> usize {
    let Some((size, first)) = packets.next() else { return 0 };
    let (to, ecn) = (ip::destination(first), ip::ecn(first));
    let most = MAX_SEGMENTS.min(MAX_BYTES / size);
    let mut count = 1;
    for (length, packet) in packets.take(most.saturating_sub(1)) {
        if length > size || ip::destination(packet) != to || ip::ecn(packet) != ecn {
            break;
        }
        count += 1;
        if length < size {
            break;
        }
    }
    count
}

const _: () = assert!(HEADROOM == DATA_HEADER && TAILROOM == TAG);

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet to this host with these ECN bits.
    fn packet(host: u8, ecn: u8) -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[..2].copy_from_slice(&[0x45, ecn]);
        packet[16..20].copy_from_slice(&[10, 0, 0, host]);
        packet
    }

    #[test]
    fn a_run_has_one_destination_one_size_and_one_mark() {
        let run =
            |all: &[(usize, Vec<u8>)]| run_length(all.iter().map(|(size, packet)| (*size, &packet[..])));
        let same = || (80, packet(1, 2));
        assert_eq!(run(&[]), 0);
        assert_eq!(run(&[same(), same(), same()]), 3);
        assert_eq!(run(&[same(), (64, packet(1, 2)), (64, packet(1, 2))]), 2);
        assert_eq!(run(&[same(), (96, packet(1, 2))]), 1);
        assert_eq!(run(&[same(), same(), (80, packet(2, 2))]), 2);
        // A retransmission takes no marks.
        assert_eq!(run(&[same(), same(), (80, packet(1, 0)), same()]), 2);
        assert_eq!(run(&vec![same(); 2 * MAX_SEGMENTS]), MAX_SEGMENTS);
    }
}
