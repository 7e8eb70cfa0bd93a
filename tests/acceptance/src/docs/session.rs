//! One shell session for all blocks of a page.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::host::Host;
use super::page::{Action, Page};

/// Longest time for one page.
const LIMIT: Duration = Duration::from_secs(420);

/// Lines of output that an error shows.
const SHOWN: usize = 60;

/// A failed page: its transcript so far, and the reason.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Commands and their output.
    pub(super) transcript: String,
    /// Why the page failed: page, line, block and output. Nothing if it passed.
    pub(super) failure: Option<String>,
}

/// A command of the session, or a file that it writes.
struct Step {
    /// The block that it belongs to, from 0.
    block: usize,
    /// Its line in the page.
    line: usize,
}

/// Executes the shell blocks of a page and writes its files, in order, in `directory` on `host`.
///
/// `environment` is all that the session gets; `scratch` is a folder for the session's own files. Processes that a page starts
/// in the background end with it.
///
/// # Errors
/// No shell can be started. A page that fails is an [`Outcome`].
pub(super) fn run(
    host: &Host,
    page: &Page,
    directory: &Path,
    scratch: &Path,
    environment: &[(String, String)],
) -> Result<Outcome> {
    let (driver, steps) = driver(page, scratch)?;
    let script = scratch.join("driver.sh");
    fs::write(&script, driver)?;
    let log = scratch.join("transcript");
    let output = fs::OpenOptions::new().create(true).append(true).open(&log)?;
    let mut child = alone(host)?
        .args(["bash", "-euo", "pipefail"])
        .arg(&script)
        .current_dir(directory)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
        .context("cannot start bash")?;
    let ended = wait(&mut child)?;
    end_group(child.id());
    let _ = child.wait();

    let bytes = fs::read(&log)?;
    let progress = fs::read_to_string(scratch.join("progress")).unwrap_or_default();
    let failure = failure(page, &steps, &bytes, &progress, ended);
    Ok(Outcome { transcript: String::from_utf8_lossy(&bytes).into_owned(), failure })
}

/// Starts a program where the tunnel's run-time folders are the session's own. An ordinary user's are below `XDG_RUNTIME_DIR`;
/// root's are fixed, so root gets mounts that only the session sees.
fn alone(host: &Host) -> Result<Command> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(host.command("env"));
    }
    let mut mounts = String::from("set -e\n");
    for folder in ["/run/warren-tunnel", "/run/wireguard"] {
        writeln!(mounts, "mkdir -p -m 0700 {folder}; mount -t tmpfs -o mode=0700 none {folder}")?;
    }
    let mut command = host.command("unshare");
    command.args(["--mount", "sh", "-c", &format!("{mounts}exec \"$@\""), "session"]);
    Ok(command)
}

