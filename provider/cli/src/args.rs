//! Command-line arguments and their help text.

use clap::{Parser, Subcommand, ValueEnum};
use warren_check::{Exception, Rule};

/// Check and draw networks offline, from address plans, Terraform plans and Terraform states.
///
/// The command reads files and standard input. It needs no cloud account, no credentials and no network, except for
/// `capacity --measured URL`.
#[derive(Debug, Parser)]
#[command(name = "warren", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  # Check a Terraform plan for overlapping ranges
  terraform plan -out=tf.plan
  terraform show -json tf.plan > plan.json
  warren check plan.json

  # Compute the ranges of an address plan
  warren plan network.yaml

  # Draw what a Terraform plan changes
  warren diagram plan.json --diff -o network.svg

  # Choose a link between the data and the GPUs
  warren capacity capacity.yaml";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find overlapping ranges and broken policies in address plans, Terraform plans and states.
    Check(Check),
    /// Compute the ranges of an address plan and print them.
    Plan(Plan),
    /// Draw the network of a Terraform plan or state.
    Diagram(crate::diagram::Diagram),
    /// Compute transfer times, planned rates and costs of links, and recommend one.
    Capacity(crate::capacity::Capacity),
    /// Print the completion script of a shell.
    Completions(crate::shell::Completions),
    /// Write the manual pages.
    Man(crate::shell::Man),
}

/// More findings than anyone reads, and few enough for any viewer.
pub(crate) const MAX_FINDINGS: usize = 1_000;

const CHECK_AFTER: &str = "Examples:
  # Check a Terraform plan
  terraform plan -out=tf.plan
  terraform show -json tf.plan > plan.json
  warren check plan.json

  # Check the plans of two teams and an address plan together
  warren check platform.json ml.json network.yaml

  # Check files of the same owner, and the ranges that other owners claim
  warren check --owner platform=plan.json --owner platform=network.yaml --claims claims.json

  # Check that only permitted paths exist
  warren check plan.json --policy policy.yaml

  # Write a report for GitHub code scanning
  warren check plan.json --format sarif -o warren.sarif

  # Name the lines of the configuration that the plan was made from
  warren check plan.json --source .

  # Write a report for the merge requests of GitLab
  warren check plan.json --format gitlab -o gl-code-quality-report.json

  # Report new findings only
  warren check plan.json --write-baseline warren-baseline.json
  warren check plan.json --baseline warren-baseline.json

  # Accept a finding until the end of January
  warren check plan.json --ignore overlap:aws_vpc.old,until=2027-01-31,reason=NET-7

  # Treat overlaps as errors even if nothing connects the networks
  warren check plan.json --unconnected error

  # Explain a rule
  warren check --explain foreign-reservation

Exit codes:
  0  no errors
  1  at least one error, or with --strict at least one warning
  2  invalid arguments, or a file that cannot be read or written";

#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_AFTER)]
pub(crate) struct Check {
    /// Address plans (.yaml, .yml, .json, .toml, .csv), output of `terraform show -json`, saved plans and state files; `-` reads
    /// standard input.
    ///
    /// A saved plan is read with `terraform show -json`, so `terraform` or `tofu` must be on `PATH`. All files are checked together.
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<String>,
    /// Set the owner of a file. Repeat for each file.
    ///
    /// A network may use a range that its own owner reserved. Without this option, the owner is the one that the file
    /// names, or else the file itself.
    #[arg(long = "owner", value_name = "NAME=FILE", value_parser = owner)]
    pub(crate) owners: Vec<(String, String)>,
    /// Claims file with the ranges of other owners. Can be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Vec<String>,
    /// Policy file with assertions about what may reach what in the Terraform plans and states. Can be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<String>,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// Folder of the Terraform configuration, whose `.tf` lines the report then names.
    ///
    /// With several configurations, name the file that each one belongs to: `--source FILE=DIR`.
    #[arg(long, value_name = "[FILE=]DIR")]
    pub(crate) source: Vec<String>,
    /// Baseline with known findings, which are hidden and counted. Entries that no longer occur are reported as fixed.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,
    /// Write all findings to a baseline, and report none of them.
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(crate) write_baseline: Option<String>,
    /// Hide the findings of a rule about an address, in which `*` matches any text. Can be repeated.
    ///
    /// The address is that of a resource, of an entry of an address plan, or of an attribute. `until` is the last day, in UTC, on
    /// which the exception applies. `reason` is any text.
    #[arg(long, value_name = "RULE:ADDRESS[,until=DAY][,reason=TEXT]", value_parser = crate::settings::ignored)]
    pub(crate) ignore: Vec<Exception>,
    /// Severity of overlaps of networks that are connected, or that belong to one fabric [default: error]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) connected: Option<Level>,
    /// Severity of overlaps of networks that nothing in the files connects [default: warning]
    ///
    /// Entries of address plans and claims always belong to one fabric. `[overlap]` in the settings file has both severities, too.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) unconnected: Option<Level>,
    /// Settings file, instead of `warren.toml` in the working directory or the nearest folder above it.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<String>,
    /// Exit with code 1 on warnings too.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print findings only, without notes, the summary line and progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Maximum number of findings to list; the rest are counted. 0 lists all.
    #[arg(long, value_name = "N", default_value_t = MAX_FINDINGS)]
    pub(crate) max_findings: usize,
    /// Write the report to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Explain a rule and exit.
    #[arg(long, value_name = "RULE")]
    pub(crate) explain: Option<Rule>,
}

