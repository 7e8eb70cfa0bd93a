//! The tunnel binary.

use std::process::ExitCode;

use clap::Parser;
use warren_tunnel::{cli::Cli, run, runtime::host::environment};

fn main() -> ExitCode {
    environment::take();
    ExitCode::from(run(Cli::parse()))
}
