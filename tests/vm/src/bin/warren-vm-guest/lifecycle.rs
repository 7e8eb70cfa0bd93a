//! What an agent with the kernel's WireGuard changes on its host: while it runs, when it ends, and after it was killed.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use warren_tunnel_tests::{
    Daemon, Family, Implementation, Interface, Pair, Remote, Settings, Side, wait_for,
};

use crate::end::{By, End, KERNEL, TUN, Tunnel, network, restored};
use crate::{Case, case, same, slow};

pub(crate) const CASES: &[Case] = &[
    case("auto selects the kernel device", auto),
    case("doctor reports the kernel's WireGuard", doctor),
    case("default routes pass through the kernel device", everything),
    case("SIGTERM removes the interface and restores the host", ended),
    case("a killed agent's interface is replaced by the next one", killed),
    case("--cleanup removes a killed agent's interface", cleaned),
    case("an interface that another program removes ends the agent", removed),
    case("an interface of another program is left alone", foreign),
    case("a reload keeps the sessions of unchanged peers", reloaded),
    slow("a name with a new address is resolved again", resolved),
];

/// An address that only the right host has.
const FAR: &str = "198.51.100.7";

fn auto() -> Result<()> {
    let tunnel = Tunnel::start(By::Agent("auto"), TUN, &Settings::default())?;
    let status = tunnel.left.status()?;
    same("backend", &status["backend"].as_str(), &Some("kernel"))?;
    same("reason", &status["backend_reason"].as_str(), &Some("the kernel has WireGuard"))?;
    tunnel.meet(Side::Left, Family::V4)
}

fn doctor() -> Result<()> {
    let hosts = Pair::hosts()?;
    let program = Implementation::WarrenTunnel.path()?;
    let output = hosts[0].command(program).arg("doctor").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.code().is_some_and(|code| code < 2), "{}:\n{text}", output.status);
    let line = text.lines().find(|line| line.contains("WireGuard")).context("no such line")?;
    ensure!(line.trim_start().starts_with("ok"), "{text}");
    let last = text.lines().rev().take(4).collect::<Vec<_>>().join("\n");
    ensure!(last.contains("kernel"), "the end does not name the backend:\n{text}");
    Ok(())
}

/// Both ends' interfaces; the left one sends everything through the tunnel.
fn interfaces() -> Result<[Interface; 2]> {
    let [mut one, other] = Pair::interfaces(&Settings::default())?;
    one.peers[0].allowed = vec!["0.0.0.0/0".into(), "::/0".into()];
    Ok([one, other])
}

fn everything() -> Result<()> {
    let [one, other] = interfaces()?;
    let tunnel = Tunnel::between((KERNEL, &one), (By::Wg, &other))?;
    tunnel.right.host.ip(&format!("address add {FAR}/32 dev lo"))?;
    tunnel.left.host.run("ping", &["-c3", "-i0.2", "-W3", FAR])?;
    same("mark", &tunnel.left.shown("fwmark")?.as_str(), &"0xca6c")?;
    tunnel.stream(Side::Left, Family::V6, 1_000_000)?;
    let came: u64 = tunnel.right.shown("transfer")?.split('\t').next().unwrap_or_default().parse()?;
    ensure!(came > 1_000_000, "only {came} bytes came through the tunnel");
    Ok(())
}

fn ended() -> Result<()> {
    let hosts = Pair::hosts()?;
    let [one, other] = interfaces()?;
    let before = network(&hosts[0])?;
    let left = End::start(KERNEL, &hosts[0], &one)?;
    let right = End::start(TUN, &hosts[1], &other)?;
    let mut tunnel = Tunnel { left, right };
    tunnel.meet(Side::Left, Family::V4)?;
    ensure!(network(&hosts[0])? != before, "the agent changed nothing");
    let status = tunnel.left.terminate()?;
    ensure!(status.success(), "{status}\n{}", tunnel.left.log());
    ensure!(!tunnel.left.exists(), "the interface is left\n{}", tunnel.left.log());
    restored(&hosts[0], &before)?;
    same("files", &tunnel.left.leftovers(), &Vec::new())
}