const PLAN_AFTER: &str = "Examples:
  # Print the ranges as a table
  warren plan network.yaml

  # Keep the ranges of an earlier run where possible
  warren plan network.yaml --format json -o before.json
  warren plan network.yaml --previous before.json

  # Move as few of them as possible to make room
  warren plan network.yaml --previous before.json --allow-renumber

Exit codes:
  0  the ranges were computed
  1  the address plan contradicts itself or does not fit
  2  invalid arguments, or a file that cannot be read or written";

#[derive(Debug, clap::Args)]
#[command(after_help = PLAN_AFTER)]
pub(crate) struct Plan {
    /// Address plan (.yaml, .yml, .json, .toml, .csv); `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) input: String,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t = PlanFormat::Human)]
    pub(crate) format: PlanFormat,
    /// Output of an earlier `warren plan --format json`. Its ranges are kept where possible.
    #[arg(long, value_name = "FILE")]
    pub(crate) previous: Option<String>,
    /// Move as few ranges of the earlier plan as possible if the new networks do not fit otherwise.
    #[arg(long, requires = "previous")]
    pub(crate) allow_renumber: bool,
    /// Maximum duration of the search in seconds, instead of a maximum number of attempts.
    ///
    /// Without this option, the result does not depend on the speed of the machine.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time_limit: Option<u32>,
    /// Write the output to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text, in colour on a terminal.
    Human,
    /// JSON, for scripts.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Code quality report of GitLab.
    Gitlab,
}

/// The severity of overlaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Reported, with exit code 1.
    Error,
    /// Reported, with exit code 1 only if `--strict` is set.
    Warning,
    /// Not reported.
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// A table.
    Human,
    /// JSON, for scripts and for `--previous`.
    Json,
}

fn owner(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.to_owned())),
        _ => Err("expected NAME=FILE, such as platform=plan.json".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory as _};

    /// A command and everything below it, except the generated `help`.
    fn walk(command: &Command, visit: &mut dyn FnMut(&Command)) {
        visit(command);
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            walk(inner, visit);
        }
    }

    fn tree() -> Command {
        let mut tree = Args::command();
        tree.build();
        tree
    }

    #[test]
    fn every_command_and_argument_has_help() {
        walk(&tree(), &mut |command| {
            let name = command.get_bin_name().unwrap_or(command.get_name());
            assert!(command.get_about().is_some(), "`{name}` has no description");
            for argument in command.get_arguments() {
                let id = argument.get_id();
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.trim().is_empty(), "`{id}` of `{name}` has no help");
                for value in argument.get_possible_values() {
                    // Rules are explained by `--explain` itself, and booleans are flags.
                    let flag = ["true", "false"].contains(&value.get_name());
                    assert!(
                        flag || value.get_help().is_some(),
                        "{value:?} of `{id}` of `{name}` has no help"
                    );
                }
            }
        });
    }

    #[test]
    fn every_command_has_examples_that_it_accepts() {
        let mut count = 0;
        walk(&tree(), &mut |command| {
            let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) =
                text.split_once("Examples:\n").unwrap_or_else(|| panic!("`{name}` has no examples"));
            let examples = examples.split("\nExit codes:").next().unwrap_or(examples);
            let mut own = 0;
            for line in examples.lines() {
                // The command of a pipeline that is this one, without its redirection.
                let parts = line.split('|').map(str::trim);
                for words in parts.filter(|part| part.starts_with("warren ")) {
                    let words = words.split(" > ").next().unwrap_or(words);
                    if let Err(error) = Args::try_parse_from(words.split_whitespace()) {
                        panic!("`{name}` shows `{words}`, which is refused: {error}");
                    }
                    own += usize::from(words.starts_with(&name));
                }
            }
            assert!(own > 0, "no example of `{name}` runs it");
            count += own;
        });
        assert!(count >= 10, "{count} examples were found");
    }
}
