//! What a tunnel costs that has nothing to do, and how soon one is there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use warren_tunnel_tests::{Device, Family, Implementation, Interface, Namespace, Pair, Settings, Side};

use crate::figures::{median, megabytes};
use crate::sheet::Sheet;

/// How long the idle tunnels are watched.
const WATCHED: Duration = Duration::from_secs(30);

/// What is measured in that time.
const IDLE: &str = "idle";

/// Starts of each program.
const STARTS: usize = 9;

pub(crate) fn measure(peers: &[Implementation], sheet: &mut Sheet) {
    sheet.condition("keepalives", "each 25 s");
    sheet.condition("starts", format!("{STARTS} of each program"));
    sheet.condition("idle use", format!("one end of a tunnel, watched for {WATCHED:?}"));
    for peer in peers {
        sheet.case(peer.name(), "start to first answer", || Ok(vec![("ms", first_handshake(peer)?)]));
        sheet.case(peer.name(), "binary", || {
            Ok(vec![("MB", megabytes(std::fs::metadata(peer.path()?)?.len()))])
        });
    }
    // Idle tunnels do not disturb one another, so all are watched at once.
    let mut tunnels = Vec::new();
    for peer in peers {
        tunnels.extend(sheet.contain(peer.name(), IDLE, tunnel(peer)).map(|pair| (peer.name(), pair)));
    }
    std::thread::sleep(Duration::from_secs(2));
    let before: Vec<Result<f64>> = tunnels.iter().map(|(_, pair)| pair.device(Side::Left).cpu()).collect();
    std::thread::sleep(WATCHED);
    for ((name, pair), before) in tunnels.iter().zip(before) {
        let device = pair.device(Side::Left);
        sheet.case(name, IDLE, || {
            let percent = (device.cpu()? - before?) / WATCHED.as_secs_f64() * 100.0;
            let [own, files] = device.own_and_file_memory()?.map(megabytes);
            let memory = megabytes(device.memory()?);
            Ok(vec![
                ("CPU %", percent),
                ("memory, MB", memory),
                ("own memory, MB", own),
                ("pages of files, MB", files),
            ])
        });
    }
}

fn tunnel(peer: &Implementation) -> Result<Pair> {
    let mut interfaces = Pair::interfaces(&Settings::default())?;
    for interface in &mut interfaces {
        interface.peers[0].keepalive = Some(25);
    }
    let pair = Pair::start_with(peer, peer, interfaces, &[])?;
    pair.meet(Side::Left, Family::V4)?;
    Ok(pair)
}

/// Milliseconds from starting the program until the first answer comes through the tunnel, a handshake before it; the other end is up already.
///
/// Programs that are configured through their socket need `wg` and `ip` for it, which is in their time as it is in
/// their users'.
fn first_handshake(peer: &Implementation) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
        let mut interfaces = Pair::interfaces(&settings)?;
        interfaces[0].peers[0].keepalive = Some(25);
        let hosts = Pair::hosts()?;
        let other = Device::start(peer, &hosts[1], &interfaces[1])?;
        times.push(start(peer, &hosts[0], &interfaces[0], &other)?.as_secs_f64() * 1e3);
    }
    median(times).context("no start was measured")
}

fn start(
    peer: &Implementation,
    host: &Arc<Namespace>,
    interface: &Interface,
    other: &Device,
) -> Result<Duration> {
    let begun = Instant::now();
    let _device = Device::start(peer, host, interface)?;
    // Sends until one is answered.
    host.run("ping", &["-c1", "-i", "0.01", "-w", "10", &Side::Right.inner(Family::V4).to_string()])
        .with_context(|| format!("{}; the other end's log:\n{}", peer.name(), other.log()))?;
    Ok(begun.elapsed())
}
