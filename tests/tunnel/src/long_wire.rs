//! A wire that delays and loses packets: what a relay of datagrams cannot do to TCP, which ends at a relay.

use std::io::IoSlice;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context as _, Result};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use warren_device::tun::vnet::VNET_HEADER;
use warren_device::tun::{FRAME, Queue, Read, Tun};

use crate::relay::{Line, TICK};
use crate::{Impairment, Namespace};

/// The header of Ethernet, which real wires have.
const ETHERNET: usize = 14;
/// Packets that the kernel keeps while the wire's thread does not run.
const QUEUE: u32 = 10_000;
/// Packets of one end before the other end has its turn.
const TURN: usize = 256;

/// TUN devices called `wire` on two hosts, and a thread that carries packets between them. Without offloads, so that packets are
/// as long as on a real wire. The wire is cut when dropped.
#[derive(Debug)]
pub struct LongWire {
    stop: OwnedFd,
    thread: Option<JoinHandle<Result<()>>>,
}

impl LongWire {
    /// Joins two hosts that have no wire yet.
    ///
    /// # Errors
    /// There are no TUN devices.
    pub fn join(hosts: &[Arc<Namespace>; 2], impairment: Impairment) -> Result<LongWire> {
        let mut ends = Vec::new();
        for host in hosts {
            ends.extend(host.inside(|| Ok(Tun::new("wire").offload(false).create()?))?);
            host.ip(&format!("link set wire mtu 1500 txqueuelen {QUEUE} up"))?;
        }
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let told = stop.try_clone()?;
        let thread = std::thread::spawn(move || carry(&ends, impairment, &told));
        Ok(LongWire { stop, thread: Some(thread) })
    }
}

impl Drop for LongWire {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry(ends: &[Queue], impairment: Impairment, stop: &OwnedFd) -> Result<()> {
    let origin = Instant::now();
    let mut lines = Line::pair(impairment);
    let mut buffer = vec![0; FRAME];
    loop {
        let due = lines.iter().filter_map(Line::due).min();
        let wait = due.map(|at| at.saturating_sub(origin.elapsed()).max(TICK));
        let wait = wait.map(|wait| Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() });
        let mut fds: Vec<PollFd<'_>> =
            ends.iter().map(|end| PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)).collect();
        fds.push(PollFd::new(stop, PollFlags::IN));
        poll(&mut fds, wait.as_ref()).context("long wire")?;
        if fds.last().is_some_and(|stop| !stop.revents().is_empty()) {
            return Ok(());
        }
        for (from, line) in ends.iter().zip(&mut lines) {
            let now = origin.elapsed();
            for _ in 0..TURN {
                let Read::Frame(length) = from.read(&mut buffer)? else { break };
                line.take(now, &buffer[..length], ETHERNET.saturating_sub(VNET_HEADER));
            }
        }
        let now = origin.elapsed();
        for (to, line) in ends.iter().rev().zip(&mut lines) {
            while let Some(packet) = line.arrived(now) {
                // A device that is down loses packets, as wires do.
                let _ = to.write(&[IoSlice::new(&packet)]);
            }
        }
    }
}
