//! The kernel's WireGuard that our agent configures, with our own data path, itself, and `wg` at the other end.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use warren_tunnel_tests::{Family, Pair, Settings, Side};

use crate::end::{By, KERNEL, TUN, Tunnel};
use crate::{Case, case, same, slow};

pub(crate) const CASES: &[Case] = &[
    case("kernel device calls tun device over IPv4", || meets(KERNEL, TUN, Family::V4, Side::Left)),
    case("tun device calls kernel device over IPv6", || meets(KERNEL, TUN, Family::V6, Side::Right)),
    case("kernel device meets kernel device", || meets(KERNEL, KERNEL, Family::V4, Side::Left)),
    case("kernel device meets an interface of wg", || meets(KERNEL, By::Wg, Family::V6, Side::Left)),
    case("tun device meets an interface of wg", || meets(TUN, By::Wg, Family::V4, Side::Right)),
    case("wg and status agree", agree),
    case("a wrong preshared key lets nothing through", wrong_key),
    case("figures of one stream", figures),
    slow("a session is renewed after two minutes", renewed),
];

/// Bytes of a stream, each way.
const LENGTH: u64 = 3_000_000;

/// Both ends are answered over both families, and a stream each way arrives unchanged.
fn meets(left: By, right: By, outer: Family, caller: Side) -> Result<()> {
    let settings =
        Settings { outer, preshared: outer == Family::V6, initiator: Some(caller), ..Settings::default() };
    let tunnel = Tunnel::start(left, right, &settings)?;
    tunnel.meet(caller, Family::V4)?;
    tunnel.meet(caller.other(), Family::V6)?;
    tunnel.stream(Side::Left, Family::V4, LENGTH)?;
    tunnel.stream(Side::Right, Family::V6, LENGTH)?;
    for side in [Side::Left, Side::Right] {
        let moved = tunnel.end(side).shown("transfer")?;
        let least = moved.split('\t').filter_map(|bytes| bytes.parse::<u64>().ok()).min();
        ensure!(least > Some(LENGTH), "{side:?} moved {moved}");
        ensure!(tunnel.end(side).handshake()? > 0, "{side:?}: no handshake");
    }
    Ok(())
}

/// `wg`, which asks the kernel, and our `status` have the same values, and these are the file's.
fn agree() -> Result<()> {
    let [mut one, other] = Pair::interfaces(&Settings { preshared: true, ..Settings::default() })?;
    one.peers[0].keepalive = Some(21);
    one.extra.push("FwMark = 0x77".into());
    let tunnel = Tunnel::between((KERNEL, &one), (By::Wg, &other))?;
    tunnel.meet(Side::Left, Family::V4)?;
    let (left, status) = (&tunnel.left, tunnel.left.status()?);
    let peer = &status["peers"][0];
    same("backend", &status["backend"].as_str(), &Some("kernel"))?;
    same("public key", &left.shown("public-key")?.as_str(), &one.keys.public.as_str())?;
    same("public key in status", &status["public_key"].as_str(), &Some(one.keys.public.as_str()))?;
    same("port", &left.shown("listen-port")?.parse().ok(), &Some(Pair::PORT))?;
    same("port in status", &status["listen_port"].as_u64(), &Some(Pair::PORT.into()))?;
    same("mark", &left.shown("fwmark")?.as_str(), &"0x77")?;
    same("mark in status", &status["fwmark"].as_u64(), &Some(0x77))?;
    same("peer", &peer["public_key"].as_str(), &Some(other.keys.public.as_str()))?;
    same("preshared key", &Some(left.shown("preshared-keys")?), &one.peers[0].preshared_key)?;
    same("preshared key in status", &peer["preshared_key"].as_bool(), &Some(true))?;
    let endpoint = left.shown("endpoints")?;
    same("endpoint", &Some(&endpoint), &one.peers[0].endpoint.as_ref())?;
    same("endpoint in status", &peer["endpoint"].as_str(), &Some(endpoint.as_str()))?;
    same("keepalive", &left.shown("persistent-keepalive")?.as_str(), &"21")?;
    same("keepalive in status", &peer["persistent_keepalive"].as_u64(), &Some(21))?;
    let mut ranges: Vec<String> = left.shown("allowed-ips")?.split(' ').map(str::to_owned).collect();
    ranges.sort();
    let mut wanted = one.peers[0].allowed.clone();
    wanted.sort();
    same("allowed IPs", &ranges, &wanted)?;
    let handshake = peer["last_handshake"].as_f64().context("no handshake in status")?;
    #[expect(clippy::cast_precision_loss, reason = "seconds of this century are exact")]
    let told = left.handshake()? as f64;
    ensure!((handshake - told).abs() <= 1.0, "handshake: {handshake} in status, {told} in wg");
    let moved = left.shown("transfer")?;
    let moved: Vec<u64> = moved.split('\t').filter_map(|bytes| bytes.parse().ok()).collect();
    let counted = [peer["rx_bytes"].as_u64(), peer["tx_bytes"].as_u64()];
    ensure!(
        moved.len() == 2
            && counted
                .iter()
                .zip(&moved)
                .all(|(one, other)| *one > Some(0) && other.abs_diff(one.unwrap_or(0)) < 1000),
        "bytes: {counted:?} in status, {moved:?} in wg"
    );
    same("mtu", &status["mtu"].as_u64(), &Some(one.mtu.into()))?;
    let link = left.host.ip(&format!("link show {}", left.name))?;
    ensure!(link.contains(&format!("mtu {}", one.mtu)), "{link}");
    let text = left.ours(&["status", &left.name, "--interval", "0"])?;
    ensure!(!text.contains(&one.keys.private), "status shows the private key");
    Ok(())
}

