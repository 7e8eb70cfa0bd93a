//! A program of ours at work, without privileges.

use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// A process whose output goes to a file. It is killed when the value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    folder: TempDir,
}

impl Process {
    /// Starts `command` with no input.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Process> {
        let folder = tempfile::tempdir()?;
        let log = File::create(folder.path().join("log"))?;
        let command = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(Process { child, folder })
    }

    /// All that it printed so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the log has `word`.
    ///
    /// # Errors
    /// It ends first, or 90 seconds pass; the error has its log.
    pub fn says(&mut self, word: &str) -> Result<()> {
        let heard = until("it says so", || {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended: {status}");
            }
            Ok(self.log().contains(word).then_some(()))
        });
        heard.with_context(|| format!("no `{word}` in its log:\n{}", self.log()))
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// It does not end, or fails; the error has its log.
    pub fn ends(&mut self) -> Result<()> {
        let status = until("end", || Ok(self.child.try_wait()?))?;
        ensure!(status.success(), "{status}:\n{}", self.log());
        Ok(())
    }

    /// Asks it to end, as whoever runs containers and services does, and waits.
    ///
    /// # Errors
    /// It does not end.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        done(Command::new("kill").arg(self.child.id().to_string()))?;
        until("end after SIGTERM", || Ok(self.child.try_wait()?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again until there is something, for a minute and a half: three times the longest pause of `fetch`.
///
/// # Errors
/// There is nothing, or the question fails.
pub(super) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        ensure!(Instant::now() < end, "{what}: not within 90 s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs a command to its end, and returns what it printed.
///
/// # Errors
/// It fails; the error has its words.
pub(super) fn done(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, told.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The words before a program that take every privilege away. Root becomes nobody; in a user namespace, whose root is an
/// ordinary user, capabilities are all there is to lose.
pub(super) fn unprivileged() -> Result<String> {
    let drop = "setpriv --no-new-privs --bounding-set -all --inh-caps -all";
    Ok(if is_root()? {
        format!("{drop} --reuid {NOBODY} --regid {NOBODY} --clear-groups")
    } else {
        drop.to_owned()
    })
}

/// Gives a folder and all in it to who runs unprivileged programs.
pub(super) fn hand_over(folder: &Path) -> Result<()> {
    if !is_root()? {
        return Ok(());
    }
    chown(folder, Some(NOBODY), Some(NOBODY))?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            hand_over(&path)?;
        } else {
            chown(&path, Some(NOBODY), Some(NOBODY))?;
        }
    }
    Ok(())
}

/// Whether this is root of the machine, and not that of a user namespace, which has no other users.
fn is_root() -> Result<bool> {
    let map = std::fs::read_to_string("/proc/self/uid_map")?;
    let users = map.split_whitespace().nth(2).and_then(|count| count.parse::<u32>().ok());
    Ok(std::fs::metadata("/proc/self")?.uid() == 0 && users.is_some_and(|users| users > NOBODY))
}
