//! An instance with a gateway, after systemd has booted it, and cloud-init or Google's guest agent has run its boot script.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use warren_tunnel_tests::{Daemon, Implementation, Namespace, wait_for};

use crate::{Case, case, same};

const STARTED: Case = case("systemd starts the gateway with what was fetched", started);
const ENROLS: Case = case("a pod enrols and reaches what its group allows", enrols);
const RESTARTED: Case = case("systemd restarts a killed gateway", restarted);

/// The first boot of an instance of AWS.
pub(crate) const AWS: &[Case] =
    &[case("cloud-init finds EC2 and runs the user data", cloud_init), STARTED, ENROLS, RESTARTED];

/// The first boot of an instance of Google Cloud.
pub(crate) const GOOGLE: &[Case] =
    &[case("Google's guest agent runs the startup script", guest_agent), STARTED, ENROLS, RESTARTED];

/// A boot after a whole first one.
pub(crate) const REBOOTED: &[Case] = &[STARTED, case("the leases outlive the reboot", leases), ENROLS];

/// A boot after one that was cut.
pub(crate) const CUT: &[Case] = &[STARTED, ENROLS];

/// Longer than a boot takes without acceleration on a busy machine.
const PATIENCE: Duration = Duration::from_secs(400);

/// As [`wait_for`], but leaves the processors to what is waited for.
fn rarely<T>(limit: Duration, what: &str, mut check: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    wait_for(limit, what, || {
        let found = check()?;
        if found.is_none() {
            std::thread::sleep(Duration::from_secs(1));
        }
        Ok(found)
    })
}

fn run(words: &[&str]) -> Result<String> {
    let output = Command::new(words[0]).args(&words[1..]).output().with_context(|| words.join(" "))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {text}{said}", words.join(" "));
    Ok(text)
}

fn journal() -> String {
    run(&["journalctl", "--no-pager", "-n", "60", "-o", "cat", "-u", "warren-*"]).unwrap_or_default()
}

fn property(unit: &str, name: &str) -> Result<String> {
    Ok(run(&["systemctl", "show", "--value", "-p", name, unit])?.trim().to_owned())
}

fn cloud_init() -> Result<()> {
    rarely(PATIENCE, "end of cloud-init", || Ok(fs::exists("/run/cloud-init/result.json")?.then_some(())))?;
    let found = run(&["cloud-init", "status", "--long"]).unwrap_or_else(|error| error.to_string());
    // Modules of the distribution may fail in an image of the least packages; the user data is a boothook.
    ensure!(!found.contains("boothook"), "{found}");
    same("cloud", &run(&["cloud-init", "query", "cloud_name"])?.trim(), &"aws")?;
    same("instance", &run(&["cloud-init", "query", "instance_id"])?.trim(), &"i-0123456789abcdef0")?;
    let log = run(&["tail", "-n", "40", "/var/log/cloud-init.log"])?;
    ensure!(fs::exists("/etc/systemd/system/warren-gateway.service")?, "no unit\n{found}\n{log}");
    foreign()
}

fn guest_agent() -> Result<()> {
    let unit = "google-startup-scripts.service";
    rarely(PATIENCE, "end of the startup script", || {
        let state = property(unit, "ActiveState")?;
        Ok(["active", "failed"].contains(&state.as_str()).then_some(()))
    })?;
    let log = run(&["journalctl", "--no-pager", "-o", "cat", "-u", "google-*"])?;
    same("result", &property(unit, "Result")?.as_str(), &"success").with_context(|| log.clone())?;
    ensure!(log.contains("startup-script exit status 0"), "{log}");
    same("guest agent", &property("google-guest-agent.service", "ActiveState")?.as_str(), &"active")
        .with_context(|| log.clone())?;
    ensure!(!fs::exists("/usr/bin/curl")?, "there is curl");
    foreign()
}

/// The file of someone else is one that `sysctl --system` fails at, and what the gateway wants is set nevertheless.
fn foreign() -> Result<()> {
    same("buffer", &fs::read_to_string("/proc/sys/net/core/rmem_max")?.trim(), &"8388608")?;
    ensure!(run(&["sysctl", "--quiet", "--system"]).is_err(), "all parameters of this machine are well");
    Ok(())
}

fn leases() -> Result<()> {
    let peers = ours(&["gateway", "peers", "--json"])?;
    ensure!(peers.contains("\"gpu\""), "the lease is gone: {peers}");
    Ok(())
}

