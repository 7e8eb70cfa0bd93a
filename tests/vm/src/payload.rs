//! The second disk of a machine: the programs of this build, the first process, and what an instance finds in place of its cloud.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_programs::program;

use crate::gateway::{self, Cloud};
use crate::image::disk;

/// The programs of this build that the guest has.
pub(crate) const PROGRAMS: [&str; 2] = ["warren-tunnel", "warren-vm-guest"];

/// The first process where no systemd is: the cases alone.
const KERNEL: &str = r"#!/bin/sh
mount -t tmpfs tmpfs /tmp
modprobe tun
ip link set lo up
/mnt/start kernel >/dev/ttyS1
echo o >/proc/sysrq-trigger
sleep 60
";

/// Starts the cases of a role, which report on the second serial line.
const START: &str = "#!/bin/sh\nWARREN_TUNNEL=/mnt/warren-tunnel exec /mnt/warren-vm-guest \"$1\"";

/// Prepares an instance, whose first process is systemd. What is written to its disk is on the disk before systemd starts, so that a
/// cut of the power cannot take it.
const INSTANCE: &str = r"#!/bin/sh
mkdir -p /run/systemd/system
cp -r /mnt/units/. /run/systemd/system/
cp -r /mnt/etc/. /etc/
rm -f /usr/local/sbin/mv
if grep -q warren.points /proc/cmdline; then
  ln -s /mnt/mv /usr/local/sbin/mv
  cp -r /mnt/points/. /run/systemd/system/
fi
PREPARE
sync
exec /lib/systemd/systemd
";

/// Units that the gateway has nothing to do with, and that delay the boot, and those of the other cloud.
const MASKED: [&str; 24] = [
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "cloud-init-hotplugd.socket",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "modprobe@configfs.service",
    "modprobe@drm.service",
    "modprobe@efi_pstore.service",
    "modprobe@fuse.service",
    "proc-sys-fs-binfmt_misc.automount",
    "run-lock.mount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-logind.service",
    "systemd-pstore.service",
    "systemd-resolved.service",
    "systemd-udev-load-credentials.service",
    "systemd-user-sessions.service",
];
const OF_AWS: [&str; 5] = [
    "cloud-config.service",
    "cloud-final.service",
    "cloud-init-local.service",
    "cloud-init-main.service",
    "cloud-init-network.service",
];
const OF_GOOGLE: [&str; 3] =
    ["google-guest-agent.service", "google-shutdown-scripts.service", "google-startup-scripts.service"];

/// Only the network and its card are of interest among the devices that are there at the boot.
const DEVICES: &str = "[Service]
ExecStart=
ExecStart=udevadm trigger --action=add --subsystem-match=net --subsystem-match=virtio --subsystem-match=pci
";

/// The services of the cloud, which are there before anything asks for them.
const METADATA: &str = "[Unit]
DefaultDependencies=no
After=systemd-remount-fs.service
Before=cloud-init-local.service network-pre.target
[Service]
ExecStartPre=/sbin/ip link set lo up
ExecStartPre=/sbin/ip address add 169.254.169.254/32 dev lo
ExecStart=/mnt/warren-vm-guest metadata
";

/// The cases. An instance that was booted from its image is rebooted after them.
const CASES: &str = "[Unit]
Wants=warren-vm-metadata.service
After=warren-vm-metadata.service dbus.service
[Service]
ExecStart=/mnt/cases
";
const RUN: &str = r"#!/bin/sh
if grep -q warren.points /proc/cmdline; then exit; fi
role=$(sed 's/.*warren\.role=\([a-z]*\).*/\1/' /proc/cmdline)
/mnt/start $role >/dev/ttyS1
case $role in
aws | google) systemctl --no-block reboot ;;
*) systemctl --no-block poweroff --force --force ;;
esac
";

/// Points at which the host may cut the power. The script reports the point to the host, and waits for an answer, which comes if
/// the boot is to continue. It opens the line before it reports, so that the answer is not lost.
const POINT: &str = r#"#!/bin/sh
grep -q warren.points /proc/cmdline || exit 0
exec 3<>/dev/ttyS1
echo "point $*" >&3
read -r answer <&3
"#;
const MV: &str = r#"#!/bin/sh
for last; do :; done
/mnt/point "before $last"
/bin/mv "$@" || exit
/mnt/point "after $last"
"#;
/// The file of leases exists, and is not a database yet.
const LEASES: &str = r"#!/bin/sh
grep -q warren.points /proc/cmdline || exit 0
until [ -e /var/lib/warren/leases.redb ]; do :; done
exec /mnt/point leases
";

