//! The script runs with a folder as its root; recorders replace the programs that would change the machine.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path as File, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest as _, Sha256};

use super::*;

const BINARY: &[u8] = b"#!/bin/sh\necho warren-tunnel\n";

fn sources() -> Sources {
    let of = |name: &str| Source::AwsSsm(format!("/warren/gw-a/{name}"));
    Sources { config: of("config"), wireguard_key: of("wireguard"), tls_key: of("tls") }
}

fn release(url: &str) -> Release {
    let digest: String = Sha256::digest(BINARY).iter().map(|byte| format!("{byte:02x}")).collect();
    Release { url: url.to_owned(), sha256: digest }
}

#[test]
fn the_script_of_an_instance() {
    let release = Release { url: "https://example.com/warren-tunnel".into(), sha256: "ab".repeat(32) };
    insta::assert_snapshot!(script(Run::CloudInit, Some(&release), &sources(), &Extras::default()).unwrap());
    let google = script(Run::GuestAgent, None, &sources(), &Extras::default()).unwrap();
    assert!(google.starts_with("#!/bin/sh\n"), "{google}");
    assert!(google.contains("the image does not contain"), "{google}");
}

#[test]
fn logs_go_to_the_service_of_the_cloud() {
    let plain = script(Run::CloudInit, None, &sources(), &Extras::default()).unwrap();
    let added = |run, logs: Logs| {
        let extras = Extras { logs: Some(logs), ..Extras::default() };
        let all = script(run, None, &sources(), &extras).unwrap();
        all.lines().filter(|line| !plain.contains(line)).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(added(Run::CloudInit, Logs::CloudWatch("/warren/gw-a".to_owned())));
    assert_eq!(
        added(Run::GuestAgent, Logs::Console),
        "StandardOutput=journal+console\nStandardError=journal+console\n".repeat(4).trim_end()
    );
}

/// `sysctl --system` of the machine fails at a key of another file. The real program sets the keys of the gateway in a
/// network namespace, where the kernel also refuses some of them.
#[test]
fn a_foreign_sysctl_does_not_stop_the_boot() {
    let machine = Machine::new();
    std::fs::remove_file(machine.folder("programs/sysctl")).unwrap();
    let foreign = machine.folder("root/etc/sysctl.d/99-zz-foreign.conf");
    std::fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    std::fs::write(&foreign, "net.ipv4.ip_forward = refused\n").unwrap();
    let there = "mount --bind \"$WARREN_ROOT/etc/sysctl.d\" /etc/sysctl.d";
    let within = |commands: &str| {
        let commands = format!("{there} && {commands}");
        machine.run(Command::new("unshare").args(["--mount", "--net", "sh", "-c", &commands]))
    };
    let refused = within("sysctl --quiet --system");
    assert!(!refused.status.success(), "the foreign file is accepted");

    std::fs::write(
        machine.folder("boot.sh"),
        script(Run::CloudInit, None, &sources(), &Extras::default()).unwrap(),
    )
    .unwrap();
    let boot = machine.folder("boot.sh").display().to_string();
    let booted = within(&format!("sh {boot} && cat /proc/sys/net/ipv4/ping_group_range"));
    assert!(booted.status.success(), "{}", String::from_utf8_lossy(&booted.stderr));
    let range: Vec<String> =
        String::from_utf8_lossy(&booted.stdout).split_whitespace().map(str::to_owned).collect();
    assert_eq!(range, ["0", "2147483647"]);
    let calls = std::fs::read_to_string(machine.calls()).unwrap();
    assert!(calls.contains("systemctl start --no-block"), "{calls}");
}

#[test]
fn addresses_and_digests_are_checked() {
    let mut told = Diagnostics::default();
    check_url(&Value::from("https://example.com/a?b=c&d"), &Path::of("url"), &mut told);
    check_sha256(&Value::from("0a".repeat(32)), &Path::of("sha256"), &mut told);
    assert!(told.is_empty());
    for url in
        ["ftp://example.com", "https://example.com/';reboot'", "https://example.com/$(id)", "https://a b"]
    {
        check_url(&Value::from(url), &Path::of("url"), &mut told);
    }
    check_sha256(&Value::from("0A".repeat(32)), &Path::of("sha256"), &mut told);
    assert_eq!(told.0.len(), 5);
}

/// A machine: its root folder, and a folder of recorders.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        for program in ["systemctl", "systemd-sysusers", "sysctl"] {
            machine.program(program, &format!("echo {program} \"$@\" >> {}", machine.calls().display()));
        }
        machine.program("sync", &format!("echo sync \"${{1##*/}}\" >> {}", machine.calls().display()));
        machine
    }

    /// A program of the machine that runs these commands.
    fn program(&self, name: &str, commands: &str) {
        let path = self.folder("programs").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{commands}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn calls(&self) -> PathBuf {
        self.folder("calls")
    }

    fn boot(&self, script: &str) -> Output {
        self.run(Command::new("sh").args(["-c", script]))
    }

    /// Runs the script and kills it before its `step`th command.
    fn cut(&self, script: &str, step: usize) -> Output {
        let trap =
            format!("step=0; set -T; trap 'step=$((step + 1)); [ $step -ne {step} ] || kill -9 $$' DEBUG\n");
        self.run(Command::new("bash").args(["-c", &format!("{trap}{script}")]))
    }

    fn install(&self) -> Output {
        self.run(Command::new(self.folder("root/usr/local/lib/warren/install")).arg("once"))
    }

    fn run(&self, command: &mut Command) -> Output {
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.folder("programs").display()))
            .env("WARREN_ROOT", self.folder("root"))
            .output()
            .unwrap()
    }

    /// All files with their modes and contents.
    fn files(&self) -> BTreeMap<PathBuf, (u32, String)> {
        let mut files = BTreeMap::new();
        collect(&self.folder("root"), &mut files);
        files
    }
}

