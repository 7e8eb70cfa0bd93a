//! `cargo xtask`: the developer's tasks. `cargo xtask --help` lists them.

#![expect(clippy::print_stdout, reason = "a task prints its progress")]

mod accounts;
mod bench;
mod build;
mod demo;
mod dependencies;
mod docs;
mod kill;
mod oracle;
mod promises;
mod prose;
mod publish;
mod purity;
mod sandbox;
mod site;
mod suite;
mod tools;
mod vm;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer tasks of Warren")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the main job end to end on emulated clouds
    ///
    /// Applies an example, shows that an overlap fails the plan, starts the gateway and a pod, reads an object through the tunnel, and
    /// destroys everything. Needs Python 3.11 and Terraform or OpenTofu on PATH, and root or user namespaces.
    Demo,
    /// Print each promise of the examples' READMEs, with the answers of the reachability model and of packets
    ///
    /// Applies the examples to emulated clouds, builds a data plane from what these hold, and probes it. Fails if a promise is not
    /// confirmed by both. Needs Python 3.11, Terraform or OpenTofu on PATH, and root.
    Promises {
        /// Examples to ask about; all with a `policy.yaml` if none is given
        examples: Vec<String>,
    },
    /// Run all tests; the last line is `N passed, N failed`
    Test {
        /// Run only tests whose name contains this text
        filter: Option<String>,
    },
    /// Run examples on real accounts, and sweep what they left; only with WARREN_ACC=1
    ///
    /// Costs money. `cargo xtask accounts show` prints what the examples create and cost, from a plan on emulated clouds.
    #[command(disable_help_flag = true)]
    Accounts {
        /// `show`, `run`, or `sweep`, and its arguments; `cargo xtask accounts --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Measure against peers in the same run; without WHAT, draw docs/benchmarks.md from docs/benchmarks
    Bench {
        /// What to measure
        #[arg(value_enum)]
        what: Option<bench::What>,
        /// Record the figures in docs/benchmarks, and draw docs/benchmarks.md again; must precede WHAT
        #[arg(long, requires = "what")]
        record: bool,
        /// Arguments for the measurement; `cargo xtask bench tunnel --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Generate the reference documentation from schemas, pages, and examples
    Docs {
        /// Write nothing, and fail if a file is out of date
        #[arg(long)]
        check: bool,
    },
    /// Lint the prose of Markdown, descriptions, diagnostics, log messages, and help texts
    Prose {
        /// Files or folders to lint; all if none is given
        paths: Vec<String>,
    },
    /// Build the documentation site, and check the links of all documentation
    Site,
    /// Start emulated clouds on loopback for your own Terraform, until Ctrl-C
    Sandbox(sandbox::Arguments),
    /// Boot Debian's kernels in QEMU, and test the kernel's WireGuard and forwarding there
    ///
    /// Only the smallest machine (`--ci`) is a part of `cargo xtask test`: the others have no KVM in CI, and take minutes. Builds
    /// the images with mmdebstrap once, which needs root.
    #[command(disable_help_flag = true)]
    Vm {
        /// Part of the names of cases, and options; `cargo xtask vm --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Check that pure crates depend on no runtime, network, or file library, and `warren` on no cloud SDK
    Purity,
    /// Check that the crates for other projects can be published
    Publish,
    /// Check that no dependency is unused, and that all have an accepted licence and source
    Dependencies,
    /// Compare the reachability model with packets on random topologies
    ///
    /// Applies them to the emulated AWS, builds a data plane from what it holds, and compares the answer of `warren check --policy`
    /// with what packets did, for every pair of places. Prints each difference with both explanations. Needs root.
    Oracle(oracle::Arguments),
    /// Kill the provider before and after every API call of an example, and check that it converges
    ///
    /// A kill after a call that only reads has the same result as one before it, and is not tried.
    Kill(kill::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Demo => demo::run(),
        Task::Promises { examples } => promises::run(&examples),
        Task::Test { filter } => suite::run(filter.as_deref()),
        Task::Accounts { rest } => accounts::run(&rest),
        Task::Bench { what, record, rest } => bench::run(what, record, &rest),
        Task::Prose { paths } => prose::run(&paths),
        Task::Site => site::run(),
        Task::Docs { check } => {
            docs::run(check).and_then(|()| warren_acceptance::docs::write_exceptions(check))
        }
        Task::Sandbox(arguments) => sandbox::run(&arguments),
        Task::Oracle(arguments) => oracle::run(&arguments),
        Task::Vm { rest } => vm::run(&rest),
        Task::Purity => purity::run(),
        Task::Publish => publish::run(),
        Task::Dependencies => dependencies::run(),
        Task::Kill(arguments) => kill::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
