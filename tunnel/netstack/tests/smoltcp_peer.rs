//! The sockets of smoltcp as the peer, in virtual time and over a path with faults: every byte arrives both ways, and both ends
//! close in order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../benches/smoltcp/wire.rs"]
mod wire;

use std::time::Duration;

use smoltcp::iface::{self, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{self, CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use warren_netstack::{Batch, CloseReason, Congestion, Event, Listen, Stack, State};
use warren_netstack_sim::{End, Link, MS, PORT, Pattern, Pipe, Rng, SEC, Script, Watch, addresses, config};
use wire::{Wire, instant};

const MTU: usize = 1_420;
/// Worlds in each direction of the first segment.
const SEEDS: u64 = 150;
/// The port of smoltcp when it connects.
const EPHEMERAL: u16 = 49_152;
/// Keys of what this stack sends, and of what smoltcp sends.
const OURS: u64 = 11;
const THEIRS: u64 = 22;

/// A host with one socket of smoltcp.
struct Theirs {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    stream: SocketHandle,
    script: Script,
    /// Bytes that this stack sends.
    awaited: u64,
    sent: u64,
    received: u64,
    next_read: u64,
    eof: bool,
}

impl Theirs {
    /// Connects to the other host, or listens.
    fn new(rng: &mut Rng, script: Script, connects: bool, v6: bool) -> Self {
        let mut config = iface::Config::new(HardwareAddress::Ip);
        config.random_seed = rng.draw();
        let mut wire = Wire::default();
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|all| {
            for (address, prefix) in addresses(1).into_iter().zip([24, 64]) {
                all.push(IpCidr::new(address.into(), prefix)).unwrap();
            }
        });
        let buffer = rng.pick(&[4_096, 65_535, 300_000]);
        let buffers = [(); 2].map(|()| SocketBuffer::new(vec![0; buffer]));
        let [inbound, outbound] = buffers;
        let mut socket = Socket::new(inbound, outbound);
        let controllers = [CongestionControl::Cubic, CongestionControl::Reno, CongestionControl::None];
        socket.set_congestion_control(rng.pick(&controllers));
        socket.set_nagle_enabled(rng.chance(0.5));
        if connects {
            let to = (addresses(0)[usize::from(v6)], PORT);
            socket.connect(interface.context(), to, EPHEMERAL).unwrap();
        } else {
            socket.listen(PORT).unwrap();
        }
        let mut sockets = SocketSet::new(Vec::new());
        let stream = sockets.add(socket);
        Self {
            interface,
            wire,
            sockets,
            stream,
            script,
            awaited: 0,
            sent: 0,
            received: 0,
            next_read: 0,
            eof: false,
        }
    }

    /// Lets the application read and write, and sends what is due.
    fn step(&mut self, now: u64, pattern: &Pattern, mut send: impl FnMut(&[u8])) {
        loop {
            self.interface.poll(instant(now), &mut self.wire, &mut self.sockets);
            let moved = self.read(now, pattern) + self.write(pattern);
            let leaving = std::mem::take(&mut self.wire.leaving);
            leaving.iter().for_each(|packet| send(packet));
            if moved == 0 && leaving.is_empty() {
                break;
            }
        }
    }

    fn read(&mut self, now: u64, pattern: &Pattern) -> usize {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.stream);
        if now < self.next_read && socket.can_recv() {
            return 0;
        }
        let (position, most) = (self.received, self.script.read);
        let read = socket.recv(|data| {
            let length = data.len().min(most);
            assert_eq!(&data[..length], pattern.at(OURS, position, length), "bytes at {position}");
            (length, length)
        });
        match read {
            Ok(0) | Err(tcp::RecvError::InvalidState) => return 0,
            Ok(length) => self.received += length as u64,
            Err(tcp::RecvError::Finished) => {
                let news = !std::mem::replace(&mut self.eof, true);
                return usize::from(news);
            }
        }
        if self.script.read_every > 0 {
            self.next_read = now + self.script.read_every;
        }
        1
    }

    fn write(&mut self, pattern: &Pattern) -> usize {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.stream);
        if !socket.may_send() || (self.script.after_eof && !self.eof) {
            return 0;
        }
        let left = self.script.total - self.sent;
        let want = left.min(self.script.write as u64) as usize;
        let taken = socket.send_slice(pattern.at(THEIRS, self.sent, want)).unwrap();
        self.sent += taken as u64;
        if self.sent == self.script.total {
            socket.close();
        }
        taken
    }

    /// When it is to be called again, if no packet arrives before.
    fn next(&mut self, now: u64) -> Option<u64> {
        let timer = self.interface.poll_at(instant(now), &self.sockets);
        // Its clock has microseconds: not before the next one.
        let timer = timer.map(|at| (at.total_micros() as u64 * 1_000).max(now + 1_000));
        let unread = self.sockets.get::<Socket<'_>>(self.stream).can_recv() && self.next_read > now;
        timer.into_iter().chain(unread.then_some(self.next_read)).min()
    }

    fn state(&self) -> tcp::State {
        self.sockets.get::<Socket<'_>>(self.stream).state()
    }

    /// Everything has arrived and both directions are closed.
    fn done(&self) -> bool {
        self.eof
            && self.received == self.awaited
            && matches!(self.state(), tcp::State::Closed | tcp::State::TimeWait)
    }
}

/// What a world counted.
#[derive(Default)]
struct Counted {
    dropped: u64,
    retransmitted: u64,
}

