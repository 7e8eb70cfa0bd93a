//! What an operator does to a running tunnel, and what a crash leaves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::{
    Daemon, Device, Family, Implementation, KeyPair, Pair, Remote, Settings, Side, preshared_key, wait_for,
};

/// A tunnel with ours on the left.
fn pair() -> Pair {
    let settings = Settings { preshared: true, ..Settings::default() };
    Pair::start(&Implementation::WarrenTunnel, &Implementation::WireguardGo, &settings).unwrap()
}

#[test]
fn wg_show_tells_what_was_configured() {
    let mut pair = pair();
    pair.meet(Side::Left, Family::V4).unwrap();
    let interface = pair.interface(Side::Left).clone();
    let device = pair.device(Side::Left);
    let shown = device.wg(&["show", device.name()]).unwrap();
    assert!(shown.contains(&format!("public key: {}", interface.keys.public)), "{shown}");
    assert!(shown.contains("listening port: 51820") && shown.contains("preshared key: (hidden)"), "{shown}");
    assert!(shown.contains("latest handshake:") && shown.contains("transfer:"), "{shown}");
    assert!(device.wg(&["show", "interfaces"]).unwrap().contains(device.name()));
    let peer = device.peer().unwrap();
    assert_eq!(peer.public_key, interface.peers[0].public_key);
    assert_eq!(peer.preshared_key, interface.peers[0].preshared_key);
    let mut allowed = peer.allowed;
    allowed.sort();
    assert_eq!(allowed, ["10.77.0.2/32", "fd00:77::2/128"]);
    let written = device.wg(&["showconf", device.name()]).unwrap();
    assert!(written.contains(&interface.keys.private), "{written}");
}

#[test]
fn wg_set_changes_peers_while_a_stream_flows() {
    let pair = pair();
    pair.meet(Side::Left, Family::V4).unwrap();
    let stream = Stream::start(
        pair.host(Side::Left),
        pair.host(Side::Right),
        Side::Right.inner(Family::V4),
        30_000_000,
    );
    let stream = stream.unwrap();
    stream.reached(0.1).unwrap();
    let device = pair.device(Side::Left);
    let known = device.peer().unwrap();
    let other = KeyPair::generate().unwrap().public;
    device
        .set(&format!(
            "peer {other} allowed-ips 10.99.0.0/16,fd00:99::/32 endpoint 10.200.0.9:4 persistent-keepalive 7"
        ))
        .unwrap();
    let added = |device: &Device| device.peers().unwrap().into_iter().find(|peer| peer.public_key == other);
    let seen = added(device).unwrap();
    assert_eq!((seen.keepalive, seen.endpoint), (Some(7), Some("10.200.0.9:4".parse().unwrap())));
    assert_eq!(seen.allowed.len(), 2);
    // A prefix belongs to one peer: the last that was given it.
    let moved = [known.allowed.join(","), "10.99.0.0/16".into()].join(",");
    device.set(&format!("peer {} allowed-ips {moved}", known.public_key)).unwrap();
    assert_eq!(added(device).unwrap().allowed, ["fd00:99::/32"]);
    device.set(&format!("peer {other} persistent-keepalive off")).unwrap();
    assert_eq!(added(device).unwrap().keepalive, None);
    device.set(&format!("peer {other} remove")).unwrap();
    assert!(added(device).is_none());
    device.set("fwmark 0x77").unwrap();
    assert!(device.wg(&["show", device.name(), "fwmark"]).unwrap().contains("0x77"));
    device.set("fwmark 0").unwrap();
    stream.finish().unwrap();
    assert_eq!(device.peer().unwrap().last_handshake, known.last_handshake, "the session went on");
}

#[test]
fn removing_a_peer_by_wg_ends_its_traffic() {
    let pair = pair();
    pair.meet(Side::Left, Family::V4).unwrap();
    let device = pair.device(Side::Left);
    let key = device.peer().unwrap().public_key;
    device.set(&format!("peer {key} remove")).unwrap();
    let target = Side::Left.inner(Family::V4).to_string();
    assert!(pair.host(Side::Right).run("ping", &["-c1", "-W1", &target]).is_err());
}

