//! Moves 4 GiB beside some idle streams, for `time`: CPU seconds a gigabyte on a machine that is not quiet.
//! `cargo bench -p warren-netstack --bench cost --no-run`, then `time target/release/deps/cost-* 5000`.

mod pair;

use pair::Pair;

#[expect(clippy::disallowed_methods, reason = "a measurement may read its arguments")]
fn main() {
    let idle = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut pair = Pair::new(idle);
    for _ in 0..4_096 {
        pair.transfer();
    }
}
