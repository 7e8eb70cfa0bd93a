//! A machine of QEMU, without KVM: its kernel, its disks, and the two serial lines.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use warren_programs::program;

use crate::gateway::Cloud;
use crate::image::tail;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// A folder for a machine's disks, which it may write.
#[derive(Debug)]
pub(crate) struct Disks(TempDir);

impl Disks {
    /// A folder beside those of the image.
    pub(crate) fn new(folder: &Path) -> Result<Disks> {
        let disks = tempfile::Builder::new().prefix("disk-").tempdir_in(folder)?;
        fs::set_permissions(disks.path(), fs::Permissions::from_mode(0o755))?;
        own(disks.path())?;
        Ok(Disks(disks))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// An empty layer over the image's root, in place of an earlier one.
    pub(crate) fn layer(&self) -> Result<()> {
        let mut command = Command::new(program("qemu-img")?);
        command.args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b", "../root.img", "root.qcow2"]);
        let output = command.current_dir(self.path()).output()?;
        ensure!(output.status.success(), "qemu-img: {}", String::from_utf8_lossy(&output.stderr).trim());
        own(&self.path().join("root.qcow2"))
    }

    /// Keeps the layer with its snapshots under another name.
    pub(crate) fn keep(&self, name: &str) -> Result<()> {
        Ok(fs::rename(self.path().join("root.qcow2"), self.path().join(name))?)
    }

    /// A copy of what was kept, in place of the layer.
    pub(crate) fn restore(&self, name: &str) -> Result<()> {
        fs::copy(self.path().join(name), self.path().join("root.qcow2"))?;
        own(&self.path().join("root.qcow2"))
    }
}

/// Gives a file to the user of QEMU.
fn own(path: &Path) -> Result<()> {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}

/// Where a machine's root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// In the initial file system.
    Memory,
    /// The image, of which writes are discarded.
    Discarded,
    /// The layer of the disks.
    Layer,
}

/// How a machine boots.
#[derive(Clone, Debug)]
pub(crate) struct Boot<'a> {
    /// Has `vmlinuz` and `initrd.img`.
    pub(crate) folder: &'a Path,
    /// Has `payload.img`.
    pub(crate) disks: &'a Disks,
    pub(crate) root: Root,
    /// The kernel's arguments.
    pub(crate) arguments: String,
    /// An instance has a network with DHCP and nothing else, and information on its cloud.
    pub(crate) cloud: Option<Cloud>,
    /// Continues from this snapshot of the layer instead.
    pub(crate) snapshot: Option<&'a str>,
    pub(crate) limit: Duration,
}

/// A machine that runs. It is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Machine {
    child: Child,
    answers: ChildStdin,
    lines: Receiver<String>,
    console: PathBuf,
    monitor: PathBuf,
    deadline: Instant,
}

