//! A machine that needs no root of Debian: its initial file system has Debian's kernel modules, this build's programs, and the
//! programs of this machine that the cases use.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_programs::{Kernel, kernel, program};

use crate::payload;

/// What the cases start.
const USED: [&str; 16] = [
    "cat", "chmod", "ip", "ln", "mkdir", "modprobe", "mount", "nft", "ping", "setpriv", "sh", "sleep",
    "sysctl", "tc", "unshare", "wg",
];

/// The modules that the cases need are here, also where they are compressed.
const MODULES: [&str; 15] = [
    "arch/x86/crypto",
    "crypto",
    "drivers/net/tun.ko",
    "drivers/net/tun.ko.zst",
    "drivers/net/veth.ko",
    "drivers/net/veth.ko.zst",
    "drivers/net/wireguard",
    "lib",
    "net/core",
    "net/ipv4",
    "net/ipv6",
    "net/netfilter",
    "net/packet",
    "net/sched/sch_netem.ko",
    "net/sched/sch_netem.ko.zst",
];

const INIT: &str = r"#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mkdir -p /proc /sys /dev /tmp /run /var/run /root /etc
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
ln -s /proc/self/fd /dev/fd
echo 'nameserver 127.0.0.1' >/etc/resolv.conf
echo 'root:x:0:0::/root:/bin/sh' >/etc/passwd
modprobe tun
ip link set lo up
WARREN_TUNNEL=/mnt/warren-tunnel /mnt/warren-vm-guest ci >/dev/ttyS1
echo o >/proc/sysrq-trigger
sleep 60
";

/// Writes `vmlinuz` and `initrd.img` into `folder`.
pub(crate) fn build(folder: &Path, products: &Path) -> Result<()> {
    let kernel = kernel()?;
    let image = kernel.roots[0].join("boot").join(format!("vmlinuz-{}", kernel.release));
    fs::copy(image, folder.join("vmlinuz"))?;
    fs::set_permissions(folder.join("vmlinuz"), fs::Permissions::from_mode(0o644))?;
    let root = tempfile::tempdir_in(folder)?;
    let root = root.path();
    modules(&kernel, root)?;
    for name in USED {
        install(&program(name)?, root)?;
    }
    fs::create_dir(root.join("mnt"))?;
    payload::programs(&root.join("mnt"), products)?;
    for name in payload::PROGRAMS {
        libraries(&root.join("mnt").join(name), root)?;
    }
    let init = root.join("init");
    fs::write(&init, INIT)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    let mut archive = Archive(BufWriter::new(File::create(folder.join("initrd.img"))?), 0);
    archive.folder(root, "")?;
    archive.end()
}

fn modules(kernel: &Kernel, root: &Path) -> Result<()> {
    let folder = Path::new("lib/modules").join(&kernel.release);
    let to = root.join(&folder);
    fs::create_dir_all(&to)?;
    for from in kernel.roots.iter().map(|part| part.join(&folder)) {
        for name in ["modules.builtin", "modules.builtin.modinfo", "modules.order"] {
            if from.join(name).exists() {
                fs::copy(from.join(name), to.join(name)).with_context(|| name.to_owned())?;
            }
        }
        for name in MODULES {
            let part = from.join("kernel").join(name);
            if part.exists() {
                copy(&part, &to.join("kernel").join(name))?;
            }
        }
    }
    let status = Command::new(program("depmod")?).arg("-b").arg(root).arg(&kernel.release).status()?;
    ensure!(status.success(), "depmod: {status}");
    Ok(())
}

/// Copies a file, or all below a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().context("no folder")?)?;
        fs::copy(from, to).with_context(|| from.display().to_string())?;
        return Ok(());
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// A program under its own name, with its libraries.
fn install(path: &Path, root: &Path) -> Result<()> {
    let name = path.file_name().context("no name")?;
    copy(&path.canonicalize()?, &root.join("usr/bin").join(name))?;
    if name == "modprobe" {
        // The kernel starts it by this name.
        copy(&path.canonicalize()?, &root.join("sbin/modprobe"))?;
    }
    if name == "sh" {
        copy(&path.canonicalize()?, &root.join("bin/sh"))?;
    }
    libraries(path, root)
}

/// What the program loads when it starts, in the folders where it looks.
fn libraries(path: &Path, root: &Path) -> Result<()> {
    let output = Command::new("ldd").arg(path).output().context("ldd")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found: BTreeSet<PathBuf> = text
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'))
        .map(PathBuf::from)
        .collect();
    for library in found {
        let to = root.join(library.strip_prefix("/")?);
        if !to.exists() {
            copy(&library.canonicalize()?, &to)?;
        }
    }
    Ok(())
}

/// An archive that the kernel unpacks: cpio's format `newc` (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).
struct Archive<W>(W, u32);

impl<W: Write> Archive<W> {
    fn folder(&mut self, folder: &Path, name: &str) -> Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let separator = if name.is_empty() { "" } else { "/" };
            let name = format!("{name}{separator}{}", entry.file_name().to_string_lossy());
            let mode = entry.metadata()?.mode();
            if path.is_dir() {
                self.entry(&name, mode, &[])?;
                self.folder(&path, &name)?;
            } else {
                self.entry(&name, mode, &fs::read(&path)?)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, name: &str, mode: u32, data: &[u8]) -> Result<()> {
        self.1 += 1;
        let (size, named) = (u32::try_from(data.len())?, u32::try_from(name.len() + 1)?);
        // Inode, mode, owner, group, links, time, size, device (4), length of the name, checksum.
        let fields = [self.1, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, named, 0];
        write!(self.0, "070701")?;
        for field in fields {
            write!(self.0, "{field:08X}")?;
        }
        write!(self.0, "{name}\0")?;
        self.0.write_all(&[0; 4][..(4 - (110 + name.len() + 1) % 4) % 4])?;
        self.0.write_all(data)?;
        self.0.write_all(&[0; 4][..(4 - data.len() % 4) % 4])?;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        self.entry("TRAILER!!!", 0, &[])?;
        Ok(self.0.flush()?)
    }
}
