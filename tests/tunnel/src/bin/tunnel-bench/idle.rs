//! What a tunnel costs that has nothing to do, and how soon one is there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use warren_tunnel_tests::{Device, Family, Implementation, Interface, Namespace, Pair, Settings, Side};

use crate::figures::{cell, median, megabytes, table};

/// How long the idle tunnels are watched.
const WATCHED: Duration = Duration::from_secs(30);

/// Starts of each program.
const STARTS: usize = 9;

pub(crate) fn measure(peers: &[Implementation]) -> Result<Value> {
    let mut rows = Vec::new();
    let mut figures = serde_json::Map::new();
    let starts: Vec<f64> = peers.iter().map(first_handshake).collect::<Result<_>>()?;
    // Idle tunnels do not disturb one another, so all are watched at once.
    let mut tunnels = Vec::new();
    for peer in peers {
        let mut interfaces = Pair::interfaces(&Settings::default())?;
        for interface in &mut interfaces {
            interface.peers[0].keepalive = Some(25);
        }
        let pair = Pair::start_with(peer, peer, interfaces, &[])?;
        pair.meet(Side::Left, Family::V4)?;
        tunnels.push(pair);
    }
    std::thread::sleep(Duration::from_secs(2));
    let cpu = || tunnels.iter().map(|pair| pair.device(Side::Left).cpu()).collect::<Result<Vec<f64>>>();
    let before = cpu()?;
    std::thread::sleep(WATCHED);
    let after = cpu()?;
    for (index, peer) in peers.iter().enumerate() {
        let device = tunnels[index].device(Side::Left);
        let percent = (after[index] - before[index]) / WATCHED.as_secs_f64() * 100.0;
        let memory = megabytes(device.memory()?);
        let size = megabytes(std::fs::metadata(peer.path()?)?.len());
        rows.push(vec![
            peer.name().to_owned(),
            cell(Some(starts[index]), 1),
            cell(Some(percent), 3),
            cell(Some(memory), 1),
            cell(Some(size), 1),
        ]);
        figures.insert(
            peer.name().to_owned(),
            json!({ "start to first answer, ms": [starts[index]], "idle CPU, %": [percent], "resident memory, MB": [memory], "binary, MB": [size] }),
        );
    }
    println!(
        "\nOne end of an idle tunnel with keepalives each 25 s, watched for {WATCHED:?}; medians of {STARTS} starts\n"
    );
    table(&["peer", "start to first answer ms", "idle CPU %", "resident MB", "binary MB"], &rows);
    Ok(Value::from(figures))
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
    Ok(median(times).unwrap_or_default())
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
