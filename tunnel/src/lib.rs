//! The tunnel: agent and gateway in one binary.
//!
//! ```text
//! cli -> gateway: enrolment, leases, forwarding; control and datapath as below
//!     -> agent -> { net: addresses, routes, DNS }
//!              -> { control: the engine's thread } <- uapi, metrics, lookups
//!                   datapath: packets
//! ```

pub mod agent;
pub mod cli;
pub mod commands;
pub mod control;
pub mod datapath;
pub mod doctor;
pub mod enrolment;
pub mod exec;
pub mod fetch;
pub mod folders;
pub mod gateway;
pub mod local_socket;
pub mod log;
pub mod machine;
pub mod metrics;
pub mod name;
pub mod net;
pub mod problem;
pub mod secret;
pub mod services;
pub mod status;
pub mod uapi;

use std::{io::Write as _, os::fd::AsFd as _};

use cli::{Cli, Command, LogFormat};
use problem::{Problem, Result};

/// Runs one command and returns the exit code: 0 on success, 1 on failure; `doctor` and `exec` have their own.
pub fn run(cli: Cli) -> u8 {
    if let Err(problem) = cli.refuse_keys() {
        complain(&problem);
        return 1;
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
        Command::Exec(args) => return exec::run(&args),
        Command::Gateway(args) => commands::gateway::gateway(&args),
        Command::Token(command) => commands::token::token(&command),
        Command::Topology(args) => commands::topology::topology(&args),
        Command::Status(args) => quiet().and_then(|()| commands::status::status(&args)),
        Command::Reload(args) => commands::reload::reload(args.interface.as_ref()),
        Command::Fetch(args) => log::start(args.log_format, "info").and_then(|()| fetch::run(&args)),
        Command::Genkey(args) => commands::keys::genkey(args.out.as_deref()),
        Command::Genpsk(args) => commands::keys::genpsk(args.out.as_deref()),
        Command::Pubkey(_) => commands::keys::pubkey(),
        Command::Doctor(args) => {
            return doctor::run(&args).unwrap_or_else(|problem| {
                complain(&problem);
                2
            });
        }
        Command::MakeSockets => warren_device::namespace::serve(std::io::stdin().as_fd())
            .map_err(|error| Problem::new(error.to_string())),
    };
    match result {
        Ok(()) => 0,
        Err(problem) => {
            complain(&problem);
            1
        }
    }
}

fn complain(problem: &Problem) {
    _ = writeln!(std::io::stderr(), "warren-tunnel: {problem}");
}

fn quiet() -> Result<()> {
    log::start(LogFormat::Human, "warn")
}
