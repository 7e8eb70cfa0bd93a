//! The tunnel: agent and gateway in one binary.
//!
//! ```text
//! commands ─► cli ─► agent, gateway ─► enrolment ─► runtime
//! ```
//!
//! Each folder uses those to its right, never one to its left.

pub mod agent;
pub mod cli;
pub mod commands;
pub mod enrolment;
pub mod gateway;
pub mod runtime;

#[cfg(test)]
mod layers;

use std::os::fd::AsFd as _;

use cli::{Cli, Command};
use commands::print_error;
use runtime::{
    host::environment,
    log::{self, LogFormat},
    problem::{Problem, Result},
    sandbox,
};

/// Runs one command and returns the exit code: 0 on success, 1 on failure; some commands have their own.
pub fn run(cli: Cli) -> u8 {
    if let Err(problem) = cli.refuse_keys() {
        print_error(&problem);
        return 1;
    }
    if matches!(cli.command, Command::Agent(_) | Command::Exec(_) | Command::Gateway(_)) {
        environment::protect();
    }
    let result = match cli.command {
        Command::Agent(args) => log::start(args.log_format, &args.log_level).and_then(|()| {
            let json = args.log_format == LogFormat::Json;
            agent::run(&args).inspect_err(|problem| {
                if json {
                    // Readers of JSON logs get the final error as a JSON line too.
                    tracing::error!(hint = problem.advice(), "{}", problem.what());
                }
            })
        }),
        Command::Exec(args) => return commands::exec::run(&args),
        Command::Gateway(args) => commands::gateway::gateway(&args),
        Command::Token(command) => commands::token::token(&command),
        Command::Topology(args) => commands::topology::topology(&args),
        Command::Status(args) => quiet().and_then(|()| commands::status::status(&args)),
        Command::Ping(args) => return or_two(quiet().and_then(|()| commands::ping::run(&args))),
        Command::Netcheck(args) => return or_two(quiet().and_then(|()| commands::netcheck::run(&args))),
        Command::Reload(args) => commands::reload::reload(args.interface.as_ref()),
        Command::Sync(args) => return quiet().map_or(1, |()| commands::sync::run(&args)),
        Command::Fetch(args) => {
            log::start(args.log_format, "info").and_then(|()| commands::fetch::run(&args))
        }
        Command::Logs(args) => log::start(args.log_format, "info").and_then(|()| commands::logs::run(&args)),
        Command::AttachVolume(args) => {
            log::start(args.log_format, "info").and_then(|()| commands::attach::run(&args))
        }
        Command::Genkey(args) => commands::keys::genkey(args.out.as_deref()),
        Command::Genpsk(args) => commands::keys::genpsk(args.out.as_deref()),
        Command::Pubkey(_) => commands::keys::pubkey(),
        Command::Doctor(args) => {
            return or_two(commands::doctor::run(&args));
        }
        Command::EnterNetwork(args) => return commands::exec::enter(&args),
        Command::MakeSockets => {
            warren_device::namespace::serve(std::io::stdin().as_fd(), sandbox::confine_helper)
                .map_err(|error| Problem::new(error.to_string()))
        }
    };
    match result {
        Ok(()) => 0,
        Err(problem) => {
            print_error(&problem);
            1
        }
    }
}

/// The exit code of a command for which 1 is a result.
fn or_two(result: Result<u8>) -> u8 {
    result.unwrap_or_else(|problem| {
        print_error(&problem);
        2
    })
}

fn quiet() -> Result<()> {
    log::start(LogFormat::Human, "warn")
}
