//! The demo, as a test: `examples/llm-training` on the emulators, a gateway and a pod from what it made, an object through
//! the tunnel, no secret where it does not belong, nothing left.

use anyhow::Result;
use warren_acceptance::journey;

#[test]
fn an_apply_ends_with_a_pod_that_reads_its_bucket() -> Result<()> {
    journey::run(&mut |line| println!("{line}"))
}
