//! What is particular to the kernel's stack in a user namespace.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rustix::process::{Pid, Signal, kill_process};
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::wire::drop_udp;
use warren_tunnel_tests::{Device, Implementation, Namespace, Pair, Pod, Settings, Side, pod, wait_for};

use crate::lab::{FORWARDS, Lab};
use crate::restarts::children;

#[test]
fn bytes_arrive_both_ways_by_tls() {
    let hosts = Pair::hosts().unwrap();
    let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
    let mut interfaces = Pair::interfaces(&settings).unwrap();
    interfaces[1].extra.push("# warren: ListenTLS = 10.200.0.2:443".into());
    let folder = tempfile::tempdir().unwrap();
    let (gateway, pin) =
        Device::tls_gateway(&hosts[1], &interfaces[1], &folder.path().join("tls.pem")).unwrap();
    drop_udp(&hosts).unwrap();
    let tls = ["--tls-endpoint", "10.200.0.2:443", "--tls-pin", &pin, "--device", "userns"];
    let pod = Pod::start(&hosts[0], &interfaces[0], &[&FORWARDS[..], &tls].concat()).unwrap();
    let lab = Lab { pod, gateway: Some(gateway), hosts, interfaces };
    for port in [7001, 7006] {
        Stream::upload(lab.client(port), lab.server(port), 12_000_000).unwrap().finish().unwrap();
        Stream::download(lab.client(port), lab.server(port), 12_000_000).unwrap().finish().unwrap();
    }
    let told = lab.pod.run(&["status", "--interval", "0"]).unwrap();
    assert!(told.contains("userns (requested)") && told.contains("carrier: tls"), "{told}");
}

#[test]
fn a_tunnel_whose_helper_is_killed_says_so_and_ends() {
    let mut lab = Lab::new(&Implementation::WarrenTunnel, "userns");
    let [helper] = children(lab.pod.daemon().id())[..] else { panic!("no helper, or several") };
    kill_process(Pid::from_raw(helper.cast_signed()).unwrap(), Signal::KILL).unwrap();
    // Nobody asks for a socket until somebody connects.
    drop(lab.connect(7001));
    let daemon = lab.pod.daemon();
    let status = wait_for(std::time::Duration::from_secs(10), "end", || daemon.ended()).unwrap();
    assert_eq!(status.code(), Some(1), "{}", lab.pod.log());
    assert!(lab.pod.log().contains("its device failed"), "{}", lab.pod.log());
}

/// Runs a command of ours as nobody, after `before` has been done as root of a user namespace, or of a mount namespace.
fn run(host: &Namespace, unshared: &[&str], before: &str, home: &Path, arguments: &[&str]) -> Output {
    let program = Implementation::WarrenTunnel.path().unwrap();
    let mut command: Command = host.command("unshare");
    command.args(unshared).args(["sh", "-c", &format!("{before} \"$@\""), "pod"]);
    command.args(["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs"]);
    command.arg(program).args(arguments).env("XDG_RUNTIME_DIR", home);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn where_it_is_forbidden_the_reason_is_told() {
    let hosts = Pair::hosts().unwrap();
    let interfaces = Pair::interfaces(&Settings::default()).unwrap();
    // Root's, who has lost its capabilities here.
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("pod.conf");
    fs::write(&config, interfaces[0].wg_quick()).unwrap();
    let agent = ["agent", "--device", "userns", "--metrics", "off", "--config", config.to_str().unwrap()];
    let root = home.path().join("root");
    fs::create_dir(&root).unwrap();
    let chroot = format!("mount --rbind / {0} && exec chroot {0}", root.display());
    let none = "echo 0 > /proc/sys/user/max_user_namespaces && exec";
    let ways: [(&[&str], &str, &str); 2] = [
        (&["--user", "--map-root-user"], none, "user.max_user_namespaces"),
        (&["--mount"], &chroot, "seccomp"),
    ];
    for (unshared, before, hint) in ways {
        let output = run(&hosts[0], unshared, before, home.path(), &agent);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("cannot create a user namespace: ") && told.contains(hint), "{told}");
        assert!(told.contains("--device user works without one"), "{told}");
        // Nothing was asked for: nothing is wrong.
        let doctor = text(&run(&hosts[0], unshared, before, home.path(), &["doctor"]).stdout);
        assert!(
            doctor.contains("--device userns is not available: cannot create a user namespace: "),
            "{doctor}"
        );
        assert!(doctor.contains(hint) && doctor.contains("would use `user`"), "{doctor}");
    }
    let permitted = pod::unprivileged(&hosts[0], home.path(), &Implementation::WarrenTunnel.path().unwrap())
        .arg("doctor")
        .output()
        .unwrap();
    let doctor = text(&permitted.stdout);
    assert!(
        doctor.contains("permitted: --device userns is available") && doctor.contains("would use `user`"),
        "{doctor}"
    );
}