#[test]
fn wg_syncconf_keeps_the_session() {
    let mut pair = pair();
    pair.meet(Side::Left, Family::V4).unwrap();
    let before = pair.device(Side::Left).peer().unwrap();
    let mut interface = pair.interface(Side::Left).clone();
    interface.peers[0].keepalive = Some(20);
    let added = Remote {
        public_key: KeyPair::generate().unwrap().public,
        preshared_key: Some(preshared_key().unwrap()),
        allowed: vec!["10.98.0.0/24".into()],
        ..Remote::default()
    };
    interface.peers.push(added);
    let device = pair.device(Side::Left);
    let file = device.file("sync.conf");
    device.write(&file, &interface.wg()).unwrap();
    device.wg(&["syncconf", device.name(), &file.display().to_string()]).unwrap();
    let peers = device.peers().unwrap();
    assert_eq!(peers.len(), 2);
    let same = peers.iter().find(|peer| peer.public_key == before.public_key).unwrap();
    assert_eq!((same.last_handshake, same.keepalive), (before.last_handshake, Some(20)));
    interface.peers.truncate(1);
    device.write(&file, &interface.wg()).unwrap();
    device.wg(&["syncconf", device.name(), &file.display().to_string()]).unwrap();
    assert_eq!(device.peers().unwrap().len(), 1);
    pair.meet(Side::Left, Family::V4).unwrap();
}

#[test]
fn a_reload_drops_no_stream() {
    let mut pair = pair();
    pair.meet(Side::Left, Family::V4).unwrap();
    let before = pair.device(Side::Left).peer().unwrap();
    let stream = Stream::start(
        pair.host(Side::Right),
        pair.host(Side::Left),
        Side::Left.inner(Family::V4),
        40_000_000,
    );
    let stream = stream.unwrap();
    stream.reached(0.1).unwrap();
    let mut interface = pair.interface(Side::Left).clone();
    interface.peers.push(Remote {
        public_key: KeyPair::generate().unwrap().public,
        allowed: vec!["10.97.0.0/24".into()],
        ..Remote::default()
    });
    let device = pair.device(Side::Left);
    device.write(&device.config(), &interface.wg_quick()).unwrap();
    device.signal(Signal::HUP).unwrap();
    wait_for(Duration::from_secs(5), "the new peer", || Ok((device.peers()?.len() == 2).then_some(())))
        .unwrap();
    wait_for(Duration::from_secs(5), "the new peer's route", || {
        Ok(device.host().ip("route show")?.contains("10.97.0.0/24").then_some(()))
    })
    .unwrap();
    // A file with a mistake changes nothing.
    device.write(&device.config(), "[Interface]\nPrivateKey = nonsense\n").unwrap();
    device.signal(Signal::HUP).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(device.peers().unwrap().len(), 2);
    stream.finish().unwrap();
    let peers = device.peers().unwrap();
    let same = peers.iter().find(|peer| peer.public_key == before.public_key).unwrap();
    assert_eq!(same.last_handshake, before.last_handshake, "the session went on");
}

/// What the host's network looks like: addresses, routes, rules, name servers.
fn picture(pair: &Pair) -> String {
    let host = pair.host(Side::Left);
    let shown = [
        "-4 address show",
        "-6 address show scope global",
        "-4 route show table all",
        "-6 route show table main",
        "-4 rule show",
        "-6 rule show",
    ]
    .map(|what| host.ip(what).unwrap());
    let resolver = fs::read_to_string(format!("/etc/netns/{}/resolv.conf", host.name())).unwrap();
    format!("{}{resolver}", shown.concat())
}

/// A tunnel that takes all traffic and the name servers: it has the most to put back.
fn full_tunnel() -> (Pair, String) {
    let mut interfaces = Pair::interfaces(&Settings::default()).unwrap();
    interfaces[0].peers[0].allowed = vec!["0.0.0.0/0".into(), "::/0".into()];
    interfaces[0].extra = vec!["DNS = 10.77.0.2, corp.example".into()];
    let mut pair =
        Pair::start(&Implementation::WireguardGo, &Implementation::WireguardGo, &Settings::default())
            .unwrap();
    pair.stop(Side::Left);
    pair.stop(Side::Right);
    pair.host(Side::Left).resolver("nameserver 192.0.2.53\n").unwrap();
    pair.host(Side::Left).ip("route add default via 10.200.0.2").unwrap();
    let before = picture(&pair);
    let [left, right] = interfaces;
    *pair.interface(Side::Left) = left;
    *pair.interface(Side::Right) = right;
    pair.restart(Side::Right).unwrap();
    (pair, before)
}

fn start_ours(pair: &mut Pair) -> Device {
    let interface = pair.interface(Side::Left).clone();
    let host = Arc::clone(pair.host(Side::Left));
    Device::start(&Implementation::WarrenTunnel, &host, &interface).unwrap()
}

/// Waits until all is changed: name servers come last. An answer says less, the other end would give it without a tunnel too.
fn is_set_up(pair: &Pair) {
    wait_for(Duration::from_secs(10), "name servers of the tunnel", || {
        let changed = picture(pair);
        let ours = changed.contains("nameserver 10.77.0.2") && changed.contains("corp.example");
        Ok(ours.then_some(()))
    })
    .unwrap();
}

fn answers(pair: &Pair, address: IpAddr) {
    wait_for(Duration::from_secs(10), "answer", || {
        Ok(pair.host(Side::Left).run("ping", &["-c1", "-W1", &address.to_string()]).ok())
    })
    .unwrap();
}

