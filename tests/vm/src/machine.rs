//! A machine of QEMU, without KVM: its kernel, its disks, and the two serial lines.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use warren_programs::program;

use crate::gateway;
use crate::image::{Image, System, disk, tail};

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// What runs in the guest. It reports on its standard output, which is the second serial line.
const START: &str = "#!/bin/sh\nWARREN_TUNNEL=/mnt/warren-tunnel exec /mnt/warren-vm-guest \"${1:-kernel}\"";

/// System information (SMBIOS) of an EC2 instance, by which cloud-init recognizes the cloud.
const EC2: &str =
    "type=1,uuid=ec2a1b2c-3d4e-5f60-7182-93a4b5c6d7e8,serial=ec2a1b2c-3d4e-5f60-7182-93a4b5c6d7e8";

/// The programs of this build that the guest has.
const PROGRAMS: [&str; 2] = ["warren-tunnel", "warren-vm-guest"];

/// A machine that runs. It is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Machine {
    child: Child,
    report: Option<ChildStdout>,
    console: PathBuf,
    deadline: Instant,
    _disk: TempDir,
}

impl Machine {
    /// Boots an image with the programs of this build.
    pub(crate) fn boot(
        image: &Image,
        products: &Path,
        filter: Option<&str>,
        limit: Duration,
    ) -> Result<Machine> {
        let qemu = program("qemu-system-x86_64")?;
        let disk = tempfile::Builder::new().prefix("disk-").tempdir_in(&image.folder)?;
        fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o755))?;
        payload(disk.path(), image.system, products, filter)?;
        let console = image.folder.join("console.log");
        let log = fs::File::create(&console)?;
        let mut command = unprivileged(&qemu);
        if rustix::process::geteuid().is_root() {
            chown(&console, Some(NOBODY), Some(NOBODY))?;
        }
        // Relative paths from the folder: the user of QEMU need not be able to enter the folders above.
        command.current_dir(&image.folder);
        let second = Path::new(disk.path().file_name().context("no name")?).join("payload.img");
        let drive =
            |id: &str, file: &Path| format!("id={id},file={},format=raw,if=none,snapshot=on", file.display());
        command
            .args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1536"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
            .args(["-kernel", "vmlinuz", "-initrd", "initrd.img"])
            .args([
                "-append",
                &format!("console=ttyS0 root=/dev/vda rw panic=-1 quiet {}", image.system.init()),
            ])
            .args(["-drive", &drive("root", Path::new("root.img")), "-device", "virtio-blk-pci,drive=root"])
            .args(["-drive", &drive("payload", &second), "-device", "virtio-blk-pci,drive=payload"])
            .args(["-device", "virtio-rng-pci"])
            .args(["-chardev", "file,id=console,path=console.log,append=on", "-serial", "chardev:console"])
            .args(["-serial", "stdio"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        if image.system == System::Instance {
            // A network with DHCP and nothing else, which ends in QEMU.
            command.args([
                "-smbios",
                EC2,
                "-netdev",
                "user,id=net,restrict=on",
                "-device",
                "virtio-net-pci,netdev=net",
            ]);
        }
        let mut child = command.spawn().context("cannot start QEMU")?;
        let report = child.stdout.take();
        Ok(Machine { child, report, console, deadline: Instant::now() + limit, _disk: disk })
    }

    /// Reads the guest's lines until the machine ends, or its time is over.
    pub(crate) fn follow(&mut self, mut each: impl FnMut(&str)) -> Result<()> {
        let report = self.report.take().context("the report was read already")?;
        let (lines, received) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(report).lines() {
                let Ok(line) = line else { return };
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        loop {
            match received.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => each(line.trim_end()),
                Err(RecvTimeoutError::Timeout) => {
                    each("| the machine's time is over");
                    self.child.kill()?;
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.child.wait()?;
        _ = reader.join();
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

/// A disk with the programs, and the script that starts them.
fn payload(folder: &Path, system: System, products: &Path, filter: Option<&str>) -> Result<()> {
    let files = folder.join("files");
    fs::create_dir(&files)?;
    for name in PROGRAMS {
        let from = products.join(name);
        ensure!(from.is_file(), "no {}\nHint: `cargo xtask vm` builds it", from.display());
        fs::copy(&from, files.join(name)).with_context(|| from.display().to_string())?;
    }
    if system == System::Instance {
        gateway::files(&files, &products.join("warren-tunnel"))?;
    }
    let filter = filter.unwrap_or_default();
    ensure!(!filter.contains('\''), "the name of a case has no quotation marks");
    let start = files.join("start");
    fs::write(&start, format!("{START} '{filter}'\n"))?;
    fs::set_permissions(&start, fs::Permissions::from_mode(0o755))?;
    disk(&files, &folder.join("payload.img"), "1G")?;
    fs::remove_dir_all(files)?;
    Ok(())
}
