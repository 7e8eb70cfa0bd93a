//! Runs every test of the workspace, and counts them in one line at the end.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::build;

/// Builds everything, runs `cargo test` over the workspace, and adds up the counts of all test binaries.
///
/// The tests that wait for a session or a lease to expire run beside the others: they take time, but no CPU.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let folder = build::everything()?;
    let waiting = build::cargo()
        .args(["test", "--workspace", "--locked", "--test", "age", "--test", "lease_age"])
        .args(filter)
        .args(["--", "--test-threads=4"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let mut command = build::cargo();
    command
        .args(["test", "--workspace", "--no-fail-fast", "--locked"])
        .args(filter)
        .env("WARREN_BUILD_FOLDER", folder)
        .stdout(Stdio::piped());
    let mut child = command.spawn().context("cargo cannot be started")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut total = Counts::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        total.add(&line);
    }
    let status = child.wait()?;
    let waited = waiting.wait_with_output()?;
    eprint!("{}", String::from_utf8_lossy(&waited.stderr));
    for line in String::from_utf8_lossy(&waited.stdout).lines() {
        println!("{line}");
        total.add(line);
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    ensure!(total.ignored == 0, "{} tests were ignored; run them or delete them", total.ignored);
    ensure!(status.success() && total.failed == 0, "tests failed ({status})");
    ensure!(waited.status.success(), "tests of expiry failed ({})", waited.status);
    ensure!(total.passed > 0 || filter.is_some(), "no test ran");
    Ok(())
}

/// Counts of test results.
#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; ..`; ignores other lines.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        let counts = counts.split_once(". ").map_or(counts, |(_, counts)| counts);
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else { continue };
            let number = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn counts_are_added_up() {
        let mut counts = Counts::default();
        counts.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        counts.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.add("test a::b ... ok");
        assert_eq!((counts.passed, counts.failed, counts.ignored), (15, 2, 1));
    }
}