impl Machine {
    pub(crate) fn start(boot: &Boot<'_>) -> Result<Machine> {
        let qemu = program("qemu-system-x86_64")?;
        let console = boot.folder.join("console.log");
        let log = File::create(&console)?;
        own(&console)?;
        let mut command = unprivileged(&qemu);
        // Relative paths from the folder: the user of QEMU need not be able to enter the folders above.
        command.current_dir(boot.folder);
        let disks = PathBuf::from(boot.disks.path().file_name().context("no name")?);
        let drive = |id: &str, file: &Path, more: &str| {
            let drive = format!("id={id},file={},if=none,{more}", file.display());
            ["-drive".to_owned(), drive, "-device".to_owned(), format!("virtio-blk-pci,drive={id}")]
        };
        command
            .args(["-accel", "tcg,thread=multi", "-cpu", "Westmere", "-smp", "2", "-m", "1024"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
            .args(["-kernel", "vmlinuz", "-initrd", "initrd.img"])
            .args(["-append", &format!("console=ttyS0 panic=-1 quiet mitigations=off {}", boot.arguments)]);
        match boot.root {
            Root::Memory => {}
            Root::Discarded => {
                command.args(drive("root", Path::new("root.img"), "format=raw,snapshot=on"));
            }
            Root::Layer => {
                command.args(drive("root", &disks.join("root.qcow2"), "format=qcow2"));
            }
        }
        if boot.root != Root::Memory {
            command.args(drive("payload", &disks.join("payload.img"), "format=raw,readonly=on"));
        }
        if let Some(cloud) = boot.cloud {
            command.args(["-smbios", cloud.smbios(), "-netdev", "user,id=net,restrict=on"]);
            command.args(["-device", "virtio-net-pci,netdev=net"]);
        }
        if let Some(snapshot) = boot.snapshot {
            command.args(["-loadvm", snapshot]);
        }
        let monitor = boot.disks.path().join("monitor");
        _ = fs::remove_file(&monitor);
        command
            .args(["-device", "virtio-rng-pci"])
            .arg("-monitor")
            .arg(format!("unix:{},server=on,wait=off", disks.join("monitor").display()))
            .args(["-chardev", "file,id=console,path=console.log,append=on", "-serial", "chardev:console"])
            .args(["-serial", "stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().context("cannot start QEMU")?;
        let (answers, report) = (child.stdin.take(), child.stdout.take());
        let (answers, report) = (answers.context("no input")?, report.context("no output")?);
        let (sender, lines) = mpsc::channel();
        // Ends with QEMU, or when nobody reads any more.
        std::thread::spawn(move || {
            for line in BufReader::new(report).lines() {
                let Ok(line) = line else { return };
                if sender.send(line.trim_end().to_owned()).is_err() {
                    return;
                }
            }
        });
        Ok(Machine { child, answers, lines, console, monitor, deadline: Instant::now() + boot.limit })
    }

    /// The guest's next line, until this time at most.
    fn until(&mut self, deadline: Instant) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    /// Reads the guest's lines until the machine ends, or its time is over.
    pub(crate) fn follow(&mut self, mut each: impl FnMut(&str)) -> Result<()> {
        loop {
            match self.until(self.deadline) {
                Ok(line) => each(&line),
                Err(RecvTimeoutError::Timeout) => {
                    each("| the machine's time is over");
                    self.child.kill()?;
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.child.wait()?;
        Ok(())
    }

    /// Lets the boot go on from each point until `point`, where it waits.
    pub(crate) fn reach(&mut self, point: &str) -> Result<()> {
        loop {
            match self.until(self.deadline) {
                Ok(line) if line.strip_prefix("point ") == Some(point) => return Ok(()),
                Ok(line) if line.starts_with("point ") => self.answer()?,
                Ok(_) => {}
                Err(error) => bail!("the machine did not reach `{point}`: {error}\n{}", self.console()),
            }
        }
    }

    /// Lets the boot go on for a time, from the point where it waits.
    pub(crate) fn go_on(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        self.answer()?;
        loop {
            match self.until(end) {
                Ok(line) if line.starts_with("point ") => self.answer()?,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(error) => bail!("the machine ended: {error}\n{}", self.console()),
            }
        }
    }

    fn answer(&mut self) -> Result<()> {
        self.answers.write_all(b"\n")?;
        Ok(self.answers.flush()?)
    }

    /// Writes the memory, the devices, and the disk into the layer.
    pub(crate) fn save(&self, name: &str) -> Result<()> {
        // The path of a socket is short, but that of the folder may be long.
        let folder = File::open(self.monitor.parent().context("no folder")?)?;
        let mut monitor = UnixStream::connect(format!("/proc/self/fd/{}/monitor", folder.as_raw_fd()))?;
        monitor.set_read_timeout(Some(Duration::from_secs(120)))?;
        prompt(&mut monitor)?;
        monitor.write_all(format!("savevm {name}\n").as_bytes())?;
        let said = prompt(&mut monitor)?;
        ensure!(!said.contains("Error"), "QEMU cannot save: {said}");
        Ok(())
    }

    /// Cuts the power: what the guest has not written to its disk is lost.
    pub(crate) fn cut(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// The last lines of the kernel's console, and what QEMU printed.
    pub(crate) fn console(&self) -> String {
        tail(&self.console)
    }

    /// The file of all of it.
    pub(crate) fn console_file(&self) -> &Path {
        &self.console
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Reads what QEMU's monitor prints until it waits for a command.
fn prompt(monitor: &mut UnixStream) -> Result<String> {
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"(qemu) ") {
        monitor.read_exact(&mut byte).context("QEMU's monitor")?;
        said.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// QEMU as nobody if this is root, else as this user.
fn unprivileged(qemu: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(qemu);
    }
    let mut command = Command::new("setpriv");
    let nobody = NOBODY.to_string();
    command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--no-new-privs"]);
    command.args(["--bounding-set", "-all", "--inh-caps", "-all", "--pdeathsig", "KILL"]).arg(qemu);
    command
}
