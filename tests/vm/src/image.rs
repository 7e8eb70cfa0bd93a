//! The root of a release of Debian, with its own kernel: made once with mmdebstrap, and kept.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use warren_programs::program;

/// What the root holds beside Debian's essential packages: what the cases need, and what the images of clouds have, which start a
/// gateway with cloud-init (AWS) or Google's guest agent.
const PACKAGES: &[&str] = &[
    "ca-certificates",
    "cloud-init",
    "curl",
    "dbus",
    "e2fsprogs",
    "ethtool",
    "google-guest-agent",
    "iproute2",
    "iputils-ping",
    "isc-dhcp-client",
    "kmod",
    "linux-image-cloud-amd64",
    "netplan.io",
    "nftables",
    "procps",
    "systemd-resolved",
    "systemd-sysv",
    "udev",
    "wireguard-tools",
    "zstd",
];

/// The first process of the guest: what it starts is on the second disk. The initial file system has mounted /dev, /proc, /run, and
/// /sys.
const INIT: &str = r"#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -o ro /dev/vdb /mnt
exec /mnt/init
";

/// Finishes the root in `$1`: the initial file system holds the drivers of the machine's disk, and no others.
const FINISH: &str = r#"set -e
cp "$OUT/init" "$1/sbin/warren-vm-init"
chmod 755 "$1/sbin/warren-vm-init"
printf 'MODULES=list\nCOMPRESS=zstd\nRESUME=none\n' >"$1/etc/initramfs-tools/conf.d/warren-vm"
printf 'virtio_pci\nvirtio_blk\next4\n' >>"$1/etc/initramfs-tools/modules"
chroot "$1" update-initramfs -u
cp "$1"/boot/vmlinuz-* "$OUT/vmlinuz"
cp "$1"/boot/initrd.img-* "$OUT/initrd.img"
rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/boot/*
"#;

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Release {
    /// Debian 12, with Linux 6.1
    Bookworm,
    /// Debian 13, with Linux 6.12
    Trixie,
}

impl Release {
    /// All that are tested.
    pub(crate) const ALL: &[Release] = &[Release::Bookworm, Release::Trixie];
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Release::Bookworm => "bookworm",
            Release::Trixie => "trixie",
        })
    }
}

/// The root and the kernel of a release.
#[derive(Debug)]
pub(crate) struct Image {
    /// Has `vmlinuz`, `initrd.img`, and `root.img`.
    pub(crate) folder: PathBuf,
}

impl Image {
    /// The kept image, or a new one if there is none, or none of this recipe.
    pub(crate) fn of(release: Release, folder: &Path, refresh: bool) -> Result<Image> {
        let packages = PACKAGES.join(",");
        let kept = folder.join(release.to_string());
        let recipe = format!("{release}\n{packages}\n{INIT}\n{FINISH}");
        let known = fs::read_to_string(kept.join("recipe")).is_ok_and(|known| known == recipe);
        if refresh || !known {
            let new = tempfile::Builder::new().prefix("new-").tempdir_in(folder)?;
            build(release, &packages, new.path())?;
            fs::write(new.path().join("recipe"), recipe)?;
            if kept.exists() {
                fs::remove_dir_all(&kept)?;
            }
            fs::rename(new.keep(), &kept)?;
        }
        Ok(Image { folder: kept })
    }
}

/// Fills the folder `new`.
fn build(release: Release, packages: &str, new: &Path) -> Result<()> {
    let mmdebstrap = program("mmdebstrap")?;
    ensure!(
        rustix::process::geteuid().is_root(),
        "only root can build a root of Debian with its devices and owners\nHint: run this command once as root"
    );
    fs::set_permissions(new, fs::Permissions::from_mode(0o755))?;
    fs::write(new.join("init"), INIT)?;
    let root = new.join("root");
    let log = new.with_file_name(format!("{release}-build.log"));
    let file = fs::File::create(&log)?;
    let without = ["doc", "locale", "man"].map(|name| format!("--dpkgopt=path-exclude=/usr/share/{name}/*"));
    let status = Command::new(mmdebstrap)
        .args(["--mode=root", "--variant=apt", "--format=directory"])
        .arg(format!("--include={packages}"))
        .arg("--aptopt=APT::Install-Recommends \"false\"")
        .args(without)
        .arg(format!("--customize-hook={FINISH}"))
        .arg(release.to_string())
        .arg(&root)
        .env("OUT", new)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .context("cannot start mmdebstrap")?;
    ensure!(status.success(), "mmdebstrap failed: {status}\n{}\nHint: {}", tail(&log), log.display());
    disk(&root, &new.join("root.img"), "3G")?;
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// Makes a disk of a folder.
pub(crate) fn disk(folder: &Path, image: &Path, size: &str) -> Result<()> {
    let mut command = Command::new(program("mke2fs")?);
    let output = command.args(["-q", "-t", "ext4", "-d"]).args([folder, image]).arg(size).output()?;
    ensure!(output.status.success(), "mke2fs: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// The last lines of a file.
pub(crate) fn tail(path: &Path) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}
