//! The process confines itself before it hears anything from outside: a defect in what reads packets, TLS, or requests then gives
//! its finder little more than the tunnel.
//!
//! ```text
//! settings read ─► confine: no_new_privs, capabilities, Landlock, seccomp ─► first other thread ─► network
//! ```
//!
//! All four bind the calling thread and the threads that it starts, so they come before the first of these. Rights for the
//! end (removal of an interface, of rules) stay.

mod files;
mod privileges;
mod system_calls;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::OnceLock;

use clap::ValueEnum;
use rustix::process::geteuid;
use rustix::thread::set_no_new_privs;

use super::problem::{Problem, Result};
use super::status::Sandbox;

pub use files::Files;
pub use privileges::Capability;

/// How much the process insists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Demand {
    /// What the kernel offers
    #[default]
    Auto,
    /// Nothing
    Off,
    /// All of it; without it the process does not start
    Require,
}

/// The needs of the process once it is confined.
#[derive(Debug, Clone)]
pub struct Needs {
    /// Capabilities, if it has them now.
    pub capabilities: Vec<Capability>,
    /// Files and folders.
    pub files: Files,
    /// Whether it starts programs of the machine.
    pub programs: bool,
    /// Why there can be no sandbox: it starts programs of the user's choice.
    pub impossible: Option<&'static str>,
    /// Whether threads of this process are outside, because they start the user's program.
    pub beside: bool,
}

static IN_FORCE: OnceLock<Sandbox> = OnceLock::new();

/// The sandbox in force here; `None` before [`confine`].
pub fn in_force() -> Option<Sandbox> {
    IN_FORCE.get().cloned()
}

/// Confines the calling thread, and all that it starts.
///
/// # Errors
/// All of it was required, and a part is not available.
pub fn confine(demand: Demand, needs: &Needs) -> Result<()> {
    let sandbox = match (demand, needs.impossible) {
        (Demand::Off, _) => off("switched off"),
        (Demand::Auto, Some(why)) => off(why),
        (Demand::Require, Some(why)) => {
            return Err(Problem::new(format!("the sandbox is required, but not possible: {why}"))
                .hint("use --sandbox auto, or remove the hooks or the program from the configuration"));
        }
        (Demand::Auto | Demand::Require, None) => enter(needs),
    };
    if demand == Demand::Require && !sandbox.missing.is_empty() {
        return Err(Problem::new(format!("the sandbox is required, but {}", sandbox.missing.join("; and ")))
            .hint("use --sandbox auto for what this kernel offers, or a kernel with Landlock (5.13) and seccomp; a container's seccomp profile may refuse both"));
    }
    tracing::info!("sandbox: {}", sandbox.text());
    _ = IN_FORCE.set(sandbox);
    Ok(())
}

/// Confines the helper of a namespace as far as the kernel offers: it makes sockets there, also those of packets, and nothing else.
pub fn confine_helper() {
    // It is asked only by the process that started it, which reports what is missing.
    _ = privileges::keep(&[Capability::NetAdmin, Capability::NetRaw, Capability::BindService]);
    _ = set_no_new_privs(true);
    _ = files::restrict(&Files::default());
    _ = system_calls::filter(false, true);
}

fn off(why: &str) -> Sandbox {
    Sandbox {
        off: Some(why.to_owned()),
        user: geteuid().as_raw(),
        capabilities: privileges::held(),
        ..Sandbox::default()
    }
}

fn enter(needs: &Needs) -> Sandbox {
    let mut missing = Vec::new();
    // The bounding set needs a capability, so it comes first.
    if let Err(error) = privileges::keep(&needs.kept()) {
        missing.push(format!("capabilities cannot be dropped: {error}"));
    }
    let no_new_privileges = set_no_new_privs(true);
    if let Err(error) = &no_new_privileges {
        missing.push(format!("no_new_privs is refused: {error}"));
    }
    let landlock_abi = files::restrict(&needs.files).unwrap_or_else(|why| {
        missing.push(format!("Landlock is not available: {why}"));
        0
    });
    let filtered = system_calls::filter(needs.programs, false);
    if let Err(why) = &filtered {
        missing.push(format!("seccomp is not available: {why}"));
    }
    Sandbox {
        off: None,
        landlock_abi,
        seccomp: filtered.is_ok(),
        no_new_privileges: no_new_privileges.is_ok(),
        programs: needs.programs,
        beside: needs.beside,
        user: geteuid().as_raw(),
        capabilities: privileges::held(),
        missing,
    }
}

impl Needs {
    /// A process that starts no program.
    #[must_use]
    pub fn new(files: Files) -> Self {
        Self { capabilities: Vec::new(), files, programs: false, impossible: None, beside: false }
    }

    /// The capabilities, with those for files of other users if there are such.
    fn kept(&self) -> Vec<Capability> {
        let mut kept = self.capabilities.clone();
        // Ports are opened later: those of proxies, name servers, TLS, and metrics.
        kept.push(Capability::BindService);
        if self.files.of_others() {
            kept.push(Capability::OverrideFileModes);
        }
        kept
    }
}

/// Tries what this kernel offers: Landlock's ABI, or why there is none, and whether there are seccomp filters. Nothing changes here.
///
/// # Errors
/// The thread to try it in cannot be started.
pub fn offered() -> std::io::Result<(std::result::Result<u32, String>, std::result::Result<(), String>)> {
    let try_out = || {
        let done = set_no_new_privs(true).map_err(|error| error.to_string());
        let landlock = done.clone().and_then(|()| files::restrict(&Files::default()));
        (landlock, done.and_then(|()| system_calls::filter(false, false)))
    };
    // Both bind a thread for its life, so it is one that ends.
    let thread = std::thread::Builder::new().name("sandbox".into()).spawn(try_out)?;
    thread.join().map_err(|_| std::io::ErrorKind::Other.into())
}

/// Adds a hint to the error of an operation that the sandbox may have refused.
#[must_use]
pub fn explain(problem: Problem) -> Problem {
    let confined = in_force().is_some_and(|sandbox| sandbox.off.is_none());
    let refused = ["Permission denied", "permission denied", "Operation not permitted"]
        .iter()
        .any(|words| problem.what().contains(words));
    if !confined || !refused {
        return problem;
    }
    Problem::new(problem.what()).hint(
        "the sandbox permits the files and programs of the start: restart the process if the configuration names others, or \
         check the file's owner and mode",
    )
}

/// The folder of a file, for one that may be replaced by another of its name.
fn folder(file: &std::path::Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
