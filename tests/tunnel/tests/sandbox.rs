//! The sandbox of agents and gateways: every thread of each mode is in it, the program of `exec` is not, and it refuses what is
//! outside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use warren_tunnel_tests::fabric::By;
use warren_tunnel_tests::{
    Device, Fabric, Family, Implementation, Namespace, Pair, Pod, Settings, Side, pod, wait_for,
};

/// The fields of each thread in `/proc`, by the thread's name.
fn threads(process: u32) -> Vec<(String, String)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks
        .filter_map(|task| {
            let folder = task.unwrap().path();
            let name = fs::read_to_string(folder.join("comm")).ok()?.trim().to_owned();
            Some((name, fs::read_to_string(folder.join("status")).ok()?))
        })
        .collect()
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    fs::read_to_string(path).unwrap().split_whitespace().map(|child| child.parse().unwrap()).collect()
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim()
}

/// Whether a thread is in a sandbox.
fn confined(status: &str) -> bool {
    (field(status, "Seccomp"), field(status, "NoNewPrivs")) == ("2", "1")
}

/// All threads are in a sandbox, and have no capabilities but these, which are bits.
fn all_confined(process: u32, capabilities: u64) {
    let threads = threads(process);
    assert!(threads.len() > 3, "{threads:?}");
    for (name, status) in &threads {
        assert!(confined(status), "{name} is outside: {status}");
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"] {
            let held = u64::from_str_radix(field(status, set), 16).unwrap();
            assert_eq!(held & !capabilities, 0, "{name}: {set} {held:x}");
        }
    }
}

const BIND: u64 = 1 << 10;
const NET: u64 = BIND | 1 << 12 | 1 << 13;
/// Of root, whose files here are another user's.
const FILES: u64 = 1 << 1 | 1 << 2;

/// What `status --json` says of the sandbox.
fn told(text: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all[0]["sandbox"].clone()
}

fn in_force(sandbox: &serde_json::Value) {
    assert!(sandbox["landlock_abi"].as_u64().unwrap() >= 1, "this test needs Landlock: {sandbox}");
    assert_eq!(sandbox["seccomp"], true, "this test needs seccomp: {sandbox}");
}

#[test]
fn every_thread_of_an_agent_is_confined() {
    let hosts = Pair::hosts().unwrap();
    let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
    let mut interfaces = Pair::interfaces(&settings).unwrap();
    interfaces[0].peers[0].keepalive = Some(5);
    // One with an interface, as root, for the other end.
    let mut machine = Device::start(&Implementation::WarrenTunnel, &hosts[1], &interfaces[1]).unwrap();
    all_confined(machine.daemon().id(), NET | FILES);
    for device in ["user", "userns"] {
        let required = ["--device", device, "--sandbox", "require", "--metrics", "127.0.0.1:9699"];
        let mut agent = Pod::start(&hosts[0], &interfaces[0], &required).unwrap();
        wait_for(Duration::from_secs(10), "handshake", || {
            Ok(agent.run(&["status"])?.contains("latest handshake").then_some(()))
        })
        .unwrap();
        all_confined(agent.daemon().id(), BIND);
        for helper in children(agent.daemon().id()) {
            let (name, status) = threads(helper).remove(0);
            assert!(confined(&status), "helper {name}: {status}");
            let held = u64::from_str_radix(field(&status, "CapEff"), 16).unwrap();
            assert_eq!(held & !NET, 0, "{held:x}");
        }
        assert_eq!(children(agent.daemon().id()).len(), usize::from(device == "userns"));
        let status = agent.run(&["status", "--json", "--interval", "0"]).unwrap();
        let sandbox = told(&status);
        in_force(&sandbox);
        assert_eq!((&sandbox["programs"], &sandbox["user"]), (&false.into(), &65534.into()), "{sandbox}");
        let metrics = hosts[0].run("curl", &["-sS", "http://127.0.0.1:9699/metrics"]).unwrap();
        assert!(
            metrics.contains("warren_tunnel_sandbox_seccomp{")
                && metrics.contains("_seccomp{interface=\"pod\"} 1"),
            "{metrics}"
        );

        // A reload reads the file that has replaced the former one.
        let text = fs::read_to_string(agent.config())
            .unwrap()
            .replace("PersistentKeepalive = 5", "PersistentKeepalive = 7");
        replace(&agent.config(), &text);
        let reloaded = agent.run(&["reload", "pod"]).unwrap();
        assert!(reloaded.contains("1 peers added or changed"), "{reloaded}");
        // A link to a file elsewhere is none that it was given.
        let elsewhere = tempfile::tempdir().unwrap();
        let other = elsewhere.path().join("pod.conf");
        replace(&other, &text);
        fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(agent.config()).unwrap();
        std::os::unix::fs::symlink(&other, agent.config()).unwrap();
        let refused = agent.run(&["reload", "pod"]).unwrap_err().to_string();
        assert!(refused.contains("the sandbox permits the files and programs of the start"), "{refused}");
        agent.daemon().terminate().unwrap();
    }
}

