//! The child program: forwards signals to it and waits for its end.
//!
//! It stays in our process group, so a terminal's Ctrl-C, Ctrl-\ and Ctrl-Z reach it directly. Signals from a terminal are
//! therefore not forwarded; signals from other processes are.

use std::{
    ffi::OsString,
    io::ErrorKind,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::siginfo::Cause,
};

use crate::runtime::problem::{Context, Problem, Result};

/// Signals that are forwarded to the program.
const PASSED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

enum Notice {
    Signal { number: i32, by_terminal: bool },
    Ended,
}

/// Signals received by this process.
pub(super) struct Signals {
    notices: Mutex<Receiver<Notice>>,
    sender: Sender<Notice>,
}

impl Signals {
    /// Starts to receive signals.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn listen() -> Result<Self> {
        let mut signals =
            SignalsInfo::<WithOrigin>::new(PASSED).while_doing(|| "cannot handle signals".into())?;
        let (sender, notices) = mpsc::channel();
        let signals_to = sender.clone();
        thread::Builder::new()
            .name("signals".into())
            .stack_size(128 << 10)
            .spawn(move || {
                for origin in signals.forever() {
                    let by_terminal = matches!(origin.cause, Cause::Kernel);
                    if signals_to.send(Notice::Signal { number: origin.signal, by_terminal }).is_err() {
                        return;
                    }
                }
            })
            .while_doing(|| "cannot start the signal thread".into())?;
        Ok(Self { notices: Mutex::new(notices), sender })
    }

    /// The next terminating signal within a time.
    pub(super) fn next(&self, within: Duration) -> Option<i32> {
        match self.notices.lock().recv_timeout(within) {
            Ok(Notice::Signal { number: number @ (SIGINT | SIGQUIT | SIGTERM | SIGHUP), .. }) => Some(number),
            Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// Runs the program to its end and returns its exit code as a shell would.
///
/// # Errors
/// When no thread can be started. A program that cannot be run is logged and returns exit code 126 or 127.
pub(super) fn run(command: &[OsString], environment: Vec<(String, String)>, signals: &Signals) -> Result<u8> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Problem::new("no command given").hint("run `warren-tunnel exec -- COMMAND`"));
    };
    let mut command = Command::new(program);
    // The program does not inherit the secrets of the tunnel, whoever has set them.
    command.args(arguments).env_remove("WARREN_TOKEN").env_remove("WARREN_PRIVATE_KEY").envs(environment);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            tracing::error!("cannot run {}: {error}", program.display());
            return Ok(if error.kind() == ErrorKind::NotFound { 127 } else { 126 });
        }
    };
    let pid = Pid::from_child(&child);
    let ended = signals.sender.clone();
    thread::Builder::new()
        .name("child".into())
        .stack_size(128 << 10)
        .spawn(move || {
            // The child is not reaped here, so its process ID cannot be reused while signals are forwarded to it.
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            _ = ended.send(Notice::Ended);
        })
        .while_doing(|| "cannot start the thread that waits for the command".into())?;
    loop {
        match signals.notices.lock().recv() {
            Ok(Notice::Signal { by_terminal: true, .. }) => {}
            Ok(Notice::Signal { number, .. }) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    _ = kill_process(pid, signal);
                }
            }
            Ok(Notice::Ended) | Err(_) => {
                let status = child.wait().while_doing(|| format!("{}", program.display()))?;
                return Ok(code(status));
            }
        }
    }
}

/// The exit code as reported by a shell.
fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => code_of(signal),
        (None, None) => u8::MAX,
    }
}

/// The exit code of a process that was ended by a signal.
pub(super) fn code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_a_shells() {
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(SIGTERM)), 143);
    }
}
