//! Runs every test of the workspace, lists the slowest programs, and counts the tests in one line at the end.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::build;

/// How many of the slowest programs are listed.
const SLOWEST: usize = 15;

/// Builds everything, runs each test program, and adds up their counts.
///
/// No program alone keeps all processors busy, so there is one worker more than processors. The programs are in one queue: at its
/// front those that compute most (the acceptance tests), at its back those that wait most (the tests of the tunnel). Workers take
/// from both ends, so that both kinds run next to each other, and all workers end at about the same time. Programs that measure run
/// before the workers at the back begin.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let (folder, mut programs) = build::everything()?;
    programs.sort_by_key(TestProgram::place);
    let output = folder.join("tests");
    fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    let libraries = libraries()?;
    let job = |program: TestProgram| {
        let mut command = build::clean(Command::new(&program.executable));
        command
            .current_dir(&program.package)
            .env("CARGO_MANIFEST_DIR", &program.package)
            .env("LD_LIBRARY_PATH", &libraries)
            .env("WARREN_BUILD_FOLDER", &folder)
            .args(filter);
        Job { name: program.name(), command }
    };
    let (measuring, others): (Vec<_>, Vec<_>) = programs.into_iter().partition(TestProgram::measures);
    let mut jobs: VecDeque<Job> = others.into_iter().map(job).collect();
    // In the middle: short, and after the programs that take longest.
    let mut documentation = build::cargo();
    documentation.args(["test", "--doc", "--workspace", "--no-fail-fast", "--locked"]).args(filter);
    jobs.insert(jobs.len() / 2, Job { name: "documentation".to_owned(), command: documentation });

    let queue = Mutex::new(jobs);
    let outcomes = Mutex::new(Vec::new());
    let does = |job: Job| -> Result<()> {
        let outcome = job.run(&output)?;
        // Printed under the lock: lines of two programs do not mix.
        let mut outcomes = locked(&outcomes);
        println!("\n     Running {} ({} s)", outcome.name, outcome.time.as_secs());
        print!("{}", outcome.text);
        outcomes.push(outcome);
        Ok(())
    };
    let worker = |next: fn(&mut VecDeque<Job>) -> Option<Job>| {
        let (queue, does) = (&queue, &does);
        move || -> Result<()> {
            // Unlocked before the job runs.
            let take = || next(&mut locked(queue));
            while let Some(job) = take() {
                does(job)?;
            }
            Ok(())
        }
    };
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let front = processors.div_ceil(2);
    std::thread::scope(|scope| {
        let mut workers: Vec<_> = (0..front).map(|_| scope.spawn(worker(VecDeque::pop_front))).collect();
        measuring.into_iter().map(job).try_for_each(does)?;
        workers.extend((front..=processors).map(|_| scope.spawn(worker(VecDeque::pop_back))));
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => bail!("a thread panicked"),
        })
    })?;
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    report(outcomes, filter.is_some())
}

/// Prints what was slowest, what failed, and the counts.
fn report(mut outcomes: Vec<Outcome>, filtered: bool) -> Result<()> {
    outcomes.sort_by_key(|outcome| Reverse(outcome.time));
    println!("\nslowest programs:");
    for outcome in outcomes.iter().take(SLOWEST) {
        println!("{:6} s  {}", outcome.time.as_secs(), outcome.name);
    }
    let mut total = Counts::default();
    let mut failed = Vec::new();
    for outcome in &outcomes {
        let counts = Counts::of(&outcome.text);
        if let Some(why) = outcome.failure(&counts) {
            failed.push(format!("{}: {why}", outcome.name));
        }
        total.add(&counts);
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    ensure!(failed.is_empty(), "test programs failed:\n{}", failed.join("\n"));
    ensure!(total.ignored == 0, "{} tests were ignored; run them or delete them", total.ignored);
    ensure!(total.passed > 0 || filtered, "no test ran");
    Ok(())
}

/// The folder with the standard library, which the tests of procedural macros are linked to.
fn libraries() -> Result<String> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir"])
        .output()
        .context("rustc cannot be started")?;
    ensure!(output.status.success(), "rustc --print target-libdir: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program with tests that cargo has built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// Folder of the package.
    package: PathBuf,
    target: String,
    executable: PathBuf,
}

impl TestProgram {
    /// The program that one of cargo's messages in JSON is about.
    ///
    /// Source: <https://doc.rust-lang.org/cargo/reference/external-tools.html#artifact-messages>.
    pub(crate) fn of(message: &str) -> Result<Option<Self>> {
        #[derive(Deserialize)]
        struct Message {
            reason: String,
            manifest_path: Option<PathBuf>,
            target: Option<Target>,
            profile: Option<Profile>,
            executable: Option<PathBuf>,
        }
        #[derive(Deserialize)]
        struct Target {
            name: String,
            kind: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Profile {
            test: bool,
        }
        let message: Message = serde_json::from_str(message).with_context(|| message.to_owned())?;
        let Message {
            manifest_path: Some(manifest),
            target: Some(target),
            profile: Some(Profile { test: true }),
            executable: Some(executable),
            ..
        } = message
        else {
            return Ok(None);
        };
        // Measurements and examples are built, and do not run.
        if message.reason != "compiler-artifact"
            || target.kind.iter().any(|kind| kind == "bench" || kind == "example")
        {
            return Ok(None);
        }
        let package = manifest.parent().context("a manifest is in a folder")?.to_path_buf();
        Ok(Some(Self { package, target: target.name, executable }))
    }

    fn name(&self) -> String {
        let package = self.package.file_name().unwrap_or_default().to_string_lossy();
        format!("{package}/{}", self.target)
    }

    fn is_of_tunnel(&self) -> bool {
        self.package.ends_with("tests/tunnel")
    }

    /// Whether it measures what others notice of an attack, for which the machine should not be too busy.
    fn measures(&self) -> bool {
        self.is_of_tunnel() && self.target == "hostile"
    }

    /// Its place in the queue.
    fn place(&self) -> (u8, PathBuf) {
        let place = match () {
            () if self.package.ends_with("tests/acceptance") => 0,
            () if self.is_of_tunnel() => 2,
            () => 1,
        };
        (place, self.executable.clone())
    }
}

/// What runs.
struct Job {
    name: String,
    command: Command,
}

impl Job {
    /// Runs it to its end. Its output goes to a file: a process that a test left behind may keep a pipe open.
    fn run(mut self, folder: &Path) -> Result<Outcome> {
        let file = folder.join(format!("{}.txt", self.name.replace('/', "-")));
        let output = File::create(&file).with_context(|| file.display().to_string())?;
        let begun = Instant::now();
        let mut child = self
            .command
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.name))?;
        let status = child.wait()?;
        let time = begun.elapsed();
        let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        Ok(Outcome { name: self.name, time, status, text })
    }
}

