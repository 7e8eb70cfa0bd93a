//! The page for operators: of real gateways with real pods, and who may not see it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use warren_tunnel_tests::fabric::Member;
use warren_tunnel_tests::fleet::{Fleet, ask, proxy};
use warren_tunnel_tests::{Implementation, Namespace, program, wait_for};

const LONG: Duration = Duration::from_secs(40);
const LOCAL: &str = "127.0.0.1:9600";
/// Where other machines reach the first gateway.
const OUTSIDE: &str = "10.200.0.10:9600";
/// Nobody's, as whom gateways run.
const NOBODY: u32 = 65534;

/// A group that reaches one port of every host.
const MORE: &str = r#"
[page]
enabled = true
[groups.web]
peer_rate_mbit = 500
[[groups.web.allow]]
to = ["10.50.0.0/24"]
ports = [8000]
protocols = ["tcp"]
"#;

/// The status, head, and body of an answer to a request on a host.
fn request(host: &Namespace, address: &'static str, head: &str) -> (u16, String, String) {
    let request = format!("{head}\r\nConnection: close\r\n\r\n");
    let text = host.inside(move || {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    });
    let text = text.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
}

fn get(host: &Namespace, path: &str, name: &str) -> (u16, String, String) {
    request(host, LOCAL, &format!("GET {path} HTTP/1.1\r\nHost: {name}"))
}

/// What the page of a gateway shows.
fn data(host: &Namespace) -> Value {
    let (status, _, body) = get(host, "/page.json", "localhost:9600");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

fn pod<'a>(data: &'a Value, host: &str) -> &'a Value {
    let pods = data["pods"].as_array().unwrap();
    pods.iter().find(|pod| pod["host"] == host).unwrap_or_else(|| panic!("no {host} in {data:#}"))
}

fn member(fleet: &Fleet, number: u16, name: &str, more: &[&str]) -> Member {
    let (proxy, interface) = (proxy(number).to_string(), format!("pod{number}"));
    let arguments =
        ["--http-proxy", &proxy, "--socks5", "off", "--interface", &interface, "--host-name", name];
    let token = fleet.fabric.token("web", &[]).unwrap();
    fleet.fabric.pod(&fleet.pods, &token, &[&arguments[..], more].concat()).unwrap()
}

/// A pod asks etcd, whose port no rule allows.
fn is_denied(fleet: &Fleet, number: u16) {
    let (via, url) = (format!("http://{}", proxy(number)), "http://10.50.0.9:2379/");
    let arguments = ["--silent", "--proxytunnel", "--max-time", "10", "--proxy", &via, url];
    fleet.pods.run(program("curl").unwrap(), &arguments).unwrap_err();
}