/// One seed: random scripts, buffers, controllers and faults.
fn run(seed: u64, we_connect: bool) -> Counted {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(we_connect)));
    let link = |rng: &mut Rng| {
        let rate = rng.pick(&[0, 10_000_000, 100_000_000, 1_000_000_000]);
        let mut link = Link::clean(rate, rng.pick(&[MS / 10, 5 * MS, 40 * MS]));
        let mut odds =
            |most: f64| if rng.chance(0.3) { 0.0 } else { most * rng.below(1_000) as f64 / 1_000.0 };
        (link.loss, link.reorder, link.duplicate, link.corrupt) =
            (odds(0.03), odds(0.1), odds(0.03), odds(0.02));
        link.jitter = rng.pick(&[MS, 20 * MS]);
        link
    };
    let script = |rng: &mut Rng| {
        let mut script = Script::bulk(rng.pick(&[0, 1, 3_000, 100_000, 200_000]));
        script.write = rng.pick(&[100, 1_000, 65_536]);
        if rng.chance(0.3) {
            (script.read, script.read_every) = (rng.pick(&[2_000, 10_000]), rng.pick(&[MS, 20 * MS]));
        }
        script
    };
    let mut pipes = [Pipe::new(link(&mut rng)), Pipe::new(link(&mut rng))];
    let mut scripts = [script(&mut rng), script(&mut rng)];
    if rng.chance(0.3) {
        scripts[rng.below(2) as usize].after_eof = true;
    }
    let v6 = rng.chance(0.4);
    let mut ours = config(0, seed);
    ours.mtu = MTU;
    ours.max_window = rng.pick(&[4 << 10, 64 << 10, 32 << 20]);
    ours.congestion = rng.pick(&Congestion::ALL);
    ours.user_timeout = Duration::from_secs(3_600);
    ours.connect_timeout = Duration::from_secs(3_600);
    let mut stack = Stack::new(ours);
    let [script, other] = scripts;
    let (total, mut theirs) = (script.total, Theirs::new(&mut rng, other, !we_connect, v6));
    theirs.awaited = total;
    let mut end = End::new(script, OURS, THEIRS);
    if we_connect {
        end.id = Some(stack.connect(Duration::ZERO, (addresses(1)[usize::from(v6)], PORT).into()).unwrap());
    } else {
        stack.listen(Listen::port(PORT)).unwrap();
    }
    let (pattern, mut watch, mut batch) = (Pattern::default(), Watch::default(), Batch::new(MTU));
    let mut now = 0;
    let seen = |now: u64, end: &End, theirs: &Theirs, stack: &Stack| {
        format!(
            "seed {seed}, we connect {we_connect}, {} ms: we received {} of {}, smoltcp {} of {total} and is {}; {:?}",
            now / MS,
            end.received,
            theirs.script.total,
            theirs.received,
            theirs.state(),
            end.id.and_then(|id| stack.info(id)),
        )
    };
    while !(end.done() && theirs.done()) {
        let [out, back] = &mut pipes;
        let time = Duration::from_nanos(now);
        out.deliver(now, |packet| theirs.wire.arrived.push_back(packet.to_vec()));
        back.deliver(now, |packet| {
            watch.arrive(now, packet);
            stack.input(time, packet);
        });
        theirs.step(now, &pattern, |packet| {
            watch.note(packet);
            _ = back.push(now, &mut rng, packet);
        });
        // Twice: what it does may be news for itself.
        for _ in 0..2 {
            while let Some(event) = stack.poll_event() {
                match event {
                    Event::Acceptable(listener) => {
                        end.id = stack.accept(listener);
                        end.can_read = true;
                    }
                    Event::Readable(_) => end.can_read = true,
                    Event::Writable(_) => end.can_write = true,
                    Event::Closed(_, reason) => {
                        end.closed = Some(reason);
                        end.can_read = true;
                    }
                    _ => {}
                }
            }
            end.step(now, &mut stack, &pattern);
            loop {
                batch.clear();
                stack.poll(time, &mut batch);
                for packet in batch.iter() {
                    watch.check(now, packet);
                    _ = out.push(now, &mut rng, packet);
                }
                if !batch.is_full() {
                    break;
                }
            }
        }
        let timers = [stack.next_timeout().map(|at| at.as_nanos() as u64), theirs.next(now), end.wake(now)];
        let arrivals = [out.next(), back.next()];
        let Some(next) = timers.into_iter().chain(arrivals).flatten().min() else { break };
        now = next.max(now + 1);
        assert!(now < 1_000 * SEC, "{}", seen(now, &end, &theirs, &stack));
    }
    let seen = seen(now, &end, &theirs, &stack);
    assert!(end.done() && theirs.done(), "nothing more will happen: {seen}");
    assert_eq!((end.received, theirs.received), (theirs.script.total, total), "{seen}");
    assert_eq!(end.closed, Some(CloseReason::Finished), "{seen}");
    let id = end.id.unwrap();
    assert!(matches!(stack.state(id), State::Closed | State::TimeWait), "{seen}");
    Counted {
        dropped: pipes.iter().map(Pipe::dropped).sum(),
        retransmitted: stack.info(id).map_or(0, |info| info.retransmitted),
    }
}

/// All seeds of a direction. The faults must have happened, and this stack must have repaired some.
fn all(we_connect: bool) {
    let mut sum = Counted::default();
    for seed in 0..SEEDS {
        let counted = run(seed, we_connect);
        sum.dropped += counted.dropped;
        sum.retransmitted += counted.retransmitted;
    }
    assert!(
        sum.dropped > 200 && sum.retransmitted > 200,
        "{} lost, {} again",
        sum.dropped,
        sum.retransmitted
    );
}

#[test]
fn this_stack_connects_to_smoltcp() {
    all(true);
}

#[test]
fn smoltcp_connects_to_this_stack() {
    all(false);
}
