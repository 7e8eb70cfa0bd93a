//! Runs every test of the workspace, lists the slowest programs, and counts the tests in one line at the end.

use std::cmp::Reverse;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use warren_harness::workspace_root;

use crate::build;

/// How many of the slowest programs are listed.
const SLOWEST: usize = 15;

/// Builds everything, runs `cargo test` over the workspace, and adds up the counts of all test binaries.
///
/// The programs of [`beside`] run at the same time as the others: no program alone keeps all processors busy.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let folder = build::everything()?;
    let programs = beside()?;
    let mut second = build::cargo();
    second
        .args(["test", "--workspace", "--no-fail-fast", "--locked"])
        .args(programs.iter().flat_map(|name| ["--test", name]))
        .args(filter)
        .args(["--", "--test-threads=4"])
        .env("WARREN_BUILD_FOLDER", &folder);
    let second = std::thread::spawn(move || second.output());
    let mut command = build::cargo();
    command
        .args(["test", "--workspace", "--no-fail-fast", "--locked"])
        .args(filter)
        .env("WARREN_BUILD_FOLDER", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("cargo cannot be started")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let messages = child.stderr.take().context("cargo has no messages")?;
    let (started, starts) = mpsc::channel();
    // Not joined: a process that a test left behind may keep the pipe open.
    std::thread::spawn(move || {
        for line in BufReader::new(messages).lines().map_while(Result::ok) {
            eprintln!("{line}");
            if let Some(program) = program(&line) {
                _ = started.send((Instant::now(), program));
            }
        }
    });
    let mut total = Counts::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        total.add(&line);
    }
    let status = child.wait()?;
    let slowest = slowest(starts.try_iter().collect(), Instant::now());
    let second =
        second.join().map_err(|_| anyhow!("a thread panicked"))?.context("cargo cannot be started")?;
    eprint!("{}", String::from_utf8_lossy(&second.stderr));
    for line in String::from_utf8_lossy(&second.stdout).lines() {
        println!("{line}");
        total.add(line);
    }
    println!("\nslowest programs:");
    for (time, program) in slowest {
        println!("{:6} s  {program}", time.as_secs());
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    ensure!(total.ignored == 0, "{} tests were ignored; run them or delete them", total.ignored);
    ensure!(status.success() && total.failed == 0, "tests failed ({status})");
    ensure!(second.status.success(), "tests beside the others failed ({})", second.status);
    ensure!(total.passed > 0 || filter.is_some(), "no test ran");
    Ok(())
}

/// The folders of the packages with programs that run beside the others.
const PACKAGES: [&str; 2] = ["tests/acceptance", "tests/tunnel"];

/// The test programs that run beside the others: those with `test = false` in the manifests of [`PACKAGES`]. Those of the tunnel
/// wait more than they compute; those of the acceptance tests balance the time of both. No other test program of the workspace has
/// their names.
pub(crate) fn beside() -> Result<Vec<String>> {
    let mut all = Vec::new();
    for package in PACKAGES {
        let manifest = workspace_root().join(package).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        let programs = in_manifest(&text);
        ensure!(!programs.is_empty(), "{}: no test has `test = false`", manifest.display());
        all.extend(programs);
    }
    Ok(all)
}

/// The names of the tests with `test = false`.
fn in_manifest(text: &str) -> Vec<String> {
    let tables = text.split("\n[").filter_map(|table| table.strip_prefix("[test]]\n"));
    let excepted = tables.filter(|table| table.lines().any(|line| line == "test = false"));
    let name = |table: &str| {
        table.lines().find_map(|line| line.strip_prefix("name = ")?.trim_matches('"').to_owned().into())
    };
    excepted.filter_map(name).collect()
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

/// The program that a line such as `Running tests/a.rs (target/debug/deps/a-0f)` announces.
fn program(line: &str) -> Option<String> {
    let rest = ["Running ", "Doc-tests "].iter().find_map(|word| line.trim().strip_prefix(word))?;
    let path = rest.split(['(', ')']).nth(1).unwrap_or(rest);
    path.rsplit('/').next().map(str::to_owned)
}

/// The programs that took longest, given when each began and when the last one ended.
fn slowest(starts: Vec<(Instant, String)>, end: Instant) -> Vec<(Duration, String)> {
    let ends: Vec<Instant> = starts.iter().skip(1).map(|(at, _)| *at).chain([end]).collect();
    let mut times: Vec<_> =
        starts.into_iter().zip(ends).map(|((at, program), end)| (end - at, program)).collect();
    times.sort_by_key(|(time, _)| Reverse(*time));
    times.truncate(SLOWEST);
    times
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Counts, beside, in_manifest, program, slowest, workspace_root};

    #[test]
    fn the_slowest_programs_are_first() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let lines = [
            (0, "   Compiling quick v0.1.0"),
            (5, "     Running unittests src/lib.rs (target/debug/deps/quick-0f)"),
            (7, "     Running tests/slow.rs (target/debug/deps/slow-1e)"),
            (40, "   Doc-tests quick"),
        ];
        let starts = lines.iter().filter_map(|(seconds, line)| Some((at(*seconds), program(line)?)));
        let expected = [(33, "slow-1e"), (2, "quick-0f"), (1, "quick")];
        let expected = expected.map(|(seconds, name)| (Duration::from_secs(seconds), name.to_owned()));
        assert_eq!(slowest(starts.collect(), at(41)), expected);
    }

    #[test]
    fn programs_beside_the_others_are_found_in_the_manifest() {
        let manifest = "[package]\nname = \"p\"\n\n[[test]]\nname = \"a\"\ntest = false\n\n[[test]]\nname = \"b\"\n\n\
                        [[test]]\nname = \"c\"\ntest = false\n\n[lints]\nworkspace = true\n";
        assert_eq!(in_manifest(manifest), ["a", "c"]);
    }

    /// Cargo selects test programs by name, in all packages.
    #[test]
    fn programs_beside_the_others_have_names_of_their_own() {
        let listed = std::process::Command::new("git").arg("ls-files").current_dir(workspace_root()).output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        for name in beside().unwrap() {
            let ends = [format!("/tests/{name}.rs"), format!("/tests/{name}/main.rs")];
            let found = listed.lines().filter(|file| ends.iter().any(|end| file.ends_with(end.as_str())));
            assert_eq!(found.count(), 1, "{name}");
        }
    }

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