fn collect(folder: &File, files: &mut BTreeMap<PathBuf, (u32, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), files);
        } else {
            let path = entry.path();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.components().skip_while(|part| part.as_os_str() != "root").skip(1).collect();
            files.insert(name, (mode, text));
        }
    }
}

#[test]
fn a_boot_that_was_cut_off_anywhere_is_made_good_by_the_next() {
    let script =
        script(Run::CloudInit, Some(&release("https://example.com/x")), &sources(), &Extras::default())
            .unwrap();
    let undisturbed = Machine::new();
    let first = undisturbed.boot(&script);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let (files, calls) = (undisturbed.files(), std::fs::read_to_string(undisturbed.calls()).unwrap());
    assert!(calls.trim_end().ends_with("warren-restart.path") && calls.contains("--no-block"), "{calls}");
    assert_eq!(files.len(), 13, "{:?}", files.keys());
    for name in files.keys() {
        let name = name.file_name().unwrap().to_str().unwrap();
        assert!(
            calls.contains(&format!("sync {name}.new\n")),
            "{name} is not on the disk before it has its name"
        );
    }

    let mut cuts = 0;
    for step in 1.. {
        let machine = Machine::new();
        let cut = machine.cut(&script, step);
        if cut.status.success() {
            break;
        }
        cuts += 1;
        // What is there by its own name is whole.
        if machine.folder("root").exists() {
            for (name, file) in machine.files() {
                if name.extension().is_none_or(|extension| extension != "new") {
                    assert!(
                        files.get(&name).is_some_and(|whole| whole.1 == file.1),
                        "{name:?} at step {step}"
                    );
                }
            }
        }
        let next = machine.boot(&script);
        assert!(next.status.success(), "step {step}: {}", String::from_utf8_lossy(&next.stderr));
        assert_eq!(machine.files(), files, "step {step}");
        assert!(std::fs::read_to_string(machine.calls()).unwrap().ends_with(&calls), "step {step}");
    }
    assert!(cuts > 50, "{cuts} steps");
}

/// The real script of a volume: a new one is formatted once, and one with anything on it is never formatted.
#[test]
fn only_a_new_volume_is_formatted() {
    let ebs = Machine::new();
    let device = ebs.folder("device");
    ebs.program("warren-tunnel", &format!("echo {}", device.display()));
    // The binary is where no test can install it, and a file stands for the device.
    let within = |text: String| text.replace("/usr/local/bin/warren-tunnel", "warren-tunnel");
    formats_only_a_new_volume(&ebs, Volume::Ebs("vol-1".to_owned()), &device, within);

    let google = Machine::new();
    let device = google.folder("device");
    let path = device.display().to_string();
    formats_only_a_new_volume(&google, Volume::Device(path), &device, |text| text);
}

