//! The pod's image as its users have it: built by podman, pushed to two registries, run as a container without privileges.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;
use warren_tunnel_tests::{
    Daemon, Device, Family, Implementation, Pair, Settings, Side, program, wait_for, web, workspace_root,
};

const BODY: &str = "through the tunnel";
const BASE: &str = "localhost/base:1";
/// What the base image has: programs of this machine, with their libraries.
const PROGRAMS: [&str; 6] = ["sh", "curl", "grep", "id", "mktemp", "sleep"];

/// Podman with images of its own, and two registries on loopback.
struct Workshop {
    folder: TempDir,
    registries: Vec<(u16, Daemon)>,
}

impl Workshop {
    fn open() -> Workshop {
        let folder = tempfile::Builder::new().prefix("warren-image-").tempdir().unwrap();
        let registries: Vec<_> = ["ecr", "google"].map(|name| registry(&folder.path().join(name))).into();
        let insecure: String = registries
            .iter()
            .map(|(port, _)| format!("[[registry]]\nlocation = \"127.0.0.1:{port}\"\ninsecure = true\n"))
            .collect();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let storage = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
            at("images"),
            at("run")
        );
        // As few needs of the machine as possible: no control groups, and no limit above what there is.
        let containers = "[containers]\ncgroups = \"disabled\"\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n\
                          [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n";
        for (name, text) in [
            ("storage.conf", storage.as_str()),
            ("containers.conf", containers),
            ("registries.conf", &insecure),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Workshop { folder, registries }
    }

    fn with(&self, mut command: Command) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        command.env("CONTAINERS_STORAGE_CONF", at("storage.conf"));
        command.env("CONTAINERS_REGISTRIES_CONF", at("registries.conf"));
        command.env("CONTAINERS_CONF", at("containers.conf"));
        command
    }

    fn podman(&self, arguments: &[&str]) -> Output {
        self.with(Command::new(program("podman").unwrap())).args(arguments).output().unwrap()
    }

    /// An image of a few programs of this machine and what they and the tunnel are linked with.
    fn base(&self) {
        let root = self.folder.path().join("base");
        for folder in ["bin", "tmp"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        let mut libraries = linked(&tunnel());
        for name in PROGRAMS {
            let path = program(name).unwrap();
            libraries.extend(linked(&path));
            fs::copy(path, root.join("bin").join(name)).unwrap();
        }
        for library in libraries {
            let to = root.join(library.strip_prefix("/").unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&library, to).unwrap();
        }
        let archive = self.folder.path().join("base.tar");
        let packed = Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg(".").output();
        succeeded(&packed.unwrap());
        succeeded(&self.podman(&["import", archive.to_str().unwrap(), BASE]));
    }

    /// What the workflow runs.
    fn publish(&self, names: &[&str]) -> Output {
        let script = workspace_root().join("examples/pod-image/publish.sh");
        let mut command = self.with(Command::new(script));
        command.args(names).env("BASE", BASE).env("BINARY", tunnel()).output().unwrap()
    }
}

fn tunnel() -> PathBuf {
    Implementation::WarrenTunnel.path().unwrap()
}

/// A registry that keeps its images in `folder`, and its port.
fn registry(folder: &Path) -> (u16, Daemon) {
    fs::create_dir(folder).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = folder.join("config.yml");
    let text = format!(
        "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: 127.0.0.1:{port}}}\n",
        folder.join("data").display()
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program("docker-registry").unwrap()).arg("serve").arg(config);
    let daemon = Daemon::start(&mut command).unwrap();
    wait_for(Duration::from_secs(10), "registry", || {
        Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(()))
    })
    .unwrap();
    (port, daemon)
}

/// The files that a program is linked with.
fn linked(program: &Path) -> BTreeSet<PathBuf> {
    let out = Command::new("ldd").arg(program).output().unwrap();
    text(&out.stdout)
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'))
        .map(PathBuf::from)
        .collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeded(out: &Output) -> String {
    assert!(out.status.success(), "{}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

#[test]
fn one_image_is_pushed_to_two_registries_and_runs_without_privileges() {
    let workshop = Workshop::open();
    workshop.base();
    let names: Vec<String> =
        workshop.registries.iter().map(|(port, _)| format!("127.0.0.1:{port}/acme/trainer:1")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = succeeded(&workshop.publish(&names));
    let images: Vec<&str> = told.lines().collect();
    assert_eq!(images.len(), 2, "{told}");
    for (image, name) in images.iter().zip(&names) {
        assert!(image.starts_with(&format!("{}@sha256:", name.trim_end_matches(":1"))), "{told}");
    }

    // What a pod pulls is what was pushed: nothing of it is left here.
    succeeded(&workshop.podman(&["rmi", "--all", "--force"]));
    succeeded(&workshop.podman(&["pull", images[1]]));

    let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
    let hosts = Pair::hosts().unwrap();
    let interfaces = Pair::interfaces(&settings).unwrap();
    let _gateway = Device::start(&Implementation::WarrenTunnel, &hosts[1], &interfaces[1]).unwrap();
    let url = web::serve(&hosts[1], Side::Right.inner(Family::V4), BODY).unwrap();
    // The namespace's own mounts have no control groups, which the container's runtime looks for.
    let mut command = workshop.with(hosts[0].command("unshare"));
    command.args([
        "--mount",
        "sh",
        "-c",
        "mount -t cgroup2 none /sys/fs/cgroup && exec podman \"$@\"",
        "podman",
    ]);
    command.args(["run", "--rm", "--network", "host", "--cap-drop", "all"]);
    command.args(["--security-opt", "no-new-privileges", "--env", "WARREN_WG_CONFIG"]);
    command.args(["--env", "WARREN_METRICS=off", images[1], "sh", "-c"]);
    command.arg(format!(
        "id -u; grep -h CapEff /proc/self/status; curl -sS {url}; echo; grep -aq warren-tunnel /proc/1/cmdline && echo first; exit 9"
    ));
    let out = command.env("WARREN_WG_CONFIG", interfaces[0].wg_quick()).output().unwrap();
    let expected = format!("65534\nCapEff:\t0000000000000000\n{BODY}\nfirst\n");
    assert_eq!((text(&out.stdout), out.status.code()), (expected, Some(9)), "{}", text(&out.stderr));
}

#[test]
fn without_a_base_or_a_name_the_script_says_how_it_is_called() {
    let script = workspace_root().join("examples/pod-image/publish.sh");
    let out = Command::new(script).arg("registry/name:1").env_remove("BASE").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("BASE=IMAGE BINARY=FILE publish.sh"), "{}", text(&out.stderr));
}
