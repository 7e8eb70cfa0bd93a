//! Runs as process 1 of a container: the kernel makes it the parent of orphans, and ignores signals without a handler.

use std::{
    env,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus},
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use signal_hook::{
    consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::siginfo::Cause,
};

use super::child::code_of;
use crate::runtime::{
    host::environment,
    problem::{Context, Problem, Result},
};

/// Runs this program again with the same arguments, forwards signals, reaps orphans, and returns the exit code.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run() -> Result<u8> {
    let mut signals =
        SignalsInfo::<WithOrigin>::new([SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])
            .while_doing(|| "cannot handle signals".into())?;
    let program = env::current_exe().while_doing(|| "cannot find the path of this program".into())?;
    let child = Command::new(&program)
        .args(env::args_os().skip(1))
        // It takes them out of its own environment.
        .envs(environment::all())
        .spawn()
        .while_doing(|| program.display().to_string())?;
    let pid = Pid::from_child(&child);
    for origin in signals.forever() {
        if origin.signal == SIGCHLD {
            if let Some(code) = take_in(pid) {
                return Ok(code);
            }
        } else if let Some(signal) = Signal::from_named_raw(origin.signal)
            // A signal from a terminal reaches the whole process group.
            && !matches!(origin.cause, Cause::Kernel)
        {
            _ = kill_process(pid, signal);
        }
    }
    Err(Problem::new("signal handling has ended unexpectedly"))
}

/// Reaps all ended processes and returns the exit code of `ours` if it is among them.
fn take_in(ours: Pid) -> Option<u8> {
    let mut code = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == ours {
            let status = ExitStatus::from_raw(status.as_raw());
            code = Some(match status.signal() {
                Some(signal) => code_of(signal),
                None => u8::try_from(status.code().unwrap_or(1)).unwrap_or(u8::MAX),
            });
        }
    }
    code
}