fn started() -> Result<()> {
    up()?;
    same("user", &property("warren-gateway.service", "User")?.as_str(), &"warren")?;
    let pid = property("warren-gateway.service", "MainPID")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    // CAP_NET_BIND_SERVICE and nothing else.
    ensure!(status.contains("CapEff:\t0000000000000400"), "{status}");
    // The unit permits it to confine itself further.
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        ensure!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    }
    let told: serde_json::Value = serde_json::from_str(&ours(&["gateway", "status", "--json"])?)?;
    let sandbox = &told["interface"]["sandbox"];
    ensure!(sandbox["landlock_abi"].as_u64() >= Some(1) && sandbox["seccomp"] == true, "{sandbox}");
    ensure!(sandbox["missing"].is_null() && sandbox["programs"] == false, "{sandbox}");
    let controls = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    ensure!(controls.split_whitespace().any(|control| control == "bbr"), "no BBR: {controls}");
    let key = fs::metadata("/run/warren/gateway.key")?;
    same("mode of the key", &(key.permissions().mode() & 0o077), &0)?;
    ensure!(key.uid() != 0, "the key is root's");
    let boot = run(&["journalctl", "--no-pager", "-b", "-o", "cat"])?;
    let cycles: Vec<&str> = boot.lines().filter(|line| line.contains("ordering cycle")).collect();
    ensure!(cycles.is_empty(), "{}", cycles.join("\n"));
    same(
        "failed units",
        &run(&["systemctl", "list-units", "--failed", "--plain", "--no-legend", "warren-*"])?.as_str(),
        &"",
    )
    .with_context(journal)
}

/// Waits until the gateway answers its operator.
fn up() -> Result<()> {
    let port: SocketAddr = (Ipv4Addr::LOCALHOST, 443).into();
    rarely(PATIENCE, "port of the gateway", || Ok(TcpStream::connect(port).ok())).with_context(journal)?;
    wait_for(Duration::from_secs(60), "gateway", || Ok(ours(&["gateway", "status", "--json"]).ok()))
        .with_context(journal)
        .map(drop)
}

/// A command of ours as the gateway's user, to whom alone its control socket answers.
fn ours(arguments: &[&str]) -> Result<String> {
    let words =
        ["runuser", "-u", "warren", "--", "env", "XDG_RUNTIME_DIR=/run", "/usr/local/bin/warren-tunnel"];
    run(&[&words, arguments].concat())
}

/// A network namespace with a wire to this machine.
fn host(name: &str, machine: &str, address: &str) -> Result<Arc<Namespace>> {
    let host = Arc::new(Namespace::new()?);
    run(&["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host.name()])?;
    run(&["ip", "address", "add", machine, "dev", name])?;
    run(&["ip", "link", "set", name, "up"])?;
    host.ip(&format!("address add {address} dev eth0"))?;
    host.ip("link set eth0 up")?;
    Ok(host)
}

fn enrols() -> Result<()> {
    up()?;
    let pod = host("pods", "10.200.0.2/24", "10.200.0.1/24")?;
    let server = host("spoke", "10.0.9.1/24", "10.0.9.2/24")?;
    let _listeners = [22_u16, 8001]
        .map(|port| server.inside(move || Ok(TcpListener::bind((Ipv4Addr::new(10, 0, 9, 2), port))?)));
    let config = "/run/warren/gateway.toml";
    let words = ["/usr/local/bin/warren-tunnel", "token", "create", "--config", config];
    let token = run(&[&words[..], &["--key-file", "/mnt/signing.key", "--group", "gpu"]].concat())?;
    let mut command = pod.command(Implementation::WarrenTunnel.path()?);
    command.args(["agent", "--metrics", "off", "--device", "kernel", "--interface", "gpu0"]);
    command.env("WARREN_TOKEN", token.trim());
    let member = Daemon::start(&mut command)?;
    let detail = || format!("{}\n{}", member.log(), journal());
    wait_for(Duration::from_secs(60), "agent", || Ok(member.log().contains(" up ").then_some(())))
        .with_context(detail)?;
    let connect = |port: u16| {
        let to: SocketAddr = (Ipv4Addr::new(10, 0, 9, 2), port).into();
        pod.inside(move || Ok(TcpStream::connect_timeout(&to, Duration::from_secs(5))?))
    };
    wait_for(Duration::from_secs(60), "connection", || Ok(connect(8001).ok())).with_context(detail)?;
    ensure!(connect(22).is_err(), "a port that the group does not allow answers");
    let peers = ours(&["gateway", "peers", "--json"])?;
    ensure!(peers.contains("\"live\""), "{peers}");
    Ok(())
}

fn restarted() -> Result<()> {
    up()?;
    let before = property("warren-gateway.service", "MainPID")?;
    run(&["kill", "-KILL", &before])?;
    let again = wait_for(Duration::from_secs(90), "another process", || {
        let now = property("warren-gateway.service", "MainPID")?;
        Ok((now != before && now != "0").then_some(()))
    });
    again.with_context(journal)?;
    up()?;
    let peers = ours(&["gateway", "peers", "--json"])?;
    ensure!(peers.contains("\"gpu\""), "the lease is gone: {peers}");
    Ok(())
}