fn formats_only_a_new_volume(
    machine: &Machine,
    volume: Volume,
    device: &File,
    within: impl Fn(String) -> String,
) {
    let extras = Extras { volume: Some(volume), ..Extras::default() };
    let script = script(Run::CloudInit, None, &sources(), &extras).unwrap();
    assert!(machine.boot(&script).status.success());
    let disk = machine.folder("root/usr/local/lib/warren/disk");
    std::fs::write(&disk, within(std::fs::read_to_string(&disk).unwrap())).unwrap();
    for (program, does) in [("mount", "true"), ("mountpoint", "false")] {
        let told = format!("echo {program} \"$@\" >> {}\n{does}", machine.calls().display());
        machine.program(program, &told);
    }
    // A file has no sectors of its own.
    machine.program("blockdev", &format!("echo $(($(stat --format %s {}) / 512))", device.display()));
    let run = || machine.run(Command::new(&disk).arg("once"));
    let read = || std::fs::read(device).unwrap();

    std::fs::write(device, vec![0; 16 << 20]).unwrap();
    let done = run();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let formatted = read();
    assert_eq!(formatted[1080..1082], [0x53, 0xef], "the mark of ext4");
    assert!(run().status.success());
    assert!(read() == formatted, "formatted again");

    // The first time, mkfs is killed after it has written something, and the second time after its end.
    let whole = warren_programs::program("mkfs.ext4").unwrap();
    let part = format!("printf x | dd of={} bs=1 seek=5000 conv=notrunc status=none", device.display());
    std::fs::write(device, vec![0; 16 << 20]).unwrap();
    for before in [part, format!("{} \"$@\"", whole.display())] {
        machine.program("mkfs.ext4", &format!("{before}\nkill -9 $$"));
        assert!(!run().status.success());
        assert!(read().iter().any(|byte| *byte != 0));
    }
    machine.program("mkfs.ext4", &format!("exec {} \"$@\"", whole.display()));
    let done = run();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let formatted = read();
    assert_eq!(formatted[1080..1082], [0x53, 0xef], "the mark of ext4");
    assert!(run().status.success());
    assert!(read() == formatted, "formatted again");

    let mut data = vec![0; 16 << 20];
    data[4096] = 1;
    std::fs::write(device, &data).unwrap();
    run();
    assert!(read() == data, "the data of another file system was overwritten");
    // A device that cannot be read is not new.
    std::fs::remove_file(device).unwrap();
    run();
    assert!(!device.exists(), "formatted without being read");
    let calls = std::fs::read_to_string(machine.calls()).unwrap();
    assert!(calls.contains("mount -t ext4 -o nodev,nosuid,noexec"), "{calls}");
}

/// The programs that the units start are not installed here: that is the only complaint.
#[test]
fn the_units_are_ones_and_sandboxed() {
    let machine = Machine::new();
    let logs = Logs::CloudWatch("/warren/gw-a".to_owned());
    let extras = Extras { logs: Some(logs), volume: Some(Volume::Ebs("vol-1".to_owned())) };
    let longest =
        script(Run::CloudInit, Some(&release("https://example.com/x")), &sources(), &extras).unwrap();
    // The limit of EC2 for user data, with room for long names.
    assert!(longest.len() < 14 * 1024, "{} bytes", longest.len());
    machine.boot(&longest);
    let units = machine.folder("root/etc/systemd/system");
    let analyze = |arguments: &[&str]| {
        let program = warren_programs::program("systemd-analyze").unwrap();
        let output = Command::new(program).args(arguments).current_dir(&units).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&told).into_owned())
    };
    let files = std::fs::read_dir(&units).unwrap().map(Result::unwrap);
    let mut names: Vec<String> = files
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| format!("./{}", entry.file_name().into_string().unwrap()))
        .collect();
    assert!(units.join("warren-gateway.service.d/disk.conf").is_file());
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (_, told) = analyze(&[&["verify", "--man=no"], &names[..]].concat());
    let complaints: Vec<&str> = told.lines().filter(|line| !line.contains("is not executable")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    // What a reboot starts, in one order with the targets that every service waits for.
    let wants = units.join("multi-user.target.wants");
    std::fs::create_dir(&wants).unwrap();
    for name in &names {
        let enabled =
            std::fs::read_to_string(units.join(name)).unwrap().contains("WantedBy=multi-user.target");
        if enabled {
            std::os::unix::fs::symlink(units.join(name), wants.join(name)).unwrap();
        }
    }
    let program = warren_programs::program("systemd-analyze").unwrap();
    let mut verify = Command::new(program);
    verify.args(["verify", "--man=no", "multi-user.target"]);
    let told = verify.env("SYSTEMD_UNIT_PATH", format!("{}:", units.display())).output().unwrap();
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(!told.contains("ordering cycle"), "{told}");
    for unit in [
        "./warren-fetch.service",
        "./warren-refresh.service",
        "./warren-gateway.service",
        "./warren-logs.service",
    ] {
        let (well, told) = analyze(&["security", "--offline=true", "--threshold=20", "--no-pager", unit]);
        assert!(well, "more exposed than 2.0 of 10:\n{told}");
    }
}

