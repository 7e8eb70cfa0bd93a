//! The root of a release of Debian, with its own kernel: made once with mmdebstrap, and kept.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use warren_programs::program;

/// What the root holds beside Debian's essential packages.
const PACKAGES: &str = "linux-image-cloud-amd64,e2fsprogs,ethtool,iproute2,iputils-ping,kmod,nftables,procps,\
                        systemd-sysv,udev,wireguard-tools,zstd";

/// The first process of the guest. The initial file system has mounted /dev, /proc, /run, and /sys.
const INIT: &str = r"#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t tmpfs tmpfs /tmp
modprobe tun
mount -o ro /dev/vdb /mnt
ip link set lo up
/mnt/start >/dev/ttyS1
echo o >/proc/sysrq-trigger
sleep 60
";

/// Further packages of an instance, which the images of clouds have too.
const CLOUD: &str = "ca-certificates,cloud-init,curl,dbus,isc-dhcp-client,netplan.io,systemd-resolved";

/// The parameter store's address.
const ENDPOINT: &str = "[Service]\nEnvironment=AWS_ENDPOINT_URL=http://169.254.169.254\n";

/// Files of the root of an instance: the metadata service starts before cloud-init, and the cases run after it. Besides its user
/// data, the gateway gets one setting: the address of the parameter store, which is not that of AWS.
const FILES: &[(&str, &str)] = &[
    (
        "etc/systemd/system/warren-vm-metadata.service",
        "[Unit]
DefaultDependencies=no
After=systemd-remount-fs.service
Before=cloud-init-local.service
[Service]
ExecStartPre=/bin/mount -o ro /dev/vdb /mnt
ExecStartPre=/sbin/ip link set lo up
ExecStartPre=/sbin/ip address add 169.254.169.254/32 dev lo
ExecStart=/mnt/warren-vm-guest metadata
[Install]
WantedBy=sysinit.target
",
    ),
    (
        "etc/systemd/system/warren-vm-cases.service",
        "[Unit]
Wants=warren-vm-metadata.service
After=warren-vm-metadata.service dbus.service
[Service]
ExecStart=/bin/sh -c '/mnt/start instance >/dev/ttyS1; systemctl --no-block poweroff --force --force'
[Install]
WantedBy=multi-user.target
",
    ),
    ("etc/systemd/system/warren-fetch.service.d/endpoint.conf", ENDPOINT),
    ("etc/systemd/system/warren-refresh.service.d/endpoint.conf", ENDPOINT),
    ("etc/cloud/cloud.cfg.d/99-warren-vm.cfg", "datasource_list: [Ec2]\nusers: []\n"),
];

/// Finishes the root in `$1`: the initial file system holds the drivers of the machine's disk, and no others.
const FINISH: &str = r#"set -e
cp "$OUT/init" "$1/sbin/warren-vm-init"
chmod 755 "$1/sbin/warren-vm-init"
printf 'MODULES=list\nCOMPRESS=zstd\nRESUME=none\n' >"$1/etc/initramfs-tools/conf.d/warren-vm"
printf 'virtio_pci\nvirtio_blk\next4\n' >>"$1/etc/initramfs-tools/modules"
chroot "$1" update-initramfs -u
cp -r "$OUT/files/." "$1/"
for unit in $UNITS; do chroot "$1" systemctl enable "$unit"; done
if [ -n "$UNITS" ]; then ln -s /mnt/warren-tunnel "$1/usr/local/bin/warren-tunnel"; fi
cp "$1"/boot/vmlinuz-* "$OUT/vmlinuz"
cp "$1"/boot/initrd.img-* "$OUT/initrd.img"
rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*
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

/// What boots in a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// The cases alone: it takes the least time.
    Bare,
    /// systemd and cloud-init, as in an instance of AWS.
    Instance,
}

impl System {
    /// The kernel's argument.
    pub(crate) fn init(self) -> &'static str {
        match self {
            System::Bare => "init=/sbin/warren-vm-init",
            System::Instance => "systemd.show_status=0",
        }
    }
}

/// The root and the kernel of a release.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) system: System,
    /// Has `vmlinuz`, `initrd.img`, and `root.img`.
    pub(crate) folder: PathBuf,
}

impl Image {
    /// The kept image, or a new one if there is none, or none of this recipe.
    pub(crate) fn of(release: Release, system: System, folder: &Path, refresh: bool) -> Result<Image> {
        let (suffix, packages, files) = match system {
            System::Bare => ("", PACKAGES.to_owned(), &[][..]),
            System::Instance => ("-instance", format!("{PACKAGES},{CLOUD}"), FILES),
        };
        let kept = folder.join(format!("{release}{suffix}"));
        let recipe = format!("{release}\n{packages}\n{INIT}\n{FINISH}\n{files:?}");
        let known = fs::read_to_string(kept.join("recipe")).is_ok_and(|known| known == recipe);
        if refresh || !known {
            let new = tempfile::Builder::new().prefix("new-").tempdir_in(folder)?;
            build(release, &packages, files, new.path())?;
            fs::write(new.path().join("recipe"), recipe)?;
            if kept.exists() {
                fs::remove_dir_all(&kept)?;
            }
            fs::rename(new.keep(), &kept)?;
        }
        Ok(Image { system, folder: kept })
    }
}

/// Fills the folder `new`.
fn build(release: Release, packages: &str, files: &[(&str, &str)], new: &Path) -> Result<()> {
    let mmdebstrap = program("mmdebstrap")?;
    ensure!(
        rustix::process::geteuid().is_root(),
        "only root can build a root of Debian with its devices and owners\nHint: run this command once as root"
    );
    fs::set_permissions(new, fs::Permissions::from_mode(0o755))?;
    fs::write(new.join("init"), INIT)?;
    fs::create_dir(new.join("files"))?;
    for (name, text) in files {
        let path = new.join("files").join(name);
        fs::create_dir_all(path.parent().unwrap_or(new))?;
        fs::write(path, text)?;
    }
    let units: Vec<&str> = files
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("etc/systemd/system/"))
        .filter(|name| !name.contains('/'))
        .collect();
    let root = new.join("root");
    let log = new.with_file_name(format!("{release}-build.log"));
    let file = fs::File::create(&log)?;
    let status = Command::new(mmdebstrap)
        .args(["--mode=root", "--variant=apt", "--format=directory"])
        .arg(format!("--include={packages}"))
        .arg("--aptopt=APT::Install-Recommends \"false\"")
        .arg(format!("--customize-hook={FINISH}"))
        .arg(release.to_string())
        .arg(&root)
        .env("OUT", new)
        .env("UNITS", units.join(" "))
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