/// What a program did.
struct Outcome {
    name: String,
    time: Duration,
    status: ExitStatus,
    text: String,
}

impl Outcome {
    /// Why it is not a success.
    fn failure(&self, counts: &Counts) -> Option<String> {
        if counts.failed > 0 {
            Some(format!("{} tests failed", counts.failed))
        } else if !self.status.success() {
            Some(self.status.to_string())
        } else if counts.results == 0 {
            Some("it ended without a result".to_owned())
        } else {
            None
        }
    }
}

/// Counts of test results.
#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Lines with results.
    results: u64,
}

impl Counts {
    /// Adds up lines such as `test result: ok. 3 passed; 0 failed; 0 ignored; ..`.
    fn of(text: &str) -> Self {
        let mut all = Self::default();
        for (_, counts) in text.lines().filter_map(|line| line.split_once("test result: ")) {
            all.results += 1;
            let counts = counts.split_once(". ").map_or(counts, |(_, counts)| counts);
            for part in counts.split("; ") {
                let Some((number, what)) = part.split_once(' ') else { continue };
                let number = number.parse().unwrap_or(0);
                match what {
                    "passed" => all.passed += number,
                    "failed" => all.failed += number,
                    "ignored" => all.ignored += number,
                    _ => {}
                }
            }
        }
        all
    }

    fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.results += other.results;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn outcome(code: i32, text: &str) -> Outcome {
        let status = ExitStatus::from_raw(code << 8);
        Outcome { name: "a".to_owned(), time: Duration::ZERO, status, text: text.to_owned() }
    }

    #[test]
    fn test_programs_are_found_in_the_messages_of_cargo() {
        let message = |kind: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason": "compiler-artifact", "package_id": "p", "manifest_path": "/w/tests/tunnel/Cargo.toml",
                    "target": {{"kind": ["{kind}"], "name": "pod", "src_path": "/w"}}, "fresh": true,
                    "profile": {{"opt_level": "0", "test": {test}}}, "executable": {executable}}}"#
            )
        };
        let found = TestProgram::of(&message("test", true, "\"/t/pod-0f\"")).unwrap().unwrap();
        assert_eq!(found.name(), "tunnel/pod");
        assert_eq!(found.place(), (2, "/t/pod-0f".into()));
        for other in [
            message("bin", false, "\"/t/pod\""),
            message("bench", true, "\"/t/pod-1e\""),
            message("lib", true, "null"),
            r#"{"reason": "build-finished", "success": true}"#.to_owned(),
        ] {
            assert_eq!(TestProgram::of(&other).unwrap(), None);
        }
        TestProgram::of("no JSON").unwrap_err();
    }

    #[test]
    fn counts_are_added_up() {
        let counts = Counts::of(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
             test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\
             test a::b ... ok\n",
        );
        assert_eq!((counts.passed, counts.failed, counts.ignored, counts.results), (15, 2, 1, 2));
    }

    #[test]
    fn a_program_succeeds_with_a_result_and_an_exit_code_of_zero() {
        let passed = "test result: ok. 1 passed; 0 failed; 0 ignored\n";
        let failure = |code, text: &str| outcome(code, text).failure(&Counts::of(text));
        assert_eq!(failure(0, passed), None);
        assert_eq!(failure(0, "test a ..."), Some("it ended without a result".to_owned()));
        assert!(failure(101, passed).is_some());
        assert!(failure(0, "test result: FAILED. 0 passed; 1 failed; 0 ignored\n").is_some());
    }

    #[test]
    fn ignored_tests_are_an_error() {
        report(vec![outcome(0, "test result: ok. 1 passed; 0 failed; 1 ignored\n")], false).unwrap_err();
        report(vec![outcome(0, "test result: ok. 1 passed; 0 failed; 0 ignored\n")], false).unwrap();
    }

    /// What a process that is left behind keeps open is not waited for.
    #[test]
    fn a_process_that_is_left_behind_holds_nothing_up() {
        let folder = build::target_folder().join("suite-test");
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 30 & echo test result: ok. 1 passed"]);
        let outcome = Job { name: "left/behind".to_owned(), command }.run(&folder).unwrap();
        assert_eq!(Counts::of(&outcome.text).passed, 1);
        assert!(outcome.time < Duration::from_secs(20), "{:?}", outcome.time);
    }
}