/// Kills the agent of a tunnel with default routes; what it made is left.
fn kill() -> Result<(Tunnel, Vec<String>)> {
    let hosts = Pair::hosts()?;
    let [one, other] = interfaces()?;
    let before = network(&hosts[0])?;
    let left = End::start(KERNEL, &hosts[0], &one)?;
    let mut tunnel = Tunnel { left, right: End::start(TUN, &hosts[1], &other)? };
    tunnel.meet(Side::Left, Family::V4)?;
    tunnel.left.daemon()?.kill()?;
    ensure!(tunnel.left.exists(), "the kernel's interface ended with the agent");
    // The kernel goes on without the agent.
    tunnel.meet(Side::Left, Family::V6)?;
    Ok((tunnel, before))
}

fn killed() -> Result<()> {
    let (mut tunnel, before) = kill()?;
    tunnel.left.up()?;
    let log = tunnel.left.log();
    ensure!(log.contains("did not end cleanly"), "{log}");
    tunnel.meet(Side::Left, Family::V4)?;
    tunnel.stream(Side::Right, Family::V4, 1_000_000)?;
    ensure!(tunnel.left.terminate()?.success(), "{}", tunnel.left.log());
    ensure!(!tunnel.left.exists(), "the interface is left\n{}", tunnel.left.log());
    restored(&tunnel.left.host, &before)?;
    same("files", &tunnel.left.leftovers(), &Vec::new())
}

fn cleaned() -> Result<()> {
    let (tunnel, before) = kill()?;
    let output = tunnel.left.starting(&["--cleanup"])?.output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {text}", output.status);
    ensure!(!tunnel.left.exists(), "the interface is left: {text}");
    restored(&tunnel.left.host, &before)?;
    same("files", &tunnel.left.leftovers(), &Vec::new())
}

fn removed() -> Result<()> {
    let [one, other] = interfaces()?;
    let mut tunnel = Tunnel::between((KERNEL, &one), (TUN, &other))?;
    tunnel.meet(Side::Left, Family::V4)?;
    tunnel.left.host.ip(&format!("link del {}", tunnel.left.name))?;
    let daemon = tunnel.left.daemon()?;
    let ended = wait_for(Duration::from_secs(20), "end of the agent", || daemon.ended());
    let status = ended.with_context(|| daemon.log())?;
    same("exit code", &status.code(), &Some(1))?;
    let rules = tunnel.left.host.ip("rule")?;
    ensure!(rules.lines().count() == 3, "rules are left:\n{rules}");
    same("files", &tunnel.left.leftovers(), &Vec::new())
}

fn foreign() -> Result<()> {
    let [one, other] = Pair::interfaces(&Settings::default())?;
    let tunnel = Tunnel::between((By::Wg, &one), (TUN, &other))?;
    tunnel.meet(Side::Left, Family::V4)?;
    let mut daemon = Daemon::start(&mut tunnel.left.starting(&["--device", "kernel"])?)?;
    let status = wait_for(Duration::from_secs(20), "end of the agent", || daemon.ended())?;
    same("exit code", &status.code(), &Some(1))?;
    ensure!(daemon.log().contains("already exists"), "{}", daemon.log());
    tunnel.meet(Side::Left, Family::V4)?;
    same("files", &tunnel.left.leftovers(), &Vec::new())
}