/// Serves `body` to every request, on loopback, until the test ends.
fn serve(body: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/warren-tunnel", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            // A client that went away is the test's business.
            let _ = stream.read(&mut request);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    url
}

#[test]
fn the_binary_is_installed_once_and_only_the_right_one() {
    let machine = Machine::new();
    let right = release(&serve(BINARY));
    machine.boot(&script(Run::GuestAgent, Some(&right), &sources(), &Extras::default()).unwrap());
    let installed = machine.install();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let binary = machine.folder("root/usr/local/bin/warren-tunnel");
    assert_eq!(std::fs::read(&binary).unwrap(), BINARY);

    // An interrupted download, after which the server is gone: the binary that is already installed is enough.
    std::fs::write(binary.with_extension("new"), "half").unwrap();
    machine.boot(
        &script(Run::GuestAgent, Some(&release("http://127.0.0.1:9/x")), &sources(), &Extras::default())
            .unwrap(),
    );
    assert!(machine.install().status.success());

    let calls = std::fs::read_to_string(machine.calls()).unwrap();
    assert_eq!(calls.matches("sync warren-tunnel.new").count(), 1, "{calls}");

    // A binary for another architecture: the kernel cannot start it.
    let foreign = Machine::new();
    let elf = b"\x7fELF not for this machine";
    let digest: String = Sha256::digest(elf).iter().map(|byte| format!("{byte:02x}")).collect();
    let other = Release { url: serve(elf), sha256: digest };
    foreign.boot(&script(Run::GuestAgent, Some(&other), &sources(), &Extras::default()).unwrap());
    let refused = foreign.install();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("does not run on"), "{told}");
    assert!(!foreign.folder("root/usr/local/bin/warren-tunnel").exists());

    let other = Machine::new();
    let wrong = Release { url: serve(b"something else"), ..right };
    other.boot(&script(Run::GuestAgent, Some(&wrong), &sources(), &Extras::default()).unwrap());
    let refused = other.install();
    assert!(!refused.status.success());
    let told =
        String::from_utf8_lossy(&refused.stderr).replace(&wrong.url, "URL").replace(&wrong.sha256, "DIGEST");
    insta::assert_snapshot!(told);
    assert!(!other.folder("root/usr/local/bin/warren-tunnel").exists());
}

#[test]
fn without_curl_the_binary_is_downloaded_with_another_program() {
    for program in ["wget", "python3"] {
        let machine = Machine::new();
        let release = release(&serve(BINARY));
        machine.boot(&script(Run::GuestAgent, Some(&release), &sources(), &Extras::default()).unwrap());
        let tools = machine.folder("tools");
        std::fs::create_dir(&tools).unwrap();
        for name in ["chmod", "mkdir", "mv", "rm", "sh", "sha256sum", "sync", "uname"] {
            std::os::unix::fs::symlink(warren_programs::program(name).unwrap(), tools.join(name)).unwrap();
        }
        // What is on PATH may be a script that finds the interpreter with further programs.
        let real = match program {
            "python3" => {
                let found = Command::new(program).args(["-c", "import sys; print(sys.executable)"]).output();
                String::from_utf8(found.unwrap().stdout).unwrap().trim().to_owned()
            }
            _ => warren_programs::program(program).unwrap().display().to_string(),
        };
        machine.program(&format!("../tools/{program}"), &format!("exec {real} \"$@\""));
        let mut install = Command::new(machine.folder("root/usr/local/lib/warren/install"));
        install.arg("once").env("PATH", &tools).env("WARREN_ROOT", machine.folder("root"));
        let installed = install.output().unwrap();
        assert!(installed.status.success(), "{program}: {}", String::from_utf8_lossy(&installed.stderr));
        assert_eq!(std::fs::read(machine.folder("root/usr/local/bin/warren-tunnel")).unwrap(), BINARY);
    }
}
