//! Our tunnel as it runs in a rented container.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::namespace::run;
use crate::{Daemon, Implementation, Interface, Namespace, wait_for};

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// An agent of ours that runs as an ordinary user: no capability, no way to any, no `/dev/net/tun`, no `/run` to write to.
#[derive(Debug)]
pub struct Pod {
    daemon: Daemon,
    host: Arc<Namespace>,
    folder: TempDir,
    arguments: Vec<String>,
}

impl Pod {
    /// Starts `warren-tunnel agent` with `interface` as its file and `arguments` more, and waits until it is up.
    ///
    /// # Errors
    /// The program is missing, or ends; the error has its log.
    pub fn start(host: &Arc<Namespace>, interface: &Interface, arguments: &[&str]) -> Result<Pod> {
        let folder = home(interface)?;
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let daemon = agent(host, folder.path(), &arguments)?;
        Ok(Pod { daemon, host: Arc::clone(host), folder, arguments })
    }

    /// Starts it again where it was, over whatever it left there.
    ///
    /// # Errors
    /// As [`Pod::start`]; or it still runs.
    pub fn restart(&mut self) -> Result<()> {
        ensure!(self.daemon.ended()?.is_some(), "it still runs");
        self.daemon = agent(&self.host, self.folder.path(), &self.arguments)?;
        Ok(())
    }

    /// Runs a command of ours beside it, as the same user, and returns what it printed.
    ///
    /// # Errors
    /// It fails; the error has its words.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let path = Implementation::WarrenTunnel.path()?;
        run(unprivileged(&self.host, self.folder.path(), &path).args(arguments))
    }

    /// The file that it was configured from.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("pod.conf")
    }

    /// Its folder of run-time files.
    pub fn runtime(&self) -> PathBuf {
        self.folder.path().join("warren-tunnel")
    }

    /// The process, to end it.
    pub fn daemon(&mut self) -> &mut Daemon {
        &mut self.daemon
    }

    /// What it printed so far.
    pub fn log(&self) -> String {
        self.daemon.log()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// It has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.daemon.signal(signal)
    }

    /// A line of `/proc/PID/status`.
    ///
    /// # Errors
    /// The process has ended.
    pub fn status_line(&self, field: &str) -> Result<String> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.daemon.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(line.context("no such line")?.trim().to_owned())
    }
}

/// An agent that is up.
fn agent(host: &Namespace, home: &Path, arguments: &[String]) -> Result<Daemon> {
    let mut command = unprivileged(host, home, &Implementation::WarrenTunnel.path()?);
    command.arg("agent").arg("--config").arg(home.join("pod.conf")).args(arguments);
    let mut daemon = Daemon::start(&mut command)?;
    let up = wait_for(Duration::from_secs(10), "agent", || {
        if let Some(status) = daemon.ended()? {
            bail!("it ended: {status}");
        }
        Ok(daemon.log().contains(" up ").then_some(()))
    });
    up.with_context(|| format!("the pod's agent did not come up; its log:\n{}", daemon.log()))?;
    Ok(daemon)
}

/// A folder of nobody's, with `interface` as its `pod.conf`.
///
/// # Errors
/// This process may not give files away.
pub fn home(interface: &Interface) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("warren-pod-").tempdir()?;
    own(folder.path())?;
    let config = folder.path().join("pod.conf");
    fs::write(&config, interface.wg_quick())?;
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600))?;
    own(&config)?;
    Ok(folder)
}

pub(crate) fn own(path: &Path) -> Result<()> {
    chown(path, Some(NOBODY), Some(NOBODY)).with_context(|| format!("cannot give {} away", path.display()))
}

/// A command that runs `program` on `host` as nobody. It has mounts of its own, in which there is no TUN device.
pub fn unprivileged(host: &Namespace, runtime: &Path, program: &Path) -> Command {
    unprivileged_with(host, runtime, program, &[])
}

/// A `/dev/net/tun` that everybody may open, as udev makes it, where the machine's own is root's alone. In a user namespace no
/// device can be made, and the machine's own must do.
const TUN_FOR_ALL: &str = "mount -t tmpfs none /dev/net && { mknod -m 666 /dev/net/tun c 10 200 2>/dev/null || umount /dev/net; }\n";

/// What a gateway may do that forwards in the kernel: change the network, and answer DNS on port 53.
const CAPABILITIES: &str = "-all,+net_admin,+net_bind_service";

/// A command that runs `program` on `host` as nobody who may change the host's network, and no more. `without` are files of the
/// machine that it cannot use.
pub fn network_admin(host: &Namespace, runtime: &Path, program: &Path, without: &[&str]) -> Command {
    let hidden = |file: &&str| format!("mount --bind /dev/null '{file}' || exit\n");
    let script =
        TUN_FOR_ALL.to_owned() + &without.iter().map(hidden).collect::<String>() + "exec setpriv \"$@\"";
    let mut command = host.command("unshare");
    command.args(["--mount", "sh", "-c", &script, "gateway"]);
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
    command.args(["--bounding-set", CAPABILITIES, "--inh-caps", CAPABILITIES]);
    command.args(["--ambient-caps", "+net_admin,+net_bind_service", "--pdeathsig", "KILL"]);
    command.arg(program).env("XDG_RUNTIME_DIR", runtime).current_dir("/");
    command
}

/// [`unprivileged`] for a program that needs `folders`, which may lie where nobody may not go, such as in root's home: in its mounts
/// there is a folder in that place that everybody may enter, and nothing else in it.
pub fn unprivileged_with(host: &Namespace, runtime: &Path, program: &Path, folders: &[&Path]) -> Command {
    let mut script = "mount -t tmpfs none /dev/net 2>/dev/null\n".to_owned();
    let (mut covered, mut restored) = (BTreeSet::new(), String::new());
    for (index, folder) in folders.iter().enumerate() {
        let Some(closed) = closed(folder) else { continue };
        let (folder, kept) = (folder.display(), format!("/dev/net/kept-{index}"));
        script += &format!("mkdir {kept} && mount --bind '{folder}' {kept} || exit\n");
        covered.insert(format!("mount -t tmpfs -o mode=755 none '{}' || exit\n", closed.display()));
        restored +=
            &format!("mkdir -p '{folder}' && mount --move {kept} '{folder}' && rmdir {kept} || exit\n");
    }
    script.extend(covered);
    script += &restored;
    script += "exec setpriv \"$@\"";
    let mut command = host.command("unshare");
    command.args(["--mount", "sh", "-c", &script, "pod"]);
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
    command.args(["--bounding-set", "-all", "--inh-caps", "-all", "--pdeathsig", "KILL"]);
    command.arg(program).env("XDG_RUNTIME_DIR", runtime).current_dir("/");
    command
}

/// The outermost folder on the way to `path` that others than its owner may not enter.
fn closed(path: &Path) -> Option<&Path> {
    let mut found = None;
    for folder in path.ancestors() {
        if fs::metadata(folder).is_ok_and(|known| known.permissions().mode() & 0o001 == 0) {
            found = Some(folder);
        }
    }
    found
}
