//! Random worlds by the thousand: `cargo run --release --example soak -- --seeds 100000 [--from 0]`.

use std::io::Write;

use warren_netstack_sim::random;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = arguments();
    let value = |name: &str, default: u64| {
        arguments
            .iter()
            .position(|one| one == name)
            .and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let (from, seeds) = (value("--from", 0), value("--seeds", 10_000));
    let (mut steps, mut failed) = (0, 0);
    let mut out = std::io::stdout();
    for seed in from..from + seeds {
        let result = std::panic::catch_unwind(|| random::run(seed));
        match result {
            Ok(count) => steps += count,
            Err(_) => {
                failed += 1;
                writeln!(out, "FAILED seed {seed}")?;
            }
        }
    }
    writeln!(out, "{seeds} seeds from {from}, {steps} steps of virtual time, {failed} failed")?;
    if failed > 0 { Err("some seeds failed".into()) } else { Ok(()) }
}

#[expect(clippy::disallowed_methods, reason = "an example may read its arguments")]
fn arguments() -> Vec<String> {
    std::env::args().collect()
}
