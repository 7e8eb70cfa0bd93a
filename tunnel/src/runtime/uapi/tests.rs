use std::time::Duration;

use proptest::prelude::*;
use warren_wire::key::{PresharedKey, PrivateKey, PublicKey};

use super::*;

fn key(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

#[test]
fn a_whole_set_is_understood() {
    let text = format!(
        "set=1\nprivate_key={}\nlisten_port=12912\nfwmark=0x1f\nreplace_peers=true\n\
         public_key={}\npreshared_key={}\nendpoint=[abcd:23::33%2]:51820\nreplace_allowed_ips=true\n\
         allowed_ip=192.168.4.4/24\nallowed_ip=-10.0.0.0/8\npersistent_keepalive_interval=25\nprotocol_version=1\n\
         public_key={}\nremove=true\npublic_key={}\nupdate_only=true\npreshared_key={}\n\n",
        key(1),
        key(2),
        key(3),
        key(4),
        key(5),
        key(0),
    );
    let Ok(Request::Set(set)) = parse(text.as_bytes()) else { panic!("not understood") };
    assert_eq!(set.private_key, Some(Some(PrivateKey::from_bytes([1; 32]))));
    assert_eq!((set.listen_port, set.fwmark, set.replace_peers), (Some(12912), Some(31), true));
    let [one, two, three] = set.peers.as_slice() else { panic!("three peers") };
    assert_eq!(one.preshared_key, Some(Some(PresharedKey::from_bytes([3; 32]))));
    assert_eq!(one.endpoint.unwrap().to_string(), "[abcd:23::33%2]:51820");
    assert_eq!(one.add, ["192.168.4.0/24".parse().unwrap()]);
    assert_eq!(one.take, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!((one.keepalive, one.replace_allowed_ips), (Some(25), true));
    assert!(two.remove && !two.update_only);
    assert!(three.update_only);
    assert_eq!(three.preshared_key, Some(None));
    assert!(parse(text.trim_end().as_bytes()).is_ok(), "the empty line may be missing");
}

#[test]
fn requests_of_our_own_are_understood() {
    let text = "warren_ping=10.100.0.3\nsize=56\ntimeout_ms=4000\n\n";
    let ping = PingRequest { to: [10, 100, 0, 3].into(), size: 56, timeout: Duration::from_secs(4) };
    assert_eq!(parse(text.as_bytes()), Ok(Request::Ping(ping)));
    assert_eq!(parse(b"warren_resolve=a.internal\n\n"), Ok(Request::Resolve("a.internal".into())));
    assert_eq!(parse(b"warren_gateways=1\n\n"), Ok(Request::Gateways));
}

#[test]
fn answers_of_our_own_read_back() {
    for pong in [
        Pong::Answered { seconds: 0.001_25 },
        Pong::Undelivered { by: [10, 0, 0, 1].into(), reason: PongReason::Prohibited },
        Pong::Silent,
    ] {
        let text = serde_json::to_string(&pong).unwrap();
        assert_eq!(serde_json::from_str::<Pong>(&text).unwrap(), pong, "{text}");
    }
}

#[test]
fn what_is_refused_names_its_line() {
    let peer = format!("public_key={}\n", key(2));
    for (text, line) in [
        (String::new(), 1),
        ("get=2\n\n".into(), 1),
        ("get=1\nlisten_port=1\n\n".into(), 2),
        ("set=1\nlisten_port=65536\n\n".into(), 2),
        ("set=1\nlisten_port=+1\n\n".into(), 2),
        ("set=1\nfwmark=0x+1\n\n".into(), 2),
        ("set=1\nreplace_peers=false\n\n".into(), 2),
        ("set=1\nnoise=1\n\n".into(), 2),
        ("set=1\nno equals\n\n".into(), 2),
        ("set=1\nprivate_key=00\n\n".into(), 2),
        ("set=1\nallowed_ip=10.0.0.0/8\n\n".into(), 2),
        (format!("set=1\n{peer}listen_port=1\n\n"), 3),
        (format!("set=1\n{peer}allowed_ip=10.0.0.0/33\n\n"), 3),
        (format!("set=1\n{peer}endpoint=1.2.3.4:0\n\n"), 3),
        (format!("set=1\n{peer}endpoint=name:1\n\n"), 3),
        ("get=1\n\nget=1\n\n".into(), 2),
        ("warren_ping=name\n\n".into(), 1),
        ("warren_ping=10.0.0.1\nsize=65536\n\n".into(), 2),
        ("warren_ping=10.0.0.1\nsize=1\ntimeout_ms=10001\n\n".into(), 3),
        ("warren_ping=10.0.0.1\ncount=1\n\n".into(), 2),
        ("warren_resolve=\n\n".into(), 1),
        (format!("warren_resolve={}\n\n", "a".repeat(255)), 1),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(Refusal::Invalid { line }), "{text:?}");
    }
    assert_eq!(parse(b"get=1\nx=\xff\n\n"), Err(Refusal::Invalid { line: 2 }));
    let version = format!("set=1\n{peer}protocol_version=2\n\n");
    assert_eq!(parse(version.as_bytes()), Err(Refusal::Protocol { line: 3 }));
    assert_eq!(Refusal::Protocol { line: 3 }.errno(), libc::EPROTONOSUPPORT);
}

#[test]
fn an_answer_can_be_set_again() {
    let device = Device {
        private_key: Some(PrivateKey::from_bytes([8; 32])),
        listen_port: 51820,
        fwmark: Some(51820),
        peers: vec![DevicePeer {
            public_key: PublicKey::from_bytes([9; 32]),
            preshared_key: Some(PresharedKey::from_bytes([7; 32])),
            endpoint: Some("[2001:db8::1]:51820".parse().unwrap()),
            last_handshake: Some(Duration::new(1_700_000_000, 5)),
            rx_bytes: 10,
            tx_bytes: 20,
            keepalive: Some(25),
            allowed_ips: vec!["10.0.0.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()],
        }],
    };
    let answer = get(&device);
    insta::assert_snapshot!(answer.as_str());
    let settable: String = std::iter::once("set=1")
        .chain(answer.lines().filter(|line| {
            !["last_", "tx_bytes", "rx_bytes", "errno"].iter().any(|start| line.starts_with(start))
        }))
        .map(|line| format!("{line}\n"))
        .collect();
    let Ok(Request::Set(set)) = parse(settable.as_bytes()) else { panic!("{settable}") };
    assert_eq!(set.peers[0].add, device.peers[0].allowed_ips);
    assert_eq!(set.private_key, Some(device.private_key.clone()));
    assert_eq!(set.fwmark, device.fwmark);
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn any_lines_are_answered(lines in proptest::collection::vec(
        ("(get|set|private_key|public_key|listen_port|fwmark|endpoint|allowed_ip|remove|x)", "[-0-9a-f:./%x\\[\\]]{0,70}"), 0..12)) {
        let text: String = std::iter::once("set=1\n".to_owned())
            .chain(lines.iter().map(|(key, value)| format!("{key}={value}\n"))).collect();
        let _ = parse(text.as_bytes());
    }
}