#[test]
fn everything_is_put_back_at_the_end() {
    let (mut pair, before) = full_tunnel();
    let mut device = start_ours(&mut pair);
    pair.host(Side::Right).ip("address add 203.0.113.9/32 dev lo").unwrap();
    is_set_up(&pair);
    answers(&pair, "203.0.113.9".parse().unwrap());
    assert_ne!(picture(&pair), before);
    let status = device.daemon().terminate().unwrap();
    assert!(status.success(), "{status}; log:\n{}", device.log());
    assert_eq!(picture(&pair), before);
    assert!(!device.socket().exists());
}

#[test]
fn what_a_killed_tunnel_left_is_put_back_by_cleanup() {
    let (mut pair, before) = full_tunnel();
    let mut device = start_ours(&mut pair);
    is_set_up(&pair);
    device.daemon().kill().unwrap();
    assert_ne!(picture(&pair), before, "a killed program cannot clean up");
    agent_of(&pair, &device, &["--cleanup"]).status().unwrap();
    assert_eq!(picture(&pair), before);
}

#[test]
fn what_a_killed_tunnel_left_is_repaired_by_the_next() {
    let (mut pair, before) = full_tunnel();
    let mut device = start_ours(&mut pair);
    is_set_up(&pair);
    device.daemon().kill().unwrap();
    let mut next = Daemon::start(&mut agent_of(&pair, &device, &[])).unwrap();
    // The other end would answer without a tunnel too.
    wait_for(Duration::from_secs(10), "tunnel", || Ok(device.peers().ok().filter(|peers| !peers.is_empty())))
        .unwrap();
    answers(&pair, Side::Right.inner(Family::V4));
    let status = next.terminate().unwrap();
    assert!(status.success(), "{status}; log:\n{}", next.log());
    assert_eq!(picture(&pair), before);
}

/// An agent for the interface and file of `device`, in the same place.
fn agent_of(pair: &Pair, device: &Device, more: &[&str]) -> Command {
    let program = Implementation::WarrenTunnel.path().unwrap();
    let mut command = pair.host(Side::Left).command(program);
    command.args(["agent", "--interface", device.name(), "--metrics", "off", "--config"]);
    command.arg(device.config()).args(more);
    command
}

#[test]
fn no_secret_is_in_logs_arguments_or_status() {
    let mut pair = pair();
    pair.meet(Side::Left, Family::V4).unwrap();
    let interface = pair.interface(Side::Left).clone();
    drop(pair);
    let hosts = Pair::hosts().unwrap();
    let device = Device::start_with(
        &Implementation::WarrenTunnel,
        &hosts[0],
        &interface,
        &["--log-level", "trace", "--log-format", "json"],
    )
    .unwrap();
    let other = {
        let mut mirrored = interface.clone();
        mirrored.peers.clear();
        Device::start(&Implementation::WireguardGo, &hosts[1], &mirrored).unwrap()
    };
    let secret = preshared_key().unwrap();
    let file = device.file("psk");
    device.write(&file, &secret).unwrap();
    let peer = &interface.peers[0];
    device.set(&format!("peer {} preshared-key {}", peer.public_key, file.display())).unwrap();
    let _ = hosts[0].run("ping", &["-c2", "-W1", "10.77.0.2"]);
    // A mistake beside a secret must not echo it either.
    let broken = interface.wg_quick().replace("ListenPort = 51820", "ListenPort = many");
    device.write(&device.config(), &broken.replace("PrivateKey = ", "PrivateKey = =")).unwrap();
    device.signal(Signal::HUP).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let program = Implementation::WarrenTunnel.path().unwrap();
    let status = hosts[0].run(program, &["status", "--json", device.name()]).unwrap();
    let environment = fs::read(format!("/proc/{}/environ", device.id())).unwrap();
    let told = [
        device.log(),
        device.arguments().unwrap(),
        String::from_utf8_lossy(&environment).into_owned(),
        status,
    ]
    .concat();
    assert!(told.contains(&peer.public_key[..4]), "nothing was told at all");
    for secret in [&interface.keys.private, peer.preshared_key.as_ref().unwrap(), &secret] {
        // Also not without the padding, and not a part that narrows it down.
        assert!(!told.contains(&secret[..20]), "a secret shows in:\n{told}");
        assert!(!told.contains(&secret[20..40]), "a secret shows in:\n{told}");
        let hex: String = decode(secret).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!told.to_lowercase().contains(&hex[..24]), "a secret shows in:\n{told}");
    }
    drop(other);
}

/// Base64 of 32 bytes.
fn decode(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = ALPHABET.iter().position(|known| *known == letter).unwrap();
        bits = bits << 6 | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}
