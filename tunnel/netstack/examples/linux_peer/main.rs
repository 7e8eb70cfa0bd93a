//! Linux's own TCP as the peer: the whole table of behaviours, or those whose name contains the argument. Needs root and `ip`;
//! everything happens in a network namespace of its own. `cargo run --release --example linux_peer`.
#![expect(clippy::disallowed_methods, reason = "an example that measures has a clock")]

mod peer;

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use peer::{Outcome, Stalled, cases, network, run, stalled};

/// Readers that stop.
const STALLED: [(&str, Stalled); 2] = [
    (
        "600 readers that stop for 20 s",
        Stalled { readers: 600, each: 200_000, pause: Duration::from_secs(20), retries: 4, budget: 32 << 20 },
    ),
    (
        "5,000 readers that stop for 20 s",
        Stalled {
            readers: 5_000,
            each: 120_000,
            pause: Duration::from_secs(20),
            retries: 4,
            budget: 32 << 20,
        },
    ),
];

fn main() -> Outcome<()> {
    let only = std::env::args().nth(1).unwrap_or_default();
    let mut tun = network()?;
    let mut out = std::io::stdout();
    let mut failed = 0;
    let mut tell = |name: &str, begun: Instant, result: Outcome<String>| {
        let took = begun.elapsed().as_millis();
        match result {
            Ok(text) => writeln!(out, "ok      {name:<45} {took:>6} ms  {text}"),
            Err(error) => {
                failed += 1;
                writeln!(out, "FAILED  {name:<45} {took:>6} ms  {error}")
            }
        }
    };
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    for one in cases().into_iter().filter(|one| one.name.contains(&only)) {
        if one.name.contains("Linux BBR") && !known.contains("bbr") {
            tell(one.name, Instant::now(), Ok("not run: this kernel has no BBR".into()))?;
            continue;
        }
        let begun = Instant::now();
        tell(one.name, begun, run(&mut tun, &one))?;
    }
    for (name, case) in STALLED.into_iter().filter(|(name, _)| name.contains(&only)) {
        let begun = Instant::now();
        tell(name, begun, stalled(&mut tun, case))?;
    }
    if failed > 0 {
        return Err(format!("{failed} behaviours failed").into());
    }
    Ok(())
}
