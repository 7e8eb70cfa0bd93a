//! The words of the command line.

use clap::{Parser, Subcommand, ValueEnum};
use warren_check::Rule;

/// Address plans and Terraform plans, checked without a cloud account.
#[derive(Debug, Parser)]
#[command(name = "warren", version, about)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find overlapping ranges in address plans, Terraform plans and states.
    Check(Check),
    /// Solve an address plan and print its ranges.
    Plan(Plan),
    /// Draw a Terraform plan or state.
    Diagram(crate::diagram::Diagram),
}

/// More findings than anybody reads, and few enough for any viewer.
pub(crate) const MAX_FINDINGS: usize = 1_000;

const EXIT_CODES: &str = "Exit codes:
  0  nothing that fails the run
  1  findings of severity error (with --strict also warnings)
  2  bad usage, or input that cannot be read";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Check {
    /// Address plans (.yaml, .json, .toml) and outputs of `terraform show -json`; - is standard input. All are checked
    /// together, as one fabric.
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<String>,
    /// Who owns a file; files of one owner may fill each other's reservations. Without it every file is its own owner.
    #[arg(long = "owner", value_name = "NAME=FILE", value_parser = owner)]
    pub(crate) owners: Vec<(String, String)>,
    /// A claims file: ranges of other owners.
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Vec<String>,
    /// Assertions about who reaches whom, for the Terraform plans and states among the files.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<String>,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// Warnings fail the run too.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print findings only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// List up to so many findings, and count the others; 0 lists all.
    #[arg(long, value_name = "N", default_value_t = MAX_FINDINGS)]
    pub(crate) max_findings: usize,
    /// Write the report to a file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Tell what a rule means.
    #[arg(long, value_name = "RULE")]
    pub(crate) explain: Option<Rule>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Plan {
    /// An address plan (.yaml, .json, .toml); - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) input: String,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t = PlanFormat::Human)]
    pub(crate) format: PlanFormat,
    /// An earlier output of `warren plan --format json`: what can stay, stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) previous: Option<String>,
    /// Write the output to a file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// For scripts.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// A table.
    Human,
    /// For scripts, and for --previous.
    Json,
}

fn owner(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.to_owned())),
        _ => Err("write NAME=FILE".to_owned()),
    }
}
