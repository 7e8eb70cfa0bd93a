//! `cargo xtask`: the developer's tasks. `cargo xtask --help` lists them.

#![expect(clippy::print_stdout, reason = "a task tells what it does on standard output")]

mod bench;
mod build;
mod demo;
mod docs;
mod kill;
mod purity;
mod sandbox;
mod suite;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use warren_acceptance::KillCalls;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer tasks of Warren")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the main job end to end on emulated clouds: apply, refuse an overlap, change, destroy, prove that nothing is left.
    Demo,
    /// Run every test; ends with a line `N passed, N failed`.
    Test {
        /// Run only tests whose name contains this.
        filter: Option<String>,
    },
    /// Measure, against peers in the same run.
    Bench {
        /// What to measure.
        #[arg(value_enum)]
        what: bench::What,
        /// What `tunnel` is told; `bench tunnel --help` lists it.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Write the reference documentation of the provider from its schema.
    Docs {
        /// Change nothing; fail where a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Start emulated clouds on loopback for your own Terraform, until Ctrl-C.
    Sandbox(sandbox::Arguments),
    /// Prove that the pure crates depend on no runtime, network or file library.
    Purity,
    /// Kill the provider before and after every API call of an example, and see each time that it converges.
    Kill {
        /// Which example.
        #[arg(long, value_enum, default_value = "aws-hub-spoke")]
        example: kill::Example,
        /// Try only every n-th kill point.
        #[arg(long, default_value_t = 1)]
        every: usize,
        /// Begin with this API call.
        #[arg(long, default_value_t = 1)]
        first: usize,
        /// Only those of an apply, or of a destroy.
        #[arg(long, value_enum)]
        only: Option<kill::Run>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Demo => demo::run(),
        Task::Test { filter } => suite::run(filter.as_deref()),
        Task::Bench { what, rest } => bench::run(what, &rest),
        Task::Docs { check } => {
            docs::run(check).and_then(|()| warren_acceptance::docs::write_exceptions(check))
        }
        Task::Sandbox(arguments) => sandbox::run(&arguments),
        Task::Purity => purity::run(),
        Task::Kill { example, every, first, only } => {
            kill::run(example, KillCalls { every, first, only: only.map(Into::into) })
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