/// Settings of the gateway's units that its user data has not: where the secrets of the cloud are, and points in a boot that has them.
const FETCH: &str = "[Service]
Environment=AWS_ENDPOINT_URL=http://169.254.169.254
Environment=CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER=http://169.254.169.254
";
const FETCHED: &str = "[Service]
DeviceAllow=/dev/ttyS1 rw
ExecStartPost=+/mnt/point secrets
";
const STARTED: &str = "[Service]
DeviceAllow=/dev/ttyS1 rw
ExecStartPost=+/mnt/point gateway
ExecStartPost=+/mnt/leases
";

/// Files of the root: a network, the name of Google's metadata service as in its images, and a file of someone else that `sysctl
/// --system` fails at.
const ROOT: &[(&str, &str)] = &[
    ("cloud/cloud.cfg.d/99-warren-vm.cfg", CLOUD_INIT),
    ("systemd/network/20-dhcp.network", "[Match]\nName=en* eth*\n[Network]\nDHCP=yes\n"),
    ("hosts", "127.0.0.1 localhost\n169.254.169.254 metadata.google.internal metadata\n"),
    ("sysctl.d/99-zz-foreign.conf", "net.ipv4.ip_forward = refused\nno.such.key = 1\n"),
];

/// No modules of the distribution: they set up users, disks, and packages, and take longer than all else.
const CLOUD_INIT: &str = "datasource_list: [Ec2]
network: {config: disabled}
users: []
cloud_init_modules: []
cloud_config_modules: []
cloud_final_modules: []
";

/// What a machine boots into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// The cases alone: it takes the least time.
    Bare,
    /// systemd, and what sets up an instance of the cloud.
    Instance(Cloud),
}

/// Makes `payload.img` in `folder`.
pub(crate) fn payload(folder: &Path, system: System, products: &Path, filter: Option<&str>) -> Result<()> {
    let files = folder.join("files");
    fs::create_dir(&files)?;
    programs(&files, products)?;
    let filter = filter.unwrap_or_default();
    ensure!(!filter.contains('\''), "the name of a case has no quotation marks");
    script(&files.join("start"), &format!("{START} '{filter}'\n"))?;
    match system {
        System::Bare => script(&files.join("init"), KERNEL)?,
        System::Instance(cloud) => instance(&files, cloud)?,
    }
    disk(&files, &folder.join("payload.img"), "256M")?;
    fs::remove_dir_all(files)?;
    Ok(())
}

/// Copies the programs of this build, without what only debuggers read: it is most of them.
pub(crate) fn programs(folder: &Path, products: &Path) -> Result<()> {
    let strip = program("strip")?;
    for name in PROGRAMS {
        let from = products.join(name);
        ensure!(from.is_file(), "no {}\nHint: `cargo xtask vm` builds it", from.display());
        let status =
            Command::new(&strip).arg("--strip-all").arg("-o").arg(folder.join(name)).arg(&from).status();
        ensure!(status?.success(), "cannot strip {}", from.display());
    }
    Ok(())
}

fn instance(files: &Path, cloud: Cloud) -> Result<()> {
    gateway::files(cloud, files, &files.join("warren-tunnel"))?;
    // Google's image has no curl here; EC2's has.
    let prepare = if cloud == Cloud::Google { "rm -f /usr/bin/curl" } else { "" };
    script(&files.join("init"), &INSTANCE.replace("PREPARE", prepare))?;
    for (name, text) in [("cases", RUN), ("point", POINT), ("mv", MV), ("leases", LEASES)] {
        script(&files.join(name), text)?;
    }
    for (name, text) in ROOT {
        write(&files.join("etc").join(name), text)?;
    }
    let units = files.join("units");
    write(&units.join("warren-vm-metadata.service"), METADATA)?;
    write(&units.join("warren-vm-cases.service"), CASES)?;
    write(&units.join("warren-fetch.service.d/vm.conf"), FETCH)?;
    write(&units.join("warren-refresh.service.d/vm.conf"), FETCH)?;
    write(&files.join("points/warren-fetch.service.d/point.conf"), FETCHED)?;
    write(&files.join("points/warren-gateway.service.d/point.conf"), STARTED)?;
    write(&units.join("systemd-udev-trigger.service.d/vm.conf"), DEVICES)?;
    let wanted = [
        ("sysinit", "warren-vm-metadata", ".."),
        ("multi-user", "warren-vm-cases", ".."),
        ("multi-user", "systemd-networkd", "/usr/lib/systemd/system"),
        ("network-online", "systemd-networkd-wait-online", "/usr/lib/systemd/system"),
    ];
    for (target, unit, folder) in wanted {
        let wants = units.join(format!("{target}.target.wants"));
        fs::create_dir_all(&wants)?;
        symlink(format!("{folder}/{unit}.service"), wants.join(format!("{unit}.service")))?;
    }
    let other = if cloud == Cloud::Aws { &OF_GOOGLE[..] } else { &OF_AWS[..] };
    for unit in MASKED.iter().chain(other) {
        symlink("/dev/null", units.join(unit))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("no folder")?)?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn script(path: &Path, text: &str) -> Result<()> {
    write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
