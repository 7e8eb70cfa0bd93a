//! `warren-tunnel exec`: a program beside a tunnel, as nobody, as root, and as the first process of a container.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use warren_tunnel_tests::{
    Device, Family, Impairment, Implementation, Interface, Namespace, Pair, Settings, Side, pod, wait_for,
    web, workspace_root,
};

/// A pod's host on the left, and a gateway with a web server behind it on the right.
struct Lab {
    home: TempDir,
    hosts: [Arc<Namespace>; 2],
    interfaces: [Interface; 2],
    gateway: Option<Device>,
}

const BODY: &str = "through the tunnel";

fn lab(with_gateway: bool) -> Lab {
    lab_of(Pair::hosts().unwrap(), with_gateway)
}

fn lab_of(hosts: [Arc<Namespace>; 2], with_gateway: bool) -> Lab {
    let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
    let interfaces = Pair::interfaces(&settings).unwrap();
    let gateway = with_gateway
        .then(|| Device::start(&Implementation::WarrenTunnel, &hosts[1], &interfaces[1]).unwrap());
    let home = pod::home(&interfaces[0]).unwrap();
    Lab { home, hosts, interfaces, gateway }
}

impl Lab {
    /// A web server inside the tunnel only, and its URL.
    fn web(&self) -> String {
        web::serve(&self.hosts[1], Side::Right.inner(Family::V4), BODY).unwrap()
    }

    /// `exec` as nobody, before the arguments of the program.
    fn exec(&self, arguments: &[&str]) -> Command {
        let program = Implementation::WarrenTunnel.path().unwrap();
        let mut command = pod::unprivileged(&self.hosts[0], self.home.path(), &program);
        command.arg("exec").arg("--config").arg(self.home.path().join("pod.conf"));
        command.args(["--metrics", "off"]).args(arguments).arg("--").env("WARREN_LOG_LEVEL", "warn");
        command
    }

    /// `exec` as root with an interface, before the program.
    fn exec_as_root(&self) -> Command {
        let mut command = self.hosts[0].command(Implementation::WarrenTunnel.path().unwrap());
        command.args(["exec", "--device", "tun", "--metrics", "off", "--log-level", "warn", "--config"]);
        command.arg(self.home.path().join("pod.conf")).arg("--");
        command
    }

    fn run(&self, arguments: &[&str], program: &[&str]) -> Output {
        self.exec(arguments).args(program).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_finds_the_tunnel_in_its_environment() {
    let lab = lab(true);
    let url = lab.web();
    let options = [&["-sS"][..], &["-sS", "--proxytunnel"]];
    for (options, device) in options.iter().flat_map(|options| ["auto", "userns"].map(|one| (*options, one)))
    {
        let out = lab.run(&["--device", device], &[&["curl"], options, &[&url]].concat());
        assert_eq!(
            (text(&out.stdout), text(&out.stderr), out.status.code()),
            (BODY.into(), String::new(), Some(0))
        );
    }
    // A client of SOCKS alone: without the HTTP proxy, ALL_PROXY is what is left.
    let out = lab.run(&["--http-proxy", "off"], &["curl", "-sS", &url]);
    assert_eq!(text(&out.stdout), BODY, "{}", text(&out.stderr));
    let out = lab.run(&[], &["env"]);
    let environment = format!("\n{}", text(&out.stdout));
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
        assert!(environment.contains(&format!("\n{name}=http://127.0.0.1:")), "{name} in {environment}");
    }
    assert!(environment.contains("\nALL_PROXY=socks5h://127.0.0.1:"), "{environment}");
    assert!(environment.contains("\nno_proxy=localhost,127.0.0.1,::1,169.254.169.254"), "{environment}");
}

#[test]
fn exit_codes_and_standard_streams_are_the_programs() {
    let lab = lab(true);
    let code = |program: &[&str]| lab.run(&[], program).status.code();
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -KILL $$"]), Some(137));
    assert_eq!(code(&["/no/such/program"]), Some(127));
    assert_eq!(code(&["/etc/passwd"]), Some(126));
    let mut child = lab
        .exec(&[])
        .args(["sh", "-c", "cat; echo told >&2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from the caller").unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!((text(&out.stdout), text(&out.stderr)), ("from the caller".into(), "told\n".into()));
}

#[test]
fn signals_reach_the_program_which_decides() {
    let lab = lab(true);
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::USR1, "USR1")] {
        let script =
            format!("trap 'echo got {name}; exit 3' {name}; echo ready; while :; do sleep 0.05; done");
        let mut child = lab.exec(&[]).args(["sh", "-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), format!("got {name}"));
        assert_eq!(child.wait().unwrap().code(), Some(3), "{name}");
    }
}

#[test]
fn a_gateway_that_is_silent_is_told_and_nothing_is_started() {
    let lab = lab(false);
    let out = lab.run(&["--wait", "1"], &["echo", "started"]);
    let told = text(&out.stderr);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(125), String::new()), "{told}");
    for expected in [
        "no peer answered within 1 s",
        "no answer from 10.200.0.2:",
        "hint: check the endpoint, the public keys",
    ] {
        assert!(told.contains(expected), "{expected} in {told}");
    }
    // Not waited for, the program runs all the same.
    let out = lab.run(&["--wait", "0"], &["echo", "started"]);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(0), "started\n".into()));
    // A signal ends the wait.
    let mut child = lab
        .exec(&["--wait", "600", "--log-level", "info"])
        .arg("true")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while !lines.next().expect("it comes up").unwrap().contains(" up ") {}
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut rest = String::new();
    lines.for_each(|line| rest += &line.unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(143), "{rest}");
}

