//! Private names in a pod: with real name servers behind a gateway, by sockets and by the kernel.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod lab;

use std::thread;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use warren_tunnel_tests::dns::{self, dnsmasq, was_asked};
use warren_tunnel_tests::pod::unprivileged;
use warren_tunnel_tests::{Implementation, Namespace, wait_for};

use lab::{By, Lab, PATIENCE, SERVER};

const HTTP: Option<&str> = Some("http://127.0.0.1:3128");
const SOCKS: Option<&str> = Some("socks5h://127.0.0.1:1080");

/// Runs a test with both ways to forward at once.
fn both(test: impl Fn(By) + Send + Copy + 'static) {
    let threads = [By::User, By::Kernel].map(|by| (by, thread::spawn(move || test(by))));
    let failed: Vec<By> =
        threads.into_iter().filter_map(|(by, thread)| thread.join().is_err().then_some(by)).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn query(name: &str, kind: RecordType) -> Vec<u8> {
    dns::query(name, kind).unwrap()
}

fn ask(host: &Namespace, server: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
    dns::ask(host, server, bytes).unwrap()
}

fn ask_tcp(host: &Namespace, server: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
    dns::ask_tcp(host, server, bytes).unwrap()
}

fn metric(gateway: &warren_tunnel_tests::fabric::Gateway, field: &str) -> u64 {
    gateway.status().unwrap()["dns"][field].as_u64().unwrap()
}

#[test]
fn a_pod_without_privileges_resolves_private_names_through_the_tunnel_and_others_itself() {
    both(|by| {
        let lab = Lab::new(by);
        let mut gateway = lab.start();
        let agent = lab.agent();
        let logs = || format!("{}\n---\n{}", agent.daemon.log(), gateway.daemon.log());
        for proxy in [HTTP, SOCKS] {
            for name in ["data.example.org", "storage.googleapis.com"] {
                let got = lab.curl(proxy, &format!("http://{name}:8080/"));
                assert_eq!(got.as_deref(), Ok("private"), "{name} by {proxy:?}\n{}", logs());
            }
            assert_eq!(
                lab.curl(proxy, "http://www.example.net:8080/").as_deref(),
                Ok("public"),
                "{}",
                logs()
            );
        }
        assert!(was_asked(&lab.own, "www.example.net"));
        let ours = |arguments: &[&str]| {
            let program = Implementation::WarrenTunnel.path().unwrap();
            let mut command = unprivileged(&lab.pod, agent.home.path(), &program);
            let output = command.args(arguments).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let found = ours(&["doctor"]);
        assert!(found.contains("resolves example.org, googleapis.com; example.org answered in "), "{found}");
        let shown = ours(&["status"]);
        assert!(shown.contains("private names: example.org, resolved by 10.100.0.1"), "{shown}");
        // The metadata service answers the gateway, and no pod.
        let refused = lab.curl(HTTP, "http://169.254.169.254:8080/").unwrap_err();
        assert!(!refused.contains("private"), "{refused}");
        assert!(metric(&gateway, "queries") > 0);

        // While the gateway is away, private names fail, and no other server is queried.
        gateway.daemon.kill().unwrap();
        let error = lab.curl(HTTP, "http://new.example.org:8080/").unwrap_err();
        assert!(error.contains("no DNS server answers"), "{error}");
        lab.curl(SOCKS, "http://newer.googleapis.com:8080/").unwrap_err();
        assert_eq!(lab.curl(HTTP, "http://www.example.net:8080/").as_deref(), Ok("public"));
        let found = wait_for(PATIENCE, "failed test", || {
            let found = ours(&["doctor"]);
            Ok(found.contains("no answer for example.org").then_some(found))
        });
        found.unwrap_or_else(|error| panic!("{error}\n{}", ours(&["doctor"])));
        for domain in ["example.org", "googleapis.com"] {
            assert!(!was_asked(&lab.own, domain), "{domain} leaked:\n{}", lab.own.log());
        }
    });
}

#[test]
fn the_gateway_answers_its_peers_for_its_domains_alone() {
    both(|by| {
        let lab = Lab::new(by);
        let gateway = lab.start();
        let _machine = lab.machine();
        let code = |bytes: &[u8]| Message::from_vec(bytes).unwrap().metadata.response_code;
        let answer = ask(&lab.pod, SERVER, query("Data.Example.ORG.", RecordType::A)).expect("an answer");
        let message = Message::from_vec(&answer).unwrap();
        assert_eq!(message.answers[0].data.ip_addr().unwrap().to_string(), "10.50.0.2");
        assert_eq!(message.metadata.id, 0x1234);
        assert!(message.metadata.recursion_available);
        // What it has no domain for, it refuses, though its resolver knows it.
        for name in ["other.test.", "org.", "notexample.org.", "."] {
            let answer = ask(&lab.pod, SERVER, query(name, RecordType::A)).expect("an answer");
            assert_eq!(code(&answer), ResponseCode::Refused, "{name}");
        }
        assert!(!was_asked(&lab.resolver, "other.test"), "{}", lab.resolver.log());
        // Long answers are cut for UDP, and whole over TCP.
        let long = || query("long.example.org.", RecordType::TXT);
        let cut = ask(&lab.pod, SERVER, long()).expect("an answer");
        assert!(cut.len() <= 1232 && Message::from_vec(&cut).unwrap().metadata.truncation);
        let whole = ask_tcp(&lab.pod, SERVER, long()).expect("an answer");
        assert!(whole.len() > 2000 && !Message::from_vec(&whole).unwrap().metadata.truncation);
        // The second time it is from the cache.
        let asked = |log: &str| log.matches("query[A] cached.example.org").count();
        for _ in 0..2 {
            ask(&lab.pod, SERVER, query("cached.example.org.", RecordType::A)).expect("an answer");
        }
        assert_eq!(asked(&lab.resolver.log()), 1);
        assert_eq!(metric(&gateway, "cached"), 2, "a long answer, and a short one");
        assert_eq!(metric(&gateway, "refused"), 4);

        // Hostile bytes get a short answer or none, and the next question its own.
        let good = query("data.example.org.", RecordType::A);
        for cut in [0, 1, 11, 12, 20] {
            let answer = ask_quickly(&lab, good[..cut].to_vec());
            assert!(answer.is_none_or(|answer| answer.len() <= 12), "{cut}");
        }
        let mut response = good.clone();
        response[2] |= 0x80;
        assert!(ask_quickly(&lab, response).is_none(), "an answer is not answered");
        assert_eq!(code(&ask(&lab.pod, SERVER, good).unwrap()), ResponseCode::NoError);

        // Nothing else of the gateway is open at that address, and nothing of it to others.
        assert!(ask_elsewhere(&lab, 5353).is_none());
        let outside = query("data.example.org.", RecordType::A);
        assert!(ask(&lab.inside, SERVER, outside.clone()).is_none(), "not a peer");
        assert!(ask_tcp(&lab.inside, SERVER, outside).is_none(), "not a peer");
    });
}

fn ask_quickly(lab: &Lab, bytes: Vec<u8>) -> Option<Vec<u8>> {
    lab.pod
        .inside(move || {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
            socket.set_read_timeout(Some(Duration::from_millis(700)))?;
            socket.send_to(&bytes, (SERVER, 53))?;
            let mut buffer = vec![0; 4096];
            Ok(socket.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec()))
        })
        .unwrap()
}

/// An answer from another port of the gateway's address.
fn ask_elsewhere(lab: &Lab, port: u16) -> Option<usize> {
    lab.pod
        .inside(move || {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
            socket.set_read_timeout(Some(Duration::from_millis(700)))?;
            socket.send_to(b"?", (SERVER, port))?;
            Ok(socket.recv(&mut [0; 64]).ok())
        })
        .unwrap()
}

#[test]
fn a_dead_resolver_delays_little_and_a_reload_changes_resolvers_and_domains() {
    both(|by| {
        let lab = Lab::new(by);
        lab.fabric
            .configure(0, &[("[\"10.50.0.2\"]\n[[dns", "[\"10.50.0.9\", \"10.50.0.2\"]\n[[dns")])
            .unwrap();
        let mut gateway = lab.start();
        let _agent = lab.agent();
        assert_eq!(
            lab.curl(HTTP, "http://a.example.org:8080/").as_deref(),
            Ok("private"),
            "{}",
            gateway.daemon.log()
        );
        let resolvers = || gateway.status().unwrap()["dns"]["resolvers"].clone();
        let dead = serde_json::json!({"address": "10.50.0.9", "answers": false});
        assert!(resolvers().as_array().unwrap().contains(&dead), "{}", resolvers());
        assert!(gateway.daemon.log().contains("name server does not answer"), "{}", gateway.daemon.log());

        // A second server knows the domain by another address, and one more domain.
        lab.inside.ip("addr add 10.50.0.3/24 dev lan").unwrap();
        let _other = dnsmasq(
            &lab.inside,
            &[
                "--listen-address=10.50.0.3",
                "--address=/example.org/10.50.0.2",
                "--address=/late.test/10.50.0.2",
            ],
        )
        .unwrap();
        assert_eq!(lab.curl(HTTP, "http://x.late.test:8080/").as_deref(), Ok("public"), "not private yet");
        let changes = [
            ("[\"10.50.0.2\"]\n[[dns", "[\"10.50.0.3\"]\n[[dns"),
            ("domains = [\"example.org\"]", "domains = [\"example.org\", \"late.test\"]"),
        ];
        lab.fabric.configure(0, &changes).unwrap();
        gateway.run(&["gateway", "reload"]).unwrap();
        assert_eq!(resolvers().as_array().unwrap().len(), 2, "{}", resolvers());
        assert_eq!(lab.curl(HTTP, "http://b.example.org:8080/").as_deref(), Ok("private"));
        assert!(!was_asked(&lab.resolver, "b.example.org"), "{}", lab.resolver.log());

        // All resolvers fail: so does the name, and no other server is queried.
        lab.fabric.configure(0, &[("[\"10.50.0.2\"]\n[[dns", "[\"10.50.0.9\"]\n[[dns")]).unwrap();
        gateway.run(&["gateway", "reload"]).unwrap();
        lab.curl(HTTP, "http://c.example.org:8080/").unwrap_err();
        assert!(!was_asked(&lab.own, "example.org"));

        // Without zones there is no such address: that needs a restart.
        let text = std::fs::read_to_string(lab.fabric.config(0)).unwrap();
        let (head, tail) = text.split_once("[[dns.zones]]").unwrap();
        let (_, rest) = tail.split_once("[groups.gpu]").unwrap();
        std::fs::write(lab.fabric.config(0), format!("{head}[groups.gpu]{rest}")).unwrap();
        let refused = format!("{:#}", gateway.run(&["gateway", "reload"]).unwrap_err());
        assert!(refused.contains("[[dns.zones]]"), "{refused}");
        assert!(gateway.daemon.terminate().unwrap().success());
        if by == By::Kernel {
            assert_eq!(lab.gateway.run("nft", &["list", "tables"]).unwrap(), "");
        }
    });
}

/// Programs of a machine with an interface know no proxy: they ask whom `/etc/resolv.conf` names.
#[test]
fn a_machine_with_an_interface_resolves_private_names_through_the_tunnel_and_others_itself() {
    both(|by| {
        let lab = Lab::new(by);
        let mut gateway = lab.start();
        let resolv_conf =
            || std::fs::read_to_string(format!("/etc/netns/{}/resolv.conf", lab.pod.name())).unwrap();
        let before = resolv_conf();
        let mut machine = lab.machine();
        assert_eq!(
            lab.curl(None, "http://data.example.org:8080/").as_deref(),
            Ok("private"),
            "{}",
            machine.daemon.log()
        );
        assert_eq!(
            lab.curl(None, "http://www.example.net:8080/").as_deref(),
            Ok("public"),
            "{}",
            machine.daemon.log()
        );
        let during = resolv_conf();
        assert!(
            during.contains("nameserver 127.83.0.1\n") && during.contains("options attempts:1 timeout:2"),
            "{during}"
        );
        assert!(!during.contains("10.201.0.2"), "{during}");

        // The gateway's domains change; the agent learns of it when it enrols again.
        lab.fabric
            .configure(0, &[("domains = [\"example.org\"]", "domains = [\"example.org\", \"other.test\"]")])
            .unwrap();
        gateway.run(&["gateway", "reload"]).unwrap();
        machine.daemon.signal(rustix::process::Signal::HUP).unwrap();
        wait_for(PATIENCE, "another domain", || {
            Ok((lab.curl(None, "http://x.other.test:8080/").as_deref() == Ok("private")).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}\n{}", machine.daemon.log()));

        gateway.daemon.kill().unwrap();
        lab.curl(None, "http://new.example.org:8080/").unwrap_err();
        assert_eq!(lab.curl(None, "http://www.example.net:8080/").as_deref(), Ok("public"));
        assert!(!was_asked(&lab.own, "example.org"), "leaked:\n{}", lab.own.log());
        assert!(machine.daemon.terminate().unwrap().success());
        assert_eq!(resolv_conf(), before);
    });
}

/// The address was a pod's before its gateway answered DNS.
#[test]
fn a_pod_with_the_gateways_address_gets_another() {
    both(|by| {
        let lab = Lab::new(by);
        // A pool of two addresses, of which the pod gets the first.
        let whole = std::fs::read_to_string(lab.fabric.config(0)).unwrap();
        let (head, tail) = whole.split_once("[[dns.zones]]").unwrap();
        let (_, rest) = tail.split_once("[groups.gpu]").unwrap();
        let pool = |text: &str| text.replace("10.100.0.0/24\"]", "10.100.0.0/29\"]\nreserved = [RESERVED]");
        let others = ["10.100.0.2", "10.100.0.3", "10.100.0.4", "10.100.0.5", "10.100.0.6"]
            .map(|a| format!("\"{a}\""))
            .join(", ");
        let before = pool(&format!("{head}[groups.gpu]{rest}")).replace("RESERVED", &others);
        std::fs::write(lab.fabric.config(0), before).unwrap();
        let mut gateway = lab.start();
        let agent = lab.agent();
        let address = |gateway: &warren_tunnel_tests::fabric::Gateway| {
            gateway.peers().unwrap()[0]["addresses"][0].as_str().unwrap().to_owned()
        };
        assert_eq!(address(&gateway), SERVER);
        assert!(gateway.daemon.terminate().unwrap().success());
        std::fs::write(lab.fabric.config(0), pool(&whole).replace("RESERVED", "")).unwrap();
        let gateway = lab.start();
        wait_for(4 * PATIENCE, "another address", || Ok((address(&gateway) != SERVER).then_some(())))
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", gateway.daemon.log(), agent.daemon.log()));
        wait_for(PATIENCE, "private name", || {
            Ok((lab.curl(HTTP, "http://a.example.org:8080/").as_deref() == Ok("private")).then_some(()))
        })
        .unwrap();
    });
}