/// A peer is added, changed, and removed; the first peer's session and its endpoint that `wg` has set go on.
fn reloaded() -> Result<()> {
    let [mut one, other] = Pair::interfaces(&Settings::default())?;
    let mut tunnel = Tunnel::between((KERNEL, &one), (By::Wg, &other))?;
    tunnel.meet(Side::Left, Family::V4)?;
    let first = tunnel.left.handshake()?;
    let stranger = warren_tunnel_tests::KeyPair::generate()?.public;
    let mut remote =
        Remote { public_key: stranger.clone(), allowed: vec!["10.88.0.0/24".into()], ..Remote::default() };
    let reload = |tunnel: &Tunnel, one: &Interface| {
        tunnel.left.write(&one.wg_quick())?;
        tunnel.left.ours(&["reload", &tunnel.left.name])
    };
    one.peers.push(remote.clone());
    let told = reload(&tunnel, &one)?;
    ensure!(
        tunnel.left.wg(&["show", &tunnel.left.name, "peers"])?.contains(&stranger),
        "no such peer: {told}"
    );
    ensure!(tunnel.left.host.ip("route show")?.contains("10.88.0.0/24"), "no route: {told}");

    remote.allowed = vec!["10.89.0.0/24".into()];
    remote.keepalive = Some(17);
    one.peers[1] = remote;
    let told = reload(&tunnel, &one)?;
    let dump = tunnel.left.wg(&["show", &tunnel.left.name, "dump"])?;
    let line = dump.lines().find(|line| line.starts_with(&stranger)).context("the peer is gone")?;
    ensure!(line.contains("\t10.89.0.0/24\t") && line.ends_with("\t17"), "{told}: {line}");
    let routes = tunnel.left.host.ip("route show")?;
    ensure!(routes.contains("10.89.0.0/24") && !routes.contains("10.88.0.0/24"), "{routes}");

    one.peers.truncate(1);
    let told = reload(&tunnel, &one)?;
    let peers = tunnel.left.wg(&["show", &tunnel.left.name, "peers"])?;
    same("peers", &peers.trim(), &other.keys.public.as_str()).context(told)?;
    tunnel.meet(Side::Left, Family::V4)?;
    same("handshake of the first peer", &tunnel.left.handshake()?, &first)?;

    // Another port and another key: the addresses and the routes stay.
    let before = network(&tunnel.left.host)?;
    one.port = 51999;
    let key = warren_tunnel_tests::KeyPair::generate()?;
    let allowed = tunnel.right.interface.peers[0].allowed.join(",");
    tunnel.right.wg(&["set", &tunnel.right.name, "peer", &one.keys.public, "remove"])?;
    tunnel.right.wg(&["set", &tunnel.right.name, "peer", &key.public, "allowed-ips", &allowed])?;
    one.keys = key;
    reload(&tunnel, &one)?;
    restored(&tunnel.left.host, &before)?;
    same("public key", &tunnel.left.shown("public-key")?.as_str(), &one.keys.public.as_str())?;
    same("port", &tunnel.left.shown("listen-port")?.as_str(), &"51999")?;
    tunnel.meet(Side::Left, Family::V4)?;
    let seen = tunnel.right.shown("endpoints")?;
    ensure!(seen.ends_with(":51999"), "the other end sees {seen}");
    ensure!(tunnel.left.terminate()?.success(), "{}", tunnel.left.log());
    Ok(())
}

/// The agent looks every 30 seconds for peers that are silent and have a name.
fn resolved() -> Result<()> {
    let [mut one, other] = Pair::interfaces(&Settings::default())?;
    one.peers[0].endpoint = Some(format!("hub.example.net:{}", Pair::PORT));
    let hosts = Pair::hosts()?;
    let known = |address: &str| {
        let path = hosts[0].resolver("")?.with_file_name("hosts");
        std::fs::write(path, format!("127.0.0.1 localhost\n{address} hub.example.net\n")).context("hosts")
    };
    known("10.200.0.99")?;
    let left = End::start(KERNEL, &hosts[0], &one)?;
    let tunnel = Tunnel { left, right: End::start(By::Wg, &hosts[1], &other)? };
    same("endpoint", &tunnel.left.shown("endpoints")?.as_str(), &"10.200.0.99:51820")?;
    let allowed = tunnel.left.shown("allowed-ips")?;
    known("10.200.0.2")?;
    let found = wait_for(Duration::from_secs(75), "new endpoint", || {
        Ok((tunnel.left.shown("endpoints")? == "10.200.0.2:51820").then_some(()))
    });
    found.with_context(|| tunnel.left.log())?;
    same("allowed IPs", &tunnel.left.shown("allowed-ips")?, &allowed)?;
    tunnel.meet(Side::Left, Family::V4)
}