#[test]
fn with_an_interface_no_proxy_is_needed() {
    let lab = lab(true);
    let url = lab.web();
    let script = format!("env | grep -i _proxy; curl -sS {url}");
    let out = lab.exec_as_root().args(["sh", "-c", &script]).output().unwrap();
    assert_eq!((text(&out.stdout), out.status.code()), (BODY.into(), Some(0)), "{}", text(&out.stderr));
    assert!(
        !lab.hosts[0].ip("link show").unwrap().contains("pod"),
        "the interface has gone with the program"
    );
}

/// The example's entrypoint, run as a container's first process: as nobody, in a process namespace of its own.
#[test]
fn the_first_process_of_a_container_takes_in_orphans_and_passes_signals_on() {
    let lab = lab(true);
    let url = lab.web();
    let program = Implementation::WarrenTunnel.path().unwrap();
    let entrypoint = lab.home.path().join("entrypoint.sh");
    fs::copy(workspace_root().join("examples/pod-image/entrypoint.sh"), &entrypoint).unwrap();
    fs::set_permissions(&entrypoint, fs::Permissions::from_mode(0o755)).unwrap();
    let start = |script: &str| {
        let mut command = lab.hosts[0].command("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "setpriv"]);
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--bounding-set", "-all", "--inh-caps", "-all"]).arg(&entrypoint);
        command.args(["sh", "-c", script]).env("WARREN_TUNNEL", &program).env("WARREN_METRICS", "off");
        command.env("WARREN_LOG_LEVEL", "warn").env("WARREN_DEVICE", "user").env("TMPDIR", lab.home.path());
        command.env("WARREN_WG_CONFIG", lab.interfaces[0].wg_quick()).current_dir("/");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Orphans whose parents have ended are process 1's; the last line counts those that nobody has waited for.
    let orphans =
        "for n in 1 2 3 4 5; do (sleep 0.2 & ) ; done; sleep 1; cat /proc/[0-9]*/stat | grep -c ' Z '";
    let script = format!("env | grep -c WARREN_WG_CONFIG; curl -sS {url}; echo; {orphans}; exit 9");
    let out = start(&script).wait_with_output().unwrap();
    assert_eq!(
        (text(&out.stdout), out.status.code()),
        (format!("0\n{BODY}\n0\n"), Some(9)),
        "{}",
        text(&out.stderr)
    );

    let mut child = start("trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.05; done");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    // What a container's runtime does: a signal to process 1, which is the only child of `unshare`.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let first = wait_for(Duration::from_secs(5), "process 1", || {
        Ok(fs::read_to_string(&children)?.split_whitespace().next().and_then(|pid| pid.parse().ok()))
    });
    kill_process(Pid::from_raw(first.unwrap()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "bye");
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{told}");
    drop(lab.gateway);
}

/// A program of the same user could read the token of the tunnel from its parent.
#[test]
fn the_program_finds_no_secret_in_its_parent() {
    let lab = lab(true);
    let read = ["sh", "-c", "tr '\\0' '\\n' < /proc/$PPID/environ"];
    let marker = "k4.secret-of-the-tunnel";
    // Root may read any process: nothing is left to read.
    let program = Implementation::WarrenTunnel.path().unwrap();
    let mut command = lab.hosts[0].command(program);
    command.arg("exec").arg("--config").arg(lab.home.path().join("pod.conf"));
    command.args(["--metrics", "off", "--device", "user", "--"]).args(read);
    let output =
        command.env("WARREN_TOKEN", marker).env("XDG_RUNTIME_DIR", lab.home.path()).output().unwrap();
    let seen = text(&output.stdout);
    assert!(seen.contains("XDG_RUNTIME_DIR=") && !seen.contains(marker), "{seen}{}", text(&output.stderr));
    // Others may not even read the rest.
    let output = lab.exec(&[]).args(read).env("WARREN_TOKEN", marker).output().unwrap();
    assert_eq!(text(&output.stdout), "", "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("denied"), "{}", text(&output.stderr));
}

/// What a program wrote before it ended arrives, however slow the way is: the tunnel waits for it.
#[test]
fn the_last_bytes_of_a_program_arrive() {
    const SEND: &str = "if (($p = $ENV{HTTPS_PROXY}) =~ s,http://,,) { $c = IO::Socket::INET->new($p) or die; \
        print $c qq(CONNECT $ARGV[0] HTTP/1.1\\r\\nHost: $ARGV[0]\\r\\n\\r\\n); $c->flush; \
        while (<$c>) { last if $_ eq qq(\\r\\n) } } else { $c = IO::Socket::INET->new($ARGV[0]) or die } \
        print $c 'x' x 3000000; close $c";
    let slow = Impairment { delay: Duration::from_millis(5), rate: 20, loss: 0.0 };
    let (hosts, _wire) = Pair::distant_hosts(slow).unwrap();
    let lab = lab_of(hosts, true);
    let address = Side::Right.inner(Family::V4);
    let listener = lab.hosts[1].inside(move || Ok(TcpListener::bind((address, 0))?)).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    for device in ["auto", "userns", "tun"] {
        let listener = listener.try_clone().unwrap();
        let received = thread::spawn(move || io::copy(&mut listener.accept()?.0, &mut io::sink()));
        let mut exec = if device == "tun" { lab.exec_as_root() } else { lab.exec(&["--device", device]) };
        let out = exec.args(["perl", "-MIO::Socket::INET", "-e", SEND, &to]).output().unwrap();
        assert_eq!((text(&out.stderr), out.status.code()), (String::new(), Some(0)), "{device}");
        assert_eq!(received.join().unwrap().unwrap(), 3_000_000, "{device}");
    }
}
