//! What a pod without privileges is for: object storage behind a gateway, reached by real clients, by UDP and where UDP is
//! dropped.
//!
//! The clients are curl and boto3, through HTTP's CONNECT; the storage is moto behind TLS. `WARREN_STORAGE_MB` is the size of
//! the object.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use warren_harness::Venv;
use warren_tunnel_tests::wire::{Hosts, drop_tls, drop_udp, slow};
use warren_tunnel_tests::{Daemon, Device, Implementation, Pair, Settings, Side, pod, wait_for};

const CLIENT: &str = include_str!("storage/client.py");
const TLS: &str = "10.200.0.2:443";
const STORAGE: &str = "10.77.0.2:9000";
/// Without data for longer than this a transfer stands still.
const STILL: f64 = 10.0;

/// A pod's host on the left; on the right a gateway with both carriers and storage behind it.
struct Lab {
    home: TempDir,
    python: std::path::PathBuf,
    pin: String,
    bytes: u64,
    gateway: Device,
    _storage: Daemon,
    hosts: Hosts,
}

impl Lab {
    fn start() -> Self {
        let python = Venv::ensure().unwrap().python();
        let hosts = Pair::hosts().unwrap();
        let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
        let mut interfaces = Pair::interfaces(&settings).unwrap();
        interfaces[1].extra.push(format!("# warren: ListenTLS = {TLS}"));
        let home = pod::home(&interfaces[0]).unwrap();
        let (gateway, pin) =
            Device::tls_gateway(&hosts[1], &interfaces[1], &home.path().join("gateway.pem")).unwrap();
        let certified = rcgen::generate_simple_self_signed(vec!["10.77.0.2".to_owned()]).unwrap();
        let (certificate, key) = (home.path().join("storage.pem"), home.path().join("storage.key"));
        fs::write(&certificate, certified.cert.pem()).unwrap();
        fs::set_permissions(&certificate, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
        let mut command = hosts[1].command(&python);
        command.args(["-m", "moto.server", "-H", "10.77.0.2", "-p", "9000", "-c"]);
        command.arg(&certificate).arg("-k").arg(&key);
        let storage = Daemon::start(&mut command).unwrap();
        wait_for(Duration::from_secs(60), "storage", || {
            Ok(Some(hosts[1].inside(|| Ok(TcpStream::connect(STORAGE)?))?))
        })
        .unwrap_or_else(|error| panic!("{error:#}\n{}", storage.log()));
        let megabytes = std::env::var("WARREN_STORAGE_MB").map_or(64, |size| size.parse().unwrap());
        Lab { home, python, pin, bytes: megabytes * 1_000_000, gateway, _storage: storage, hosts }
    }

    /// `exec` as nobody, with both ways to the gateway, before the program.
    fn exec(&self) -> Command {
        let program = Implementation::WarrenTunnel.path().unwrap();
        // The environment's interpreter is a link to where Python was installed.
        let python = fs::canonicalize(&self.python).unwrap();
        let installed = python.ancestors().nth(2).unwrap();
        let mut command = pod::unprivileged_with(&self.hosts[0], self.home.path(), &program, &[installed]);
        command.arg("exec").arg("--config").arg(self.home.path().join("pod.conf"));
        command.args(["--tls-endpoint", TLS, "--tls-pin", &self.pin, "--metrics", "off"]);
        command.args(["--log-level", "info", "--"]);
        command
    }

    fn certificate(&self) -> String {
        self.home.path().join("storage.pem").display().to_string()
    }

    /// Up and down by boto3, with something happening when a third has gone `at` that way.
    fn transfer(&self, at: &str, event: impl Fn()) -> Moved {
        let mut command = self.exec();
        command.arg(&self.python).args(["-c", CLIENT, &format!("https://{STORAGE}"), &self.certificate()]);
        let log = self.home.path().join("exec.log");
        command.arg(self.bytes.to_string()).stderr(fs::File::create(&log).unwrap());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut told = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line == format!("{at} third") {
                event();
            }
            told.push(line);
        }
        let log = || fs::read_to_string(&log).unwrap();
        assert!(child.wait().unwrap().success(), "{told:?}\n{}\n{}", log(), self.gateway.log());
        assert_eq!(told.last().map(String::as_str), Some("equal"), "{}", log());
        let numbers = |name: &str| -> [f64; 2] {
            let line =
                told.iter().filter_map(|line| line.strip_prefix(name)).find(|line| !line.contains("third"));
            let numbers: Vec<f64> = line.unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
            numbers.try_into().unwrap()
        };
        let [up, up_pause] = numbers("up ");
        let [down, down_pause] = numbers("down ");
        let megabits = |seconds: f64| self.bytes as f64 * 8e-6 / seconds;
        let told = format!(
            "{} MB: up {up:.2} s ({:.0} Mbit/s), at most {up_pause:.2} s without data; down {down:.2} s ({:.0} Mbit/s), at \
             most {down_pause:.2} s",
            self.bytes / 1_000_000,
            megabits(up),
            megabits(down),
        );
        Moved { up_pause, down_pause, told, log: log() }
    }

