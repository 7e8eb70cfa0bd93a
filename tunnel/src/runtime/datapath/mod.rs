//! Packets between the device and the carriers.
//!
//! Each queue of a TUN device has two blocking threads and nothing between them. `warren-out-N` reads frames, splits them and
//! seals the packets in the buffer they are sent from. `warren-in-N` opens datagrams in the buffer they were received in,
//! coalesces them and writes them to the device; `warren-in-tls` does the same for all TLS connections. No packet passes
//! from thread to thread, and no lock is taken per packet; shared state is read through [`warren_proto::plane::Reader`].
//! After a few packets, a receiving thread also sends what the kernel answered to them: requests and responses then cost one
//! wake-up less.
//!
//! The netstack of this process has one thread, `warren-user`, because received packets produce the packets to send.
//!
//! Messages other than data go to the control thread through a bounded channel: a flood of handshakes overflows that channel
//! and does not affect data.

mod batch;
mod clock;
mod control;
mod inbound;
mod open;
mod outbound;
mod target;
#[cfg(test)]
mod tests;
mod unreachable;
mod user;
mod wakeups;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use warren_device::{
    tun::Queue,
    user::{Driver, Net},
};
use warren_proto::plane::{Peer, Plane, StreamId};
use warren_transport::tls::Streams;
use warren_transport::udp::Udp;

use batch::Batch;
pub use clock::Clock;
pub use control::{Control, ControlReceiver, ControlSender, control_channel};
use outbound::Outbound;

/// The threads keep their buffers on the heap.
const STACK: usize = 256 << 10;

/// The device: source and destination of inner packets.
pub enum Device {
    /// A TUN interface. With several queues, several pairs of sockets share the receive work.
    Tun(Vec<Queue>),
    /// The netstack of this process.
    User(Box<Driver>),
}

/// The parts of a data path.
pub struct DatapathConfig {
    /// Routes and sessions.
    pub plane: Arc<Plane>,
    /// The device.
    pub device: Device,
    /// The sockets.
    pub udp: Arc<Udp>,
    /// The TLS connections.
    pub streams: Arc<Streams>,
    /// The queue for handshakes.
    pub control: ControlSender,
    /// The clock, shared with the engine.
    pub clock: Clock,
    /// MTU of the device: packets are not padded beyond it.
    pub mtu: usize,
}

/// Counters of a data path since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatapathStats {
    /// Frames read from the device.
    pub frames_in: u64,
    /// Frames written to the device.
    pub frames_out: u64,
    /// Packets sealed and sent.
    pub packets_sent: u64,
    /// Packets opened and written.
    pub packets_received: u64,
    /// System calls that sent datagrams.
    pub sends: u64,
    /// System calls that received datagrams.
    pub receives: u64,
    /// Control messages dropped because the control thread was overloaded.
    pub control_dropped: u64,
    /// Threads that ended unexpectedly because the device was removed.
    pub failed_threads: u64,
}

/// Counters of one thread, or of whoever holds the sending half of a queue; nobody else writes them.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Counters {
    frames: AtomicU64,
    packets: AtomicU64,
    calls: AtomicU64,
}

/// The shared state of all threads.
struct Shared {
    plane: Arc<Plane>,
    tun: Vec<Queue>,
    /// The netstack while its thread is not running.
    user: Mutex<Option<Box<Driver>>>,
    net: Option<Net>,
    udp: Arc<Udp>,
    streams: Arc<Streams>,
    control: ControlSender,
    clock: Clock,
    mtu: AtomicUsize,
    stop: OwnedFd,
    stopping: AtomicBool,
    failed: AtomicU64,
    /// The sending halves of the queues.
    halves: Vec<Mutex<Outbound>>,
    outbound: Vec<Counters>,
    inbound: Vec<Counters>,
}

