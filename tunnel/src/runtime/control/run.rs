//! The loop of the control thread.

use std::{thread::JoinHandle, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use warren_proto::{Now, engine::Output};

use super::{
    BATCH, Command, Handle,
    state::{Control, Parts, now},
};
use crate::runtime::{
    datapath::Control as Message,
    problem::{Context, Result},
};

/// The name of the data path where it is reported as dead.
pub const DATAPATH: &str = "data path";
/// That of the standard library.
const STACK: usize = 2 << 20;

/// The running control thread.
pub struct Thread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Starts the control thread.
///
/// # Errors
/// When no thread can be started.
pub fn start(parts: Parts, handle: Handle) -> Result<Thread> {
    let thread = parts
        .supervisor
        .clone()
        .thread("control", STACK, {
            let handle = handle.clone();
            move || Control::new(parts, handle).run()
        })
        .while_doing(|| "cannot start the control thread".into())?;
    Ok(Thread { handle, thread: Some(thread) })
}

impl Drop for Thread {
    /// Ends the thread, and the data path with it.
    fn drop(&mut self) {
        self.handle.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Control {
    fn run(mut self) {
        let mut busy = true;
        while !self.stop {
            let timeout = if busy { Some(Duration::ZERO) } else { self.until_timer() };
            let (commanded, received) = self.wait(timeout);
            if commanded {
                self.commands.acknowledge();
            }
            while let Some(command) = self.commands.next() {
                self.command(command);
                self.outputs();
            }
            if received {
                self.datapath.acknowledge();
            }
            busy = self.events();
            let now = now();
            self.note_overrun(now);
            if self.datapath.failed() > 0
                && let Some(supervisor) = self.supervisor.take()
            {
                supervisor.died(DATAPATH);
            }
            if self.engine.poll_timeout().is_some_and(|due| due <= now.mono) {
                self.engine.handle_timeout(now);
                self.outputs();
            }
            self.choose(now);
            self.direct_paths(now);
        }
        self.datapath.stop();
    }

    /// Runs the carrier choice of peers with two carriers.
    fn choose(&mut self, now: Now) {
        self.carriers.closed(now);
        if self.carriers.poll_timeout().is_some_and(|due| due <= now.mono) {
            let wanted = self.carriers.poll(&mut self.engine, now);
            self.outputs();
            wanted.lookups.into_iter().for_each(|id| self.look_up(id));
        }
    }

    /// Counts dropped messages as load: the engine then requires cookies.
    fn note_overrun(&mut self, now: Now) {
        let overrun = self.datapath.overrun();
        let more = overrun.saturating_sub(self.overrun);
        if more > 0 {
            self.overrun = overrun;
            self.engine.note_dropped(now, u32::try_from(more).unwrap_or(u32::MAX));
        }
    }

    fn until_timer(&self) -> Option<Duration> {
        let due = [self.engine.poll_timeout(), self.carriers.poll_timeout(), self.direct.poll_timeout()]
            .into_iter()
            .flatten()
            .min();
        due.map(|due| due.saturating_sub(now().mono))
    }

    /// Sleeps until a command, an event or a timer.
    fn wait(&self, timeout: Option<Duration>) -> (bool, bool) {
        let datapath = self.datapath.readable();
        let mut fds =
            [PollFd::new(&*self.commands.wake, PollFlags::IN), PollFd::new(&datapath, PollFlags::IN)];
        let timeout = timeout.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => (!fds[0].revents().is_empty(), !fds[1].revents().is_empty()),
            // Interrupted by a signal: check everything.
            Err(_) => (true, true),
        }
    }

    /// Handles at most one batch of events of the data path. True if there may be more.
    fn events(&mut self) -> bool {
        for _ in 0..BATCH {
            let Some(message) = self.datapath.next() else { return false };
            match message {
                Message::Datagram { from, mut bytes } => self.engine.handle(now(), from, &mut bytes),
                Message::Wakeup => self.engine.serve_wakeups(now()),
            }
            self.outputs();
        }
        true
    }

    pub(super) fn outputs(&mut self) {
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::Transmit { to, peer, bytes } => self.transmit(&to, peer, &bytes),
                Output::Flush(id) => {
                    if let Some(peer) = self.engine.plane().peer(id) {
                        self.datapath.flush(&peer);
                    }
                }
                Output::Established(id) => {
                    self.datapath.established();
                    self.established(id);
                }
                Output::Arrived(id) => {
                    self.arrived.extend(self.engine.plane().peer(id).map(|peer| *peer.public_key()));
                }
                Output::Expired(id) => self.expired(id),
            }
        }
    }
}