    /// Connections that became tunnels at the gateway's TLS port so far.
    fn tunnels_by_tls(&self) -> u64 {
        let program = Implementation::WarrenTunnel.path().unwrap();
        let arguments = ["status", self.gateway.name(), "--json", "--interval", "0"];
        let status: Value = serde_json::from_str(&self.hosts[1].run(program, &arguments).unwrap()).unwrap();
        let status = if status.is_array() { &status[0] } else { &status };
        status["tls"]["tunnels"].as_u64().unwrap()
    }
}

/// What a transfer told.
struct Moved {
    up_pause: f64,
    down_pause: f64,
    /// The same for people.
    told: String,
    log: String,
}

#[test]
fn boto3_moves_an_object_by_udp() {
    let lab = Lab::start();
    // On a busy machine a pause may have the agent try TLS.
    drop_tls(&lab.hosts).unwrap();
    println!("{}", lab.transfer("never", || ()).told);
    assert_eq!(lab.tunnels_by_tls(), 0);
}

#[test]
fn boto3_moves_an_object_where_udp_is_dropped() {
    let lab = Lab::start();
    drop_udp(&lab.hosts).unwrap();
    let moved = lab.transfer("never", || ());
    println!("{}", moved.told);
    assert_eq!(lab.tunnels_by_tls(), 1, "{}", moved.log);
}

#[test]
fn a_transfer_outlives_the_loss_of_udp() {
    for way in ["up", "down"] {
        let lab = Lab::start();
        slow(&lab.hosts).unwrap();
        let moved = lab.transfer(way, || drop_udp(&lab.hosts).unwrap());
        assert!(lab.tunnels_by_tls() >= 1, "{}", moved.log);
        let pause = if way == "up" { moved.up_pause } else { moved.down_pause };
        println!("UDP is lost on the way {way}: {pause:.2} s without data; {}", moved.told);
        assert!(pause < STILL, "{}", moved.log);
    }
}

#[test]
fn curl_moves_a_file_by_either_carrier() {
    for udp in [true, false] {
        let lab = Lab::start();
        if udp { drop_tls(&lab.hosts) } else { drop_udp(&lab.hosts) }.unwrap();
        let (file, url) = (lab.home.path().join("file"), format!("https://{STORAGE}/files"));
        fs::write(&file, (0..lab.bytes / 4).flat_map(|n| (n as u32).to_le_bytes()).collect::<Vec<u8>>())
            .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let script = format!(
            "set -e; get() {{ curl --silent --show-error --fail --cacert {} --header 'Authorization: AWS id:0' \"$@\"; }}; \
             get --request PUT {url}; get --upload-file {1} {url}/one; get {url}/one | cmp - {1}; echo equal; \
             grep -E 'CapEff|NoNewPrivs' /proc/self/status; id -u; ls /dev/net",
            lab.certificate(),
            file.display(),
        );
        let mut child = lab
            .exec()
            .args(["sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut told, mut log) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(child.wait().unwrap().success(), "{told}\n{log}");
        // Equal, as nobody, without a capability or a way to one, without a TUN device.
        let words: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(words, ["equal", "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "65534"], "{log}");
        assert_eq!(lab.tunnels_by_tls(), u64::from(!udp));
    }
}
