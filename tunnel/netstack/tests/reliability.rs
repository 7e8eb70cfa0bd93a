//! Every byte arrives once and in order, whatever the path does.

use warren_netstack_sim::random;

/// Seeds in a test run; `cargo run --release --example soak -- --seeds N` runs more.
const SEEDS: u64 = 1_500;

#[test]
fn any_path_any_script() {
    for seed in 0..SEEDS {
        random::run(seed);
    }
}
