//! The tunnel binary.

use std::process::ExitCode;

use clap::Parser;
use warren_tunnel::{cli::Cli, run};

fn main() -> ExitCode {
    ExitCode::from(run(Cli::parse()))
}
