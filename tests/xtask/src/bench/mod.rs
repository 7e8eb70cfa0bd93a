//! Measurements. None of them is a test, because results depend on the machine.

pub(crate) mod page;
mod provider;
pub(crate) mod record;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use warren_harness::workspace_root;

use crate::build;
use crate::docs::output::Output;

use self::record::{Machine, Results};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// The tunnel, against other implementations of WireGuard. Needs root for network namespaces
    Tunnel,
    /// The tunnel without privileges, against other user-space clients. Needs root for network namespaces
    Pod,
    /// Gateways that forward in the kernel and through sockets. Needs root for network namespaces
    Forward,
    /// Enrolment of many pods, and failover when gateways die. Needs root for network namespaces
    Gateway,
    /// `sync`, against other tools that copy files from and to S3. Needs root for network namespaces
    Sync,
    /// The address solver, against other crates and Python's netaddr
    Cidr,
    /// `warren check` on a plan of 60 MB, next to programs that only read its JSON
    Check,
    /// The provider: size, start, memory, and plan and apply of 1,000 resources
    Provider,
}

impl What {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What was measured, and on which machine. `complete` is an error if cases are missing.
pub(crate) struct Measurement {
    machine: Machine,
    results: Results,
    complete: Result<()>,
}

/// Runs a measurement. With `keep`, stores its results and draws `docs/benchmarks.md`; without `what`, only draws it.
pub(crate) fn run(what: Option<What>, keep: bool, rest: &[String]) -> Result<()> {
    let Some(what) = what else { return draw() };
    ensure!(
        rest.is_empty() || !matches!(what, What::Cidr | What::Check | What::Provider),
        "`bench {}` accepts no further arguments",
        what.name()
    );
    let Measurement { machine, results, complete } = match what {
        What::Cidr => cidr(),
        What::Check => check(),
        What::Provider => provider::measure(),
        What::Tunnel => tunnel(what, &[], rest),
        What::Pod => tunnel(what, &["--pod"], rest),
        What::Forward => tunnel(what, &["--forward"], rest),
        What::Gateway => tunnel(what, &["--gateway"], rest),
        What::Sync => tunnel(what, &["--sync"], rest),
    }?;
    for (name, value) in machine.conditions() {
        println!("{name}: {value}");
    }
    if keep {
        record::keep(what, rest, machine, results)?;
        draw()?;
    }
    complete
}

/// Draws the page and its charts from the stored results.
fn draw() -> Result<()> {
    let mut output = Output::default();
    page::pages(&mut output)?;
    output.finish(false, true)
}

/// Builds the tunnel as users do, and the program that measures it, and measures.
fn tunnel(what: What, part: &[&str], rest: &[String]) -> Result<Measurement> {
    // In one build, the tunnel would have the features of its libraries that only the tests need, and be a quarter larger.
    let measured = ["build", "--profile", "tunnel", "--locked", "--package", "warren-tunnel"];
    build::success(build::cargo().args(measured), "building the tunnel")?;
    let measuring =
        ["build", "--release", "--bin", "tunnel-bench", "--locked", "--package", "warren-tunnel-tests"];
    build::success(build::cargo().args(measuring), "building the program that measures")?;
    let folder = build::target_folder();
    let mut program = Command::new(folder.join("release/tunnel-bench"));
    program.env("WARREN_TUNNEL", folder.join("tunnel/warren-tunnel"));
    measure(&results_of(what), program.args(part).args(rest).arg("--json"))
}

fn cidr() -> Result<Measurement> {
    build::success(build::cargo().args(["bench", "--package", "warren-cidr"]), "the benches of the solver")?;
    let script = workspace_root().join("tests/benches/cidr/compare.py");
    measure(&results_of(What::Cidr), Command::new("python3").arg(script))
}

fn check() -> Result<Measurement> {
    let arguments = ["build", "--release", "--package", "warren-cli", "--locked"];
    build::success(build::cargo().args(arguments), "building `warren`")?;
    let script = workspace_root().join("tests/benches/check/compare.py");
    let program = build::target_folder().join("release/warren");
    measure(&results_of(What::Check), Command::new("python3").arg(script).arg(program))
}

fn results_of(what: What) -> PathBuf {
    build::target_folder().join(format!("bench-{}.json", what.name()))
}

/// Runs a program that measures. Its last argument is the file for the results, which may be there although it failed.
fn measure(file: &Path, program: &mut Command) -> Result<Measurement> {
    // Results of an earlier run are none of this one.
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let machine = Machine::this()?;
    let complete = build::success(program.arg(file), "the measurement");
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            complete?;
            return Err(error).with_context(|| format!("no results in {}", file.display()));
        }
    };
    Ok(Measurement { machine, results: serde_json::from_str(&text)?, complete })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_its_charts_are_what_the_records_give() {
        let mut output = Output::default();
        page::pages(&mut output).unwrap();
        output.finish(true, true).unwrap();
    }

    #[test]
    fn an_incomplete_measurement_has_its_results_and_is_an_error() {
        let results = r#"{"conditions": {}, "figures": {"ours": {"up": [1.0]}},
            "not_measured": [{"subject": "ours", "case": "down", "reason": "planted"}]}"#;
        let script = format!("printf '%s' '{results}' > \"$0\"; exit 1");
        let file = build::target_folder().join("bench-test.json");
        let measured = measure(&file, Command::new("sh").args(["-c", &script])).unwrap();
        assert_eq!(measured.results.not_measured[0].reason, "planted");
        measured.complete.unwrap_err();
        // Nothing written: what the last run wrote is not taken for it.
        assert!(measure(&file, Command::new("sh").args(["-c", "exit 1"])).is_err());
    }
}