/// Puts a file of nobody's in the place of another.
fn replace(path: &Path, text: &str) {
    let next = path.with_extension("next");
    fs::write(&next, text).unwrap();
    fs::set_permissions(&next, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(&next, Some(65534), Some(65534)).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn the_switch_is_obeyed_and_hooks_need_it() {
    let hosts = Pair::hosts().unwrap();
    let interfaces = Pair::interfaces(&Settings::default()).unwrap();
    let mut free = Pod::start(&hosts[0], &interfaces[0], &["--sandbox", "off", "--metrics", "off"]).unwrap();
    assert!(threads(free.daemon().id()).iter().all(|(_, status)| field(status, "Seccomp") == "0"));
    let status = free.run(&["status", "--interval", "0"]).unwrap();
    assert!(status.contains("sandbox: none: switched off; user 65534, no capabilities"), "{status}");
    free.daemon().terminate().unwrap();

    let mut hooked = interfaces[1].clone();
    hooked.extra.push("PostUp = true".into());
    let mut machine = Device::start(&Implementation::WarrenTunnel, &hosts[1], &hooked).unwrap();
    assert!(machine.log().contains("hooks"), "{}", machine.log());
    machine.daemon().terminate().unwrap();
    let required =
        Device::start_with(&Implementation::WarrenTunnel, &hosts[1], &hooked, &["--sandbox", "require"]);
    let why = format!("{:#}", required.unwrap_err());
    assert!(why.contains("the sandbox is required, but not possible: the configuration has hooks"), "{why}");
}

#[test]
fn a_kernel_without_it_is_reported_and_refused_where_it_is_required() {
    let hosts = Pair::hosts().unwrap();
    let interfaces = Pair::interfaces(&Settings::default()).unwrap();
    let home = pod::home(&interfaces[0]).unwrap();
    let start = |sandbox: &'static str| {
        let program = Implementation::WarrenTunnel.path().unwrap();
        let mut command = pod::unprivileged(&hosts[0], home.path(), &program);
        command.arg("agent").arg("--config").arg(home.path().join("pod.conf"));
        command.args(["--metrics", "off", "--sandbox", sandbox]);
        warren_tunnel_tests::Daemon::start(&mut command).unwrap()
    };
    without_landlock(|| reported_and_refused(start));
}

fn reported_and_refused(start: impl Fn(&'static str) -> warren_tunnel_tests::Daemon) {
    let mut refused = start("require");
    let status = wait_for(Duration::from_secs(10), "end", || refused.ended()).unwrap();
    assert_eq!(status.code(), Some(1), "{}", refused.log());
    assert!(
        refused.log().contains("the sandbox is required, but Landlock is not available"),
        "{}",
        refused.log()
    );

    let mut agent = start("auto");
    wait_for(Duration::from_secs(10), "agent", || Ok(agent.log().contains(" up ").then_some(()))).unwrap();
    assert!(agent.log().contains("Landlock is not available"), "{}", agent.log());
    for (name, status) in threads(agent.id()) {
        assert!(confined(&status), "{name}: {status}");
    }
    agent.terminate().unwrap();
}

/// Runs on a thread on which, and for whose children, the kernel has no Landlock. The children end with it.
fn without_landlock<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    use seccompiler::{SeccompAction, SeccompFilter, TargetArch, apply_filter};
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self];
    let (allow, errno) = (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    let target = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter =
        SeccompFilter::new(calls.map(|call| (call, Vec::new())).into(), allow, errno, target).unwrap();
    let filter: seccompiler::BpfProgram = filter.try_into().unwrap();
    let inner = move || {
        apply_filter(&filter).unwrap();
        body()
    };
    std::thread::scope(|scope| scope.spawn(inner).join().unwrap())
}

const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.0/24"]
"#;

#[test]
fn every_thread_of_a_gateway_is_confined() {
    let host = Arc::new(Namespace::new().unwrap());
    host.ip("address add 10.200.0.2/24 dev lo").unwrap();
    let address: IpAddr = "10.200.0.2".parse().unwrap();
    let fabric = Fabric::new(&[address], REST).unwrap();
    for (by, capabilities) in [(By::User, BIND), (By::Kernel, BIND | 1 << 12)] {
        let mut gateway = fabric.start_by(by, 0, &host).unwrap();
        all_confined(gateway.daemon.id(), capabilities);
        let sandbox = gateway.status().unwrap()["interface"]["sandbox"].clone();
        in_force(&sandbox);
        assert_eq!(sandbox["programs"], by == By::Kernel, "{sandbox}");

        // Another password file is beyond its reach until it starts again; those beside its own are not.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = fabric.config(0).parent().unwrap().to_owned();
        for (folder, works) in [(home.as_path(), true), (elsewhere.path(), false)] {
            let password = folder.join("password");
            replace(&password, "a password of more than sixteen\n");
            let page = format!("[page]\npassword_file = {:?}\n[pool]", password.display().to_string());
            fabric.configure(0, &[("[pool]", &page)]).unwrap();
            let reloaded = gateway.run(&["gateway", "reload"]);
            assert_eq!(reloaded.is_ok(), works, "{reloaded:?}");
            if let Err(refused) = reloaded {
                let refused = refused.to_string();
                assert!(
                    refused.contains("Permission denied") && refused.contains("the sandbox permits"),
                    "{refused}"
                );
            }
        }
        fabric.configure(0, &[]).unwrap();
        gateway.daemon.signal(Signal::HUP).unwrap();
        wait_for(Duration::from_secs(10), "reload", || {
            Ok(gateway.daemon.log().contains("reloaded: page").then_some(()))
        })
        .unwrap();
        assert_eq!(gateway.daemon.terminate().unwrap().code(), Some(0), "{}", gateway.daemon.log());
        let left = host.run("nft", &["list", "ruleset"]).unwrap();
        assert!(!left.contains("warren"), "{left}");
    }
}

#[test]
fn the_program_of_exec_is_outside_and_the_tunnel_beside_it_inside() {
    let hosts = Pair::hosts().unwrap();
    let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
    let interfaces = Pair::interfaces(&settings).unwrap();
    let gateway = Device::start(&Implementation::WarrenTunnel, &hosts[1], &interfaces[1]).unwrap();
    let url = warren_tunnel_tests::web::serve(&hosts[1], Side::Right.inner(Family::V4), "beside").unwrap();
    let home = pod::home(&interfaces[0]).unwrap();
    // Its own status, after a request through the tunnel; then it does what the sandbox refuses.
    let script = format!(
        "curl -sS {url} && cat /proc/self/status && echo PARENT $PPID && read _ && unshare --user true && echo free"
    );
    for device in ["user", "userns"] {
        let program = Implementation::WarrenTunnel.path().unwrap();
        let mut command: Command = pod::unprivileged(&hosts[0], home.path(), &program);
        command.arg("exec").arg("--config").arg(home.path().join("pod.conf"));
        command.args(["--metrics", "off", "--device", device, "--", "sh", "-c", &script]);
        command.env("WARREN_LOG_LEVEL", "warn");
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut said = std::io::BufReader::new(running.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("PARENT") || !text.ends_with('\n') {
            assert!(std::io::BufRead::read_line(&mut said, &mut text).unwrap() > 0, "{text}");
        }
        assert!(text.starts_with("beside"), "{text}");
        assert_eq!(field(&text, "Seccomp"), "0", "{text}");
        let parent: u32 = text.rsplit("PARENT ").next().unwrap().trim().parse().unwrap();
        let (inside, outside): (Vec<_>, Vec<_>) =
            threads(parent).into_iter().partition(|(_, status)| confined(status));
        let names = |of: &[(String, String)]| of.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert!(inside.len() > 3, "{:?}", names(&inside));
        assert!(
            names(&outside).iter().all(|name| ["signals", "child", "command"].contains(&name.as_str())),
            "{:?}",
            names(&outside)
        );
        std::io::Write::write_all(&mut running.stdin.take().unwrap(), b"go\n").unwrap();
        std::io::Read::read_to_string(&mut said, &mut text).unwrap();
        assert!(running.wait().unwrap().success() && text.ends_with("free\n"), "{text}");
    }
    drop(gateway);
}
