//! Files: Landlock permits what the process needs, and nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::process::geteuid;

use super::folder;

/// The newest ABI that is known here. Older kernels have less of it.
const NEWEST: ABI = ABI::V6;

/// Programs and libraries of the machine, in which there are no secrets: name services load libraries, TLS reads roots.
const SYSTEM: [&str; 8] = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store"];
/// What the C library and TLS read.
const READ: [&str; 28] = [
    "/proc",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    "/sys/class/net",
    "/dev/random",
    "/dev/urandom",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/passwd",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/iproute2",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/run/systemd/resolve",
    "/var/lib/ca-certificates",
];
/// Folders with much else in them: of these, only the file itself.
const SHARED: [&str; 17] = [
    "/",
    "/etc",
    "/root",
    "/home",
    "/usr",
    "/var",
    "/var/lib",
    "/var/tmp",
    "/run",
    "/tmp",
    "/dev",
    "/proc",
    "/sys",
    "/mnt",
    "/opt",
    "/srv",
    "/workspace",
];
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The files and folders that a process needs, besides those of the system.
#[derive(Debug, Clone, Default)]
pub struct Files {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    execute: Vec<PathBuf>,
    programs: bool,
}

impl Files {
    /// A file that is read, also after another one has replaced it.
    pub fn read(&mut self, file: &Path) {
        self.read.push(beside(file));
        self.read.push(file.to_owned());
        // A link may lead elsewhere.
        if let Ok(target) = fs::canonicalize(file) {
            self.read.push(beside(&target));
            self.read.push(target);
        }
    }

    /// A file that is written, and made or replaced in its folder. In a shared folder, it is made now and written where it is.
    pub fn write(&mut self, file: &Path) {
        let place = beside(file);
        if place == file {
            // What keeps it from being made is reported by the one who needs it.
            _ = fs::File::options().append(true).create(true).mode(0o600).open(file);
        }
        self.write.push(place);
    }

    /// A folder in which files are made, written, and removed.
    pub fn folder(&mut self, folder: &Path) {
        self.write.push(folder.to_owned());
    }

    /// One file that is written where it is.
    pub fn in_place(&mut self, file: &Path) {
        self.write.push(file.to_owned());
    }

    /// A device that is opened.
    pub fn device(&mut self, device: &Path) {
        self.devices.push(device.to_owned());
    }

    /// Programs of the machine, and this one, which may be elsewhere.
    pub fn programs(&mut self, also: Option<&Path>) {
        self.programs = true;
        self.execute.extend(also.map(Path::to_owned));
    }

    /// Whether this user, without capabilities, might not reach all of them.
    pub(super) fn of_others(&self) -> bool {
        let user = geteuid().as_raw();
        let lacks = |path: &Path, wanted: u32| {
            fs::metadata(path).is_ok_and(|found| found.uid() != user && found.mode() & wanted != wanted)
        };
        let closed = |path: &PathBuf, wanted: u32| {
            std::path::absolute(path).is_ok_and(|path| {
                lacks(&path, wanted) || path.ancestors().skip(1).any(|above| lacks(above, 0o001))
            })
        };
        self.read.iter().any(|path| closed(path, 0o004)) || self.write.iter().any(|path| closed(path, 0o002))
    }
}

/// The folder of a file, unless there is much else in it.
fn beside(file: &Path) -> PathBuf {
    let folder = folder(file);
    let absolute = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
    if is_shared(&absolute) { file.to_owned() } else { folder }
}

fn is_shared(folder: &Path) -> bool {
    SHARED.iter().any(|shared| folder == Path::new(shared))
        || folder.parent() == Some(Path::new("/home"))
        || std::env::var_os("HOME").is_some_and(|home| folder == Path::new(&home))
}

/// Restricts the calling thread, and returns the ABI in force.
pub(super) fn restrict(files: &Files) -> Result<u32, String> {
    let list = AccessFs::ReadFile | AccessFs::ReadDir;
    let system = if files.programs { list | AccessFs::Execute } else { list };
    let all = AccessFs::from_all(NEWEST);
    let mut rules: Vec<(PathBuf, BitFlags<AccessFs>)> = Vec::new();
    rules.extend(SYSTEM.map(|path| (path.into(), system)));
    rules.extend(READ.map(|path| (path.into(), list)));
    rules.push(("/dev/null".into(), AccessFs::ReadFile | AccessFs::WriteFile));
    rules.extend(name_servers().into_iter().map(|path| (path, list)));
    rules.extend(certificates().into_iter().map(|path| (path, list)));
    rules.extend(files.read.iter().map(|path| (path.clone(), list)));
    let write = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    rules.extend(files.write.iter().map(|path| (path.clone(), write)));
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    rules.extend(files.devices.iter().map(|path| (path.clone(), device)));
    rules.extend(files.execute.iter().map(|path| (path.clone(), list | AccessFs::Execute)));

    let text = |error: landlock::RulesetError| error.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(text)?;
    for (path, access) in rules {
        // What is not there needs no right.
        let Ok(opened) = PathFd::new(&path) else { continue };
        let is_folder = fs::metadata(&path).is_ok_and(|found| found.is_dir());
        let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
        ruleset = ruleset.add_rule(PathBeneath::new(opened, access)).map_err(text)?;
    }
    let status = ruleset.restrict_self().map_err(text)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel has none, or it is not enabled at boot".to_owned());
    }
    Ok(version(&status.landlock))
}

/// The version in force, at most [`NEWEST`].
fn version(status: &landlock::LandlockStatus) -> u32 {
    match status {
        landlock::LandlockStatus::Available { effective_abi, .. } => {
            (*effective_abi as u32).min(NEWEST as u32)
        }
        _ => 0,
    }
}

/// Where the file with the name servers is. Programs of the machine replace it, also by another file of its name: where it is a
/// plain file in `/etc`, all of `/etc` can be read.
fn name_servers() -> Vec<PathBuf> {
    let file = Path::new(RESOLV_CONF);
    let mut found = vec![file.to_owned()];
    match fs::canonicalize(file) {
        Ok(target) if target != file => found.push(beside(&target)),
        Ok(_) if !is_mounted(file) => found.push(folder(file)),
        _ => {}
    }
    found
}

/// Whether a file is a mount of its own, as in containers: then nothing replaces it.
fn is_mounted(file: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(4).is_some_and(|at| Path::new(at) == file))
}

/// Where variables say that root certificates are.
fn certificates() -> Vec<PathBuf> {
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os);
    named.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>()).collect()
}