/// Waits for the shell; nothing if it took too long.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends what the page left in the background: first as a supervisor does, then at once.
fn end_group(leader: u32) {
    let group = format!("-{leader}");
    for signal in ["-TERM", "-KILL"] {
        // No process of the group is left where this fails.
        let sent = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
        if !sent.is_ok_and(|status| status.success()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

fn failure(
    page: &Page,
    steps: &[Step],
    log: &[u8],
    progress: &str,
    ended: Option<ExitStatus>,
) -> Option<String> {
    // A line for each step that began: its number, and how long the transcript was.
    let begun: Vec<(usize, usize)> = progress
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(number, size)| Some((number.parse().ok()?, size.trim().parse().ok()?)))
        .collect();
    let at = |step: &Step| {
        let block = &page.blocks[step.block];
        format!(
            "{}:{}: block {} (line {}, \"{}\")",
            page.path,
            step.line,
            step.block + 1,
            block.line,
            block.heading
        )
    };
    let reason = match ended {
        None => Some(format!("took longer than {LIMIT:?}")),
        Some(status) if status.success() => None,
        Some(status) => Some(format!("failed: {status}")),
    };
    if let Some(reason) = reason {
        let Some((step, from)) = begun.last().and_then(|(number, from)| Some((steps.get(*number)?, *from)))
        else {
            return Some(format!("{}: {reason}\n{}", page.path, String::from_utf8_lossy(log)));
        };
        return Some(format!("{} {reason}\n{}", at(step), tail(&log[from.min(log.len())..])));
    }
    for (index, block) in page.blocks.iter().enumerate() {
        let Action::Run(expected) = &block.action else { continue };
        let Some(words) = &expected.prints else { continue };
        let start = begun.iter().find(|(number, _)| steps[*number].block == index);
        let end = begun.iter().find(|(number, _)| steps[*number].block > index);
        let range = start.map_or(0, |(_, from)| *from)..end.map_or(log.len(), |(_, to)| *to);
        let printed = String::from_utf8_lossy(&log[range]).into_owned();
        let own = printed.lines().filter(|line| !line.starts_with("$ ") && !line.starts_with("> "));
        if !crate::flat(&own.collect::<Vec<_>>().join("\n")).contains(&crate::flat(words)) {
            let step = Step { block: index, line: block.line };
            return Some(format!("{} does not print {words:?}:\n{}", at(&step), tail(printed.as_bytes())));
        }
    }
    None
}

/// The last lines of an output.
fn tail(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN);
    let cut = if from > 0 { "[...]\n" } else { "" };
    format!("{cut}{}\n", lines[from..].join("\n"))
}

/// The script of the session. Each command is a file of its own, so that a failure is that of a line.
fn driver(page: &Page, scratch: &Path) -> Result<(String, Vec<Step>)> {
    let mut script = String::new();
    let mut steps = Vec::new();
    let folder = scratch.display();
    let mut step = |script: &mut String, step: Step, shown: &str| -> Result<usize> {
        let number = steps.len();
        fs::write(scratch.join(format!("shown-{number}")), shown)?;
        writeln!(
            script,
            "echo {number} \"$(wc -c <'{folder}/transcript')\" >>'{folder}/progress'; cat '{folder}/shown-{number}'"
        )?;
        steps.push(step);
        Ok(number)
    };
    for (index, block) in page.blocks.iter().enumerate() {
        match &block.action {
            Action::Run(expected) => {
                let commands = commands(&block.text)?;
                let last = commands.len().saturating_sub(1);
                for (place, (offset, text)) in commands.iter().enumerate() {
                    let line = block.line + 1 + offset;
                    let number = step(&mut script, Step { block: index, line }, &prompted(text))?;
                    fs::write(scratch.join(format!("command-{number}")), text)?;
                    if place == last && expected.exit != 0 {
                        let code = expected.exit;
                        writeln!(
                            script,
                            "set +e; . '{folder}/command-{number}'; _code=$?; set -e; [ $_code = {code} ] || \
                             {{ echo \"exit code $_code, not {code}\"; exit 1; }}"
                        )?;
                    } else {
                        writeln!(script, ". '{folder}/command-{number}'")?;
                    }
                }
            }
            Action::Write(file) => {
                let file = file.to_str().filter(|file| !file.contains('\'')).context("a file's name")?;
                let shown = format!("$ # {file}: {} lines\n", block.text.lines().count());
                let number = step(&mut script, Step { block: index, line: block.line }, &shown)?;
                fs::write(scratch.join(format!("file-{number}")), &block.text)?;
                writeln!(script, "mkdir -p \"$(dirname '{file}')\"; cp '{folder}/file-{number}' '{file}'")?;
            }
            _ => {}
        }
    }
    Ok((script, steps))
}

fn prompted(command: &str) -> String {
    let mut shown = String::new();
    for (number, line) in command.lines().enumerate() {
        shown.push_str(if number == 0 { "$ " } else { "> " });
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

/// The complete commands of a block, each with the number of its first line, from 0.
fn commands(text: &str) -> Result<Vec<(usize, String)>> {
    let mut all = Vec::new();
    let (mut first, mut pending) = (0, String::new());
    for (number, line) in text.lines().enumerate() {
        if pending.is_empty() {
            first = number;
        }
        pending.push_str(line);
        pending.push('\n');
        let comment = line.trim().is_empty() || line.trim_start().starts_with('#');
        if (comment && pending.lines().count() == 1) || !is_complete(&pending)? {
            if line.trim().is_empty() && pending.trim().is_empty() {
                pending.clear();
            }
            continue;
        }
        all.push((first, std::mem::take(&mut pending)));
    }
    // An incomplete command is bash's to report.
    if pending.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        all.push((first, pending));
    }
    Ok(all)
}

/// Whether bash would execute it without another line.
fn is_complete(text: &str) -> Result<bool> {
    let only_comments = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    if only_comments || text.ends_with("\\\n") {
        return Ok(false);
    }
    let mut child = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start bash")?;
    let Some(mut input) = child.stdin.take() else { bail!("bash has no input") };
    // It may end at a mistake before it has read everything.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let output = child.wait_with_output()?;
    // It warns of a here-document without an end and succeeds.
    Ok(output.status.success() && output.stderr.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Outcome {
        let page = Page::parse("page.md", text).unwrap();
        let (directory, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
        run(&Host::new().unwrap(), &page, directory.path(), scratch.path(), &[path]).unwrap()
    }

    #[test]
    fn blocks_share_one_session_and_files_are_written_where_it_is() {
        let outcome = outcome(
            "```sh\nmkdir inner && cd inner\nname=value\n```\n```toml file=a/b.toml\nx = 1\n```\n\
             ```sh\ncat a/b.toml\necho \"$name\" |\n  tr a-z A-Z\ncat <<END\nlast\nEND\n```\n",
        );
        assert_eq!(outcome.failure, None);
        assert_eq!(
            outcome.transcript,
            "$ mkdir inner && cd inner\n$ name=value\n$ # a/b.toml: 1 lines\n$ cat a/b.toml\nx = 1\n\
             $ echo \"$name\" |\n>   tr a-z A-Z\nVALUE\n$ cat <<END\n> last\n> END\nlast\n"
        );
    }

    #[test]
    fn a_failing_command_fails_its_line() {
        for (text, place) in [
            (
                "# Page\n\n```sh\ntrue\nls no-such-file\ntrue\n```\n",
                "page.md:5: block 1 (line 3, \"Page\") failed",
            ),
            ("```sh\nfalse | true\n```\n", "page.md:2: block 1"),
            ("```sh\ntrue\n```\n\n```sh\necho $unset\n```\n", "page.md:6: block 2"),
            ("```sh\nif true; then\n```\n", "page.md:2: block 1"),
            ("```sh exit=1\ntrue\n```\n", "exit code 0, not 1"),
            ("```sh exit=1\nfalse\ntrue\n```\n", "page.md:2: block 1"),
            ("```sh prints=\"other\"\necho one # other\n```\n", "does not print \"other\""),
        ] {
            let failure = outcome(text).failure.unwrap_or_default();
            assert!(failure.contains(place), "{text}\n{failure}");
        }
    }

    #[test]
    fn an_expected_failure_passes() {
        let outcome = outcome(
            "```sh exit=3 prints=\"no way\"\ntrue\n(echo no; echo way; exit 3)\n```\n```sh\necho on\n```\n",
        );
        assert_eq!(outcome.failure, None);
        assert!(outcome.transcript.ends_with("on\n"), "{}", outcome.transcript);
    }

    #[test]
    fn what_runs_in_the_background_ends_with_the_page() {
        let outcome = outcome("```sh\nsleep 1000 &\necho $!\n```\n");
        assert_eq!(outcome.failure, None);
        let process = outcome.transcript.lines().last().unwrap().to_owned();
        // One that has ended and has not been reaped has no command line.
        let line = fs::read(Path::new("/proc").join(process).join("cmdline")).unwrap_or_default();
        assert!(line.is_empty(), "{}", String::from_utf8_lossy(&line));
    }
}