/// A running data path. Stops when dropped.
pub struct Datapath {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Datapath {
    /// Starts the threads. TUN: one outbound thread per queue of the device, one inbound thread per pair of sockets, and one for
    /// all connections. Netstack: a single thread.
    pub fn start(config: DatapathConfig) -> io::Result<Self> {
        let DatapathConfig { plane, device, udp, streams, control, clock, mtu } = config;
        let (tun, user) = match device {
            Device::Tun(queues) => (queues, None),
            Device::User(driver) => (Vec::new(), Some(driver)),
        };
        let netstack = user.is_some();
        let outbound = tun.len().max(1);
        let sockets = udp.queues();
        let inbound = if netstack { 1 } else { sockets + 1 };
        let counters = |count: usize| (0..count).map(|_| Counters::default()).collect();
        let halves = (0..tun.len()).map(|queue| Outbound::new(queue, &plane)).collect();
        let shared = Arc::new(Shared {
            plane,
            halves,
            tun,
            net: user.as_ref().map(|driver| driver.net()),
            user: Mutex::new(user),
            udp,
            streams,
            control,
            clock,
            mtu: AtomicUsize::new(mtu),
            stop: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stopping: AtomicBool::new(false),
            failed: AtomicU64::new(0),
            outbound: counters(outbound),
            inbound: counters(inbound),
        });
        // Dropped on an error, it stops the threads that were started.
        let mut datapath = Self { shared, threads: Vec::new() };
        if netstack {
            datapath.spawn("warren-user".into(), user::run)?;
            return Ok(datapath);
        }
        for queue in 0..outbound {
            datapath.spawn(format!("warren-out-{queue}"), move |shared| outbound::run(shared, queue))?;
        }
        for queue in 0..sockets {
            datapath.spawn(format!("warren-in-{queue}"), move |shared| inbound::run(shared, queue))?;
        }
        datapath.spawn("warren-in-tls".into(), move |shared| inbound::run_tls(shared, sockets))?;
        Ok(datapath)
    }

    fn spawn(
        &mut self,
        name: String,
        run: impl FnOnce(&Shared) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let body = move || {
            // Permits pauses of a few microseconds; without it, they are slightly longer.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
            let failed = Failed(&shared);
            match run(&shared) {
                Err(error) if !shared.stopping.load(Ordering::Relaxed) => {
                    tracing::error!(%error, "a data path thread has ended; the interface may have been removed");
                }
                _ => std::mem::forget(failed),
            }
        };
        self.threads.push(std::thread::Builder::new().name(name).stack_size(STACK).spawn(body)?);
        Ok(())
    }

    /// Sends the packets that waited for a session of `peer`.
    pub fn flush(&self, peer: &Arc<Peer>) {
        let staged = peer.take_staged();
        if staged.is_empty() {
            return;
        }
        let mut batch = Batch::new(0);
        let now = self.shared.clock.mono();
        for packet in staged {
            batch.packet(&self.shared, peer, now, &packet);
        }
        batch.send(&self.shared, now);
    }

    /// Call this when a session was established: streams of the netstack that an outage slowed down then resume at once.
    pub fn established(&self) {
        if let Some(net) = &self.shared.net {
            net.nudge();
        }
    }

    /// Call this when the device's MTU changes.
    pub fn set_mtu(&self, mtu: usize) {
        self.shared.mtu.store(mtu, Ordering::Relaxed);
    }

    /// Counters so far.
    pub fn stats(&self) -> DatapathStats {
        let shared = &self.shared;
        let sum = |side: &[Counters], of: fn(&Counters) -> &AtomicU64| {
            side.iter().map(|counters| of(counters).load(Ordering::Relaxed)).sum()
        };
        DatapathStats {
            frames_in: sum(&shared.outbound, |c| &c.frames),
            frames_out: sum(&shared.inbound, |c| &c.frames),
            packets_sent: sum(&shared.outbound, |c| &c.packets),
            packets_received: sum(&shared.inbound, |c| &c.packets),
            sends: sum(&shared.outbound, |c| &c.calls),
            receives: sum(&shared.inbound, |c| &c.calls),
            control_dropped: shared.control.dropped(),
            failed_threads: shared.failed.load(Ordering::Relaxed),
        }
    }

    /// Stops and joins the threads, and returns the device; `None` if it is still in use.
    pub fn stop(mut self) -> Option<Device> {
        self.halt();
        let shared = Arc::clone(&self.shared);
        drop(self);
        let shared = Arc::into_inner(shared)?;
        match shared.user.into_inner() {
            Some(driver) => Some(Device::User(driver)),
            None if shared.tun.is_empty() => None,
            None => Some(Device::Tun(shared.tun)),
        }
    }

    fn halt(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Never read, so that it stays readable for every waiting thread.
        let _ = rustix::io::write(&self.shared.stop, &1u64.to_ne_bytes());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Counts a thread that ends by an error or a panic.
struct Failed<'a>(&'a Shared);

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        self.0.failed.fetch_add(1, Ordering::Relaxed);
        self.0.control.wake();
    }
}

impl Drop for Datapath {
    fn drop(&mut self) {
        self.halt();
    }
}

impl Shared {
    /// Records that an authentic message arrived on a connection.
    fn prove(&self, id: StreamId) {
        if let Some(stream) = self.streams.get(id) {
            stream.prove();
        }
    }

    /// Checked once per batch, since a busy thread never waits for `stop`.
    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Pauses a thread. True if it must stop.
    fn rest(&self, time: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut fds = [PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN)];
        let pause = rustix::time::Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        let _ = poll(&mut fds, Some(&pause));
        self.stopping()
    }
}
