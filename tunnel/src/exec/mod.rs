//! `exec`: a tunnel and a program, together.
//!
//! ```text
//! process 1?  ─ yes ─► init: the same again as a child; passes signals on, takes in orphans
//!     no
//!     ▼
//! tunnel up ─► a peer answers ─► program, with the proxies in its environment ─► its exit code
//!     │               │
//!     └─ 125          └─ not in time: 125, and why
//! ```

mod child;
mod environment;
mod init;
mod ready;

use std::{process, time::Duration};

use crate::{
    agent::{self, Beside},
    cli::ExecArgs,
    complain, log,
    problem::{Problem, Result},
};

use self::child::Signals;

/// The tunnel did not come up: as `env`, `timeout` and container runtimes tell their own failures from their program's.
const NOT_UP: u8 = 125;

/// Runs a program beside a tunnel; gives the exit code.
pub fn run(args: &ExecArgs) -> u8 {
    let done = if process::id() == 1 { init::run() } else { together(args) };
    done.unwrap_or_else(|problem| {
        complain(&problem);
        NOT_UP
    })
}

fn together(args: &ExecArgs) -> Result<u8> {
    if args.agent.cleanup {
        return Err(Problem::new("--cleanup runs no program").hint("it belongs to `warren-tunnel agent`"));
    }
    log::start(args.agent.log_format, &args.agent.log_level)?;
    // From here on a signal ends us in good order.
    let signals = Signals::listen()?;
    agent::beside(&args.agent, failed, |tunnel| attend(tunnel, args, &signals))?
}

/// The program may have work that needs no network, and files to close: it is not ended.
fn failed(problem: &Problem) {
    tracing::error!(
        hint = problem.advice(),
        "the tunnel has ended, the program goes on without: {}",
        problem.what()
    );
}

fn attend(tunnel: &Beside, args: &ExecArgs, signals: &Signals) -> Result<u8> {
    if let Some(signal) = ready::wait(tunnel, Duration::from_secs(args.wait), signals)? {
        return Ok(child::code_of(signal));
    }
    let environment =
        tunnel.proxies().map(|proxies| environment::with(proxies, |name| std::env::var(name).ok()));
    child::run(&args.command, environment.unwrap_or_default(), signals)
}