/// The kernel counts packets.
#[test]
fn a_page_shows_what_the_kernel_denies() {
    let fleet = Fleet::with(1, MORE).unwrap();
    let gateway = fleet.admin_gateway(0).unwrap();
    let _pod = member(&fleet, 1, "pod-1", &[]);
    fleet.pods.inside(|| ask(proxy(1))).unwrap();
    is_denied(&fleet, 1);
    let data = wait_for(LONG, "the denied flow", || {
        let data = data(fleet.gateway_host(0));
        Ok((pod(&data, "pod-1")["denied"].as_u64() > Some(0)).then_some(data))
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", gateway.daemon.log()));
    let report = &data["gateways"][0]["report"];
    assert_eq!(report["status"]["forward"], "kernel");
    let denied = &report["denied"][0];
    assert_eq!(
        (&denied["destination"], &denied["port"], &denied["protocol"]),
        (&"10.50.0.9".into(), &2379.into(), &"tcp".into())
    );
    assert_eq!(denied["count"], pod(&data, "pod-1")["denied"]);
    assert!(pod(&data, "pod-1")["tx_bytes"].as_u64().unwrap() > 500);
}

#[test]
fn a_page_shows_the_pods_of_all_gateways() {
    let fleet = Fleet::with(2, MORE).unwrap();
    let name = "<b>pod-1</b>";
    let first = fleet.gateway(0).unwrap();
    let _slow = member(&fleet, 1, name, &["--carrier", "tls"]);
    // The second pod finds only the second gateway.
    let mut second = fleet.gateway(1).unwrap();
    first.run(&["gateway", "drain", "--stay"]).unwrap();
    let _fast = member(&fleet, 2, "pod-2", &["--carrier", "udp"]);
    first.run(&["gateway", "drain", "--undo"]).unwrap();
    let hosts = [0, 1].map(|index| fleet.gateway_host(index));
    for number in [1, 2] {
        fleet.pods.inside(move || ask(proxy(number))).unwrap();
        is_denied(&fleet, number);
    }

    // Both gateways show both pods, each as the gateway that it uses sees it.
    for host in hosts {
        wait_for(LONG, "pods of both gateways", || {
            let data = data(host);
            let (slow, fast) = (pod(&data, name), pod(&data, "pod-2"));
            // A pod that waits long for the answer asks again.
            let known =
                [slow, fast].iter().all(|pod| pod["denied"].as_u64() > Some(0) && pod["rtt"].is_f64());
            Ok(known.then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}\n{:#}\n{}", data(host), first.daemon.log()));
        let data = data(host);
        assert_eq!(data["fabric"], "lab");
        for (pod, gateway, carrier) in
            [(pod(&data, name), "gw-0", "tls"), (pod(&data, "pod-2"), "gw-1", "udp")]
        {
            assert_eq!((&pod["gateway"], &pod["carrier"]), (&gateway.into(), &carrier.into()), "{pod:#}");
            assert_eq!((&pod["group"], &pod["state"]), (&"web".into(), &"live".into()), "{pod:#}");
            let rtt = pod["rtt"].as_f64().unwrap();
            assert!(rtt > 0.0 && rtt < 5.0, "{pod:#}");
            assert!(
                pod["rx_bytes"].as_u64().unwrap() > 500 && pod["tx_bytes"].as_u64().unwrap() > 500,
                "{pod:#}"
            );
        }
        for view in data["gateways"].as_array().unwrap() {
            let report = &view["report"];
            let denied = report["denied"].as_array().unwrap();
            assert_eq!(denied.len(), 1, "{view:#}");
            assert_eq!((&denied[0]["destination"], &denied[0]["port"]), (&"10.50.0.9".into(), &2379.into()));
            assert_eq!(report["status"]["figures"]["denied"], denied[0]["count"]);
            assert_eq!(report["denied_recorded"], true);
            let events = report["events"].to_string();
            assert!(events.contains("joined"), "{events}");
            assert_eq!(events.contains("draining"), view["name"] == "gw-0", "{events}");
            assert!(report["rx_bytes"].as_u64().unwrap() > 0);
        }
    }
    // The counters of the page follow the traffic: a rate is their difference.
    let before = data(hosts[1]);
    fleet.pods.inside(|| ask(proxy(2))).unwrap();
    wait_for(LONG, "traffic", || {
        let bytes = |data: &Value| pod(data, "pod-2")["tx_bytes"].as_u64().unwrap();
        Ok((bytes(&data(hosts[1])) > bytes(&before)).then_some(()))
    })
    .unwrap();

    // Nothing else than the page and its data, for nobody else than this machine.
    let (status, head, body) = get(hosts[0], "/", "127.0.0.1:9600");
    assert_eq!(status, 200);
    assert!(
        head.contains("content-security-policy: default-src 'none'") && head.contains("no-store"),
        "{head}"
    );
    assert!(head.contains("x-frame-options: deny") && body.starts_with("<!doctype html>"), "{head}");
    assert_eq!(get(hosts[0], "/page.json", "rebound.example:9600").0, 403);
    assert_eq!(get(hosts[0], "/", "10.200.0.10:9600").0, 403);
    assert_eq!(get(hosts[0], "/page.js", "localhost").0, 404);
    assert_eq!(get(hosts[0], "/metrics", "prometheus.example").0, 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let head = format!("{method} /page.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0");
        assert_eq!(request(hosts[0], LOCAL, &head).0, 405, "{method}");
    }

    // A gateway that has died is said to be, and its pods' leases are still shown.
    second.daemon.kill().unwrap();
    wait_for(LONG, "the second gateway's absence", || {
        let data = data(hosts[0]);
        let view = &data["gateways"][1];
        assert_eq!(view["name"], "gw-1");
        Ok(view["problem"].is_string().then_some(()))
    })
    .unwrap();
    assert_eq!(pod(&data(hosts[0]), "pod-2")["group"], "web");
}

/// `gateway check` of a gateway's file.
fn check(file: &Path) -> (bool, String) {
    let mut command = Command::new(Implementation::WarrenTunnel.path().unwrap());
    let output = command.args(["gateway", "check"]).arg(file).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn other_machines_see_no_page_without_the_password() {
    let fleet = Fleet::new(1).unwrap();
    // The sandbox permits a reload to name files beside those of the start.
    let password: PathBuf = fleet.fabric.config(0).with_file_name("page.password");
    let write = |text: &str, mode: u32| {
        std::fs::write(&password, text).unwrap();
        std::fs::set_permissions(&password, std::fs::Permissions::from_mode(mode)).unwrap();
        chown(&password, Some(NOBODY), Some(NOBODY)).unwrap();
    };
    let configure = |page: &str| {
        let outside = ("metrics = \"127.0.0.1:9600\"", "metrics = \"0.0.0.0:9600\"");
        fleet.fabric.configure(0, &[outside, ("[audit]", &format!("{page}\n[audit]"))]).unwrap();
        check(&fleet.fabric.config(0))
    };
    let get = |path: &str, more: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: gw-0.example:9600{more}");
        request(&fleet.pods, OUTSIDE, &head)
    };

    let (valid, said) = configure("[page]\nenabled = true");
    assert!(!valid && said.contains("would be served at 0.0.0.0:9600 without a password"), "{said}");
    assert!(said.contains("set [page] password_file"), "{said}");
    let program = Implementation::WarrenTunnel.path().unwrap();
    let file = fleet.fabric.config(0);
    let start = ["10", program.to_str().unwrap(), "gateway", "--config", file.to_str().unwrap()];
    let said = fleet.gateway_host(0).run("timeout", &start).unwrap_err().to_string();
    assert!(said.contains("without a password"), "{said}");
    let with_password = format!("[page]\npassword_file = {password:?}");
    let (valid, said) = configure(&with_password);
    assert!(!valid && said.contains("page.password"), "{said}");
    write("correct horse battery\n", 0o644);
    let (valid, said) = check(&fleet.fabric.config(0));
    assert!(!valid && said.contains("others may read"), "{said}");

    // Metrics alone, as before there was a page.
    assert!(configure("").0);
    let mut gateway = fleet.gateway(0).unwrap();
    let (status, _, body) = get("/", "");
    assert_eq!((status, body.as_str()), (200, "/metrics /healthz /readyz\n"));
    assert_eq!(get("/page.json", "").0, 404);
    assert_eq!(get("/metrics", "").0, 200);

    // A reload adds the page, and another one changes the password.
    write("correct horse battery\n", 0o600);
    assert!(configure(&with_password).0);
    gateway.run(&["gateway", "reload"]).unwrap();
    let (status, head, body) = get("/page.json", "");
    assert_eq!(status, 401);
    assert!(head.contains("www-authenticate: basic") && !body.contains("pods"), "{head}\n{body}");
    let old = "\r\nAuthorization: Basic b3BlcmF0b3I6Y29ycmVjdCBob3JzZSBiYXR0ZXJ5";
    assert_eq!(get("/", "\r\nAuthorization: Basic b3BlcmF0b3I6d3JvbmcgaG9yc2UgYmF0dGVyeQ==").0, 401);
    assert_eq!(get("/", old).0, 200);
    assert!(get("/page.json", old).2.contains("\"pods\":[]"));
    write("battery staple correct\n", 0o600);
    assert_eq!(get("/", old).0, 200, "not yet");
    gateway.run(&["gateway", "reload"]).unwrap();
    assert_eq!(get("/", old).0, 401);
    assert_eq!(get("/", "\r\nAuthorization: Basic OmJhdHRlcnkgc3RhcGxlIGNvcnJlY3Q=").0, 200);
    assert!(!gateway.daemon.log().contains("staple"));
    assert!(gateway.daemon.terminate().unwrap().success());
}
