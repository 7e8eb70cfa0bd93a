//! Linux's own TCP as the peer: the table of `examples/linux_peer`, with less data and fewer connections. Needs root, `/dev/net/tun`
//! and `ip`.

#[path = "../examples/linux_peer/peer.rs"]
mod peer;

use std::time::Duration;

use peer::{Stalled, cases, network, run, stalled};

/// The data of large transfers is a part of that in the table.
const PART: u64 = 4;

#[test]
fn linux_sends_and_receives() {
    let mut tun = network().unwrap();
    // A kernel may lack BBR: that case is the example's.
    for mut case in cases().into_iter().filter(|case| !case.name.contains("Linux BBR")) {
        for script in [&mut case.ours, &mut case.theirs] {
            if script.total > 1_000_000 {
                script.total /= PART;
            }
        }
        // A broken stack may take a minute to fail: the first failure ends the test.
        if let Err(error) = run(&mut tun, &case) {
            panic!("{}: {error}", case.name);
        }
    }
}

/// Linux gives up 3 s after what was discarded. Its senders fill more than the memory of the stack, and nobody reads for longer.
#[test]
fn linux_waits_for_readers_that_stop() {
    let mut tun = network().unwrap();
    let case =
        Stalled { readers: 48, each: 200_000, pause: Duration::from_secs(6), retries: 3, budget: 1 << 20 };
    stalled(&mut tun, case).unwrap();
}