fn wrong_key() -> Result<()> {
    let [mut one, other] = Pair::interfaces(&Settings { preshared: true, ..Settings::default() })?;
    one.peers[0].preshared_key = Some(warren_tunnel_tests::preshared_key()?);
    let tunnel = Tunnel::between((KERNEL, &one), (TUN, &other))?;
    let target = Side::Right.inner(Family::V4).to_string();
    let sent = tunnel.left.host.run("ping", &["-c2", "-W1", &target]);
    ensure!(sent.is_err(), "it answers: {sent:?}");
    same("handshake", &tunnel.left.handshake()?, &0)?;
    same("handshake in status", &tunnel.left.status()?["peers"][0]["last_handshake"].as_f64(), &None)
}

/// What one stream carries with the kernel's code and with ours at both ends, one after the other. Processors are emulated, so only
/// the ratio says something, and little about real ones.
fn figures() -> Result<()> {
    for _ in 0..3 {
        let mut rates = Vec::new();
        for by in [KERNEL, TUN] {
            let tunnel = Tunnel::start(by, by, &Settings::default())?;
            tunnel.meet(Side::Left, Family::V4)?;
            let seconds = tunnel.stream(Side::Left, Family::V4, 10 * LENGTH)?;
            #[expect(clippy::cast_precision_loss, reason = "few bytes")]
            rates.push(8e-6 * (10 * LENGTH) as f64 / seconds);
        }
        println!(
            "| one stream: {:.0} Mbit/s with the kernel device, {:.0} with the tun device",
            rates[0], rates[1]
        );
    }
    Ok(())
}

/// Sends for longer than a session is used: every ping is answered, and both ends have made another handshake.
fn renewed() -> Result<()> {
    let tunnel = Tunnel::start(KERNEL, TUN, &Settings::default())?;
    tunnel.meet(Side::Left, Family::V4)?;
    let (begun, first) = (Instant::now(), tunnel.left.handshake()?);
    let target = Side::Right.inner(Family::V4).to_string();
    for _ in 0..8 {
        std::thread::sleep(Duration::from_secs(16));
        tunnel.left.host.run("ping", &["-c1", "-W5", &target]).with_context(|| {
            format!("after {:.0} s\nleft's log:\n{}", begun.elapsed().as_secs_f64(), tunnel.left.log())
        })?;
    }
    let (here, there) = (tunnel.left.handshake()?, tunnel.right.handshake()?);
    ensure!(
        here >= first + 100 && there >= first + 100,
        "handshakes: first {first}, then {here} and {there}"
    );
    Ok(())
}
