//! Kill points: end the client's process at an exact call.

use std::fmt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::call::Call;
use super::peer;

/// On which side of the emulator's work a kill happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The emulator never sees the call.
    Before,
    /// The emulator has handled the call, the client never gets the answer.
    After,
}

/// Ends a process by SIGKILL exactly before or after the emulator handles a call: the n-th from now, the n-th that
/// changes something, or the first for which a condition holds.
///
/// After it has fired, calls on connections that were open by then are cut unseen: a dead process makes no calls.
/// A new process makes new connections and is served.
pub struct KillSwitch {
    due: Due,
    phase: Phase,
    target: Target,
}

/// The call at which a switch fires; numbers count from 1.
enum Due {
    Call(usize),
    Write(usize),
    First(Box<dyn FnMut() -> bool + Send>),
}

enum Target {
    Caller,
    Pid(u32),
    Callback(Box<dyn FnOnce(&Call) + Send>),
}

impl KillSwitch {
    /// Kills the process that makes the call, whichever that is: the owner of the client's socket.
    /// `call` counts from 1.
    pub fn caller(call: usize, phase: Phase) -> Self {
        Self { due: Due::Call(call), phase, target: Target::Caller }
    }

    /// Kills the process that makes the n-th call that changes something.
    pub fn writer(write: usize, phase: Phase) -> Self {
        Self { due: Due::Write(write), phase, target: Target::Caller }
    }

    /// Kills the process that makes the first call at whose arrival `condition` holds, before the call.
    /// The condition is asked at every call, and must not block.
    pub fn once(condition: impl FnMut() -> bool + Send + 'static) -> Self {
        Self { due: Due::First(Box::new(condition)), phase: Phase::Before, target: Target::Caller }
    }

    /// Kills the process with this id.
    pub fn pid(call: usize, phase: Phase, pid: u32) -> Self {
        Self { due: Due::Call(call), phase, target: Target::Pid(pid) }
    }

    /// Runs this instead, on a thread that may block, such as one that calls [`crate::Killer::kill`].
    pub fn run(call: usize, phase: Phase, callback: impl FnOnce(&Call) + Send + 'static) -> Self {
        Self { due: Due::Call(call), phase, target: Target::Callback(Box::new(callback)) }
    }

    /// Does it, and returns once the process is dead. `ports` are those of the connection: the client's and ours.
    /// False: there was nobody to kill.
    pub(super) fn fire(self, call: &Call, ports: (u16, u16)) -> bool {
        match self.target {
            Target::Callback(callback) => callback(call),
            Target::Pid(pid) => kill(pid),
            Target::Caller => match peer::process_at(ports.0, ports.1) {
                Some(pid) => kill(pid),
                None => return false,
            },
        }
        true
    }
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KillSwitch").field("phase", &self.phase).finish_non_exhaustive()
    }
}

/// SIGKILL, then a wait for the end: the proxy must not go on while the process could still act.
fn kill(pid: u32) {
    // A failure means that it is gone already.
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).output();
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_alive(pid) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Zombies are dead: the state is the first field after the command's closing parenthesis.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| !rest.starts_with(['Z', 'X'])))
        .unwrap_or(false)
}

/// The number of a call since the switch was armed: among all calls, and among those that change something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    all: usize,
    writes: usize,
}

/// The armed kill point and what became of it.
#[derive(Debug, Default)]
pub(super) struct Kills {
    armed: Option<KillSwitch>,
    seen: Number,
    fired: Option<Call>,
    /// Connections older than this belong to a killed process.
    pub(super) cut_before: u64,
}

impl Kills {
    pub(super) fn arm(&mut self, switch: KillSwitch) {
        *self = Self { armed: Some(switch), cut_before: self.cut_before, ..Self::default() };
    }

    /// Takes back that the switch has fired.
    pub(super) fn spared(&mut self) {
        self.fired = None;
    }

    pub(super) fn disarm(&mut self) -> Option<Call> {
        self.armed = None;
        self.fired.take()
    }

    pub(super) fn tripped(&self) -> Option<Call> {
        self.fired.clone()
    }

    /// Counts a call and says which number it has since the switch was armed.
    pub(super) fn count(&mut self, call: &Call) -> Number {
        self.seen.all += 1;
        self.seen.writes += usize::from(!call.is_read());
        self.seen
    }

    /// Takes the switch if it is due at this number and phase.
    pub(super) fn due(&mut self, number: Number, phase: Phase, call: &Call) -> Option<KillSwitch> {
        let due = self.armed.as_mut().is_some_and(|switch| {
            switch.phase == phase
                && match &mut switch.due {
                    Due::Call(nth) => *nth == number.all,
                    Due::Write(nth) => !call.is_read() && *nth == number.writes,
                    Due::First(condition) => condition(),
                }
        });
        due.then(|| self.fired = Some(call.clone())).and_then(|()| self.armed.take())
    }
}
