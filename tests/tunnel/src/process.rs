//! A program at work, and what it uses.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::wait_for;

/// `PTRACE_SEIZE`, `PTRACE_INTERRUPT`, a wait for the stop (`__WALL`), and `PTRACE_DETACH` after some seconds.
const FREEZE: &str = r"
import ctypes, os, sys, time
task, seconds = int(sys.argv[1]), float(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
def ptrace(request):
    if libc.ptrace(request, task, None, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
ptrace(0x4206)
ptrace(0x4207)
os.waitpid(task, 0x40000000)
time.sleep(seconds)
ptrace(17)
";

/// A process started by the lab; what it prints goes to a file. It is killed when the value is dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    folder: TempDir,
    /// What it was started from.
    kept: Option<TempDir>,
}

impl Daemon {
    /// Starts `command`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Daemon> {
        let folder = tempfile::Builder::new().prefix("warren-lab-").tempdir()?;
        let log = File::create(folder.path().join("log"))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Daemon { child, folder, kept: None })
    }

    /// Keeps a folder as long as the process is kept.
    #[must_use]
    pub fn keep(mut self, folder: TempDir) -> Daemon {
        self.kept = Some(folder);
        self
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// All that it printed so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The arguments and the environment that any user of the machine, or root, can see.
    ///
    /// # Errors
    /// The process is gone.
    pub fn arguments(&self) -> Result<String> {
        let bytes = fs::read(self.proc("cmdline"))?;
        Ok(String::from_utf8_lossy(&bytes).replace('\0', " "))
    }

    /// CPU seconds used so far, of all its threads, in and out of the kernel.
    ///
    /// # Errors
    /// The process is gone.
    pub fn cpu(&self) -> Result<f64> {
        let stat = fs::read_to_string(self.proc("stat"))?;
        // The second field is a name in parentheses that may hold anything.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap_or(0));
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        Ok(ticks.sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// The most memory that was ever resident, in bytes.
    ///
    /// # Errors
    /// The process is gone.
    pub fn peak_memory(&self) -> Result<u64> {
        self.status("VmHWM:")
    }

    /// The memory that is resident now, in bytes.
    ///
    /// # Errors
    /// The process is gone.
    pub fn memory(&self) -> Result<u64> {
        self.status("VmRSS:")
    }

    /// The part of [`Self::memory`] that is its own, and the part that is pages of files: of programs and libraries, which the
    /// kernel can drop and read again.
    ///
    /// # Errors
    /// The process is gone.
    pub fn own_and_file_memory(&self) -> Result<[u64; 2]> {
        Ok([self.status("RssAnon:")?, self.status("RssFile:")?])
    }

    /// How it ended, if it did.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// The process is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal).context("the process is gone")
    }

    /// Stops one of its threads for a while, as a debugger does; the others go on.
    ///
    /// # Errors
    /// It has no thread of that name, or this process may not trace it.
    pub fn freeze(&self, thread: &str, time: Duration) -> Result<()> {
        let named = |task: &fs::DirEntry| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == thread)
        };
        let task = fs::read_dir(self.proc("task"))?.filter_map(Result::ok).find(named);
        let task = task.with_context(|| format!("no thread {thread}"))?.file_name();
        let mut command = Command::new("python3");
        command.args(["-c", FREEZE]).arg(task).arg(time.as_secs_f64().to_string());
        crate::namespace::run(&mut command).map(drop)
    }

    /// Asks it to end, and waits.
    ///
    /// # Errors
    /// It does not end within ten seconds.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        if self.ended()?.is_none() {
            self.signal(Signal::TERM)?;
        }
        wait_for(Duration::from_secs(10), "end after SIGTERM", || Ok(self.child.try_wait()?))
    }

    /// Kills it without a chance to clean up.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        let status = self.child.wait()?;
        anyhow::ensure!(status.signal().is_some(), "it had ended by itself: {status}");
        Ok(())
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.child.id()))
    }

    fn status(&self, field: &str) -> Result<u64> {
        let status = fs::read_to_string(self.proc("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)).context("the process ended")?;
        Ok(line.split_whitespace().next().unwrap_or_default().parse::<u64>()? * 1024)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
