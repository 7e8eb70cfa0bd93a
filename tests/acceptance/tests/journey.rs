//! What `cargo xtask demo` tells.

use anyhow::Result;
use warren_acceptance::journey;

#[test]
fn one_apply_ends_with_a_pod_that_reads_its_bucket_through_the_tunnel() -> Result<()> {
    journey::run(&mut |line| println!("{line}"))
}
