//! What gateways with clocks and links of their own do to leases.

use std::time::Duration;

use crate::chance::Faults;
use crate::fleet::Fleet;

/// Steps for each seed: more with `WARREN_LEASE_STEPS`.
#[expect(clippy::disallowed_methods, reason = "the argument of a test, not of the crate")]
fn steps() -> u64 {
    std::env::var("WARREN_LEASE_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(2000)
}

fn run(seeds: std::ops::Range<u64>, nodes: usize, faults: Faults) -> u64 {
    seeds
        .map(|seed| {
            let mut fleet = Fleet::new(seed, nodes, faults);
            (0..steps()).for_each(|_| fleet.step());
            fleet.expired
        })
        .sum()
}

/// A gateway whose clock is 20 minutes fast ended leases that the others renewed.
#[test]
fn a_fast_clock_ends_no_live_lease() {
    let mut fleet = Fleet::new(1, 3, Faults::default());
    fleet.set_offset(1, 1200);
    (0..2000).for_each(|_| fleet.step());
    assert!(fleet.expired > 0, "the leases of pods that ended have expired");
}

#[test]
fn clocks_that_differ_and_jump_end_no_live_lease() {
    let faults = Faults { offset: 7200, jumps: true, drift: 500, restarts: true, ..Faults::default() };
    assert!(run(0..4, 3, faults) > 0);
}

#[test]
fn suspended_machines_end_no_live_lease() {
    let faults = Faults { suspensions: 3600, drift: 500, offset: 60, restarts: true, ..Faults::default() };
    assert!(run(10..14, 3, faults) > 0);
}

#[test]
fn gateways_that_lose_the_store_end_no_live_lease() {
    let faults = Faults { cuts: 1800, drift: 500, offset: 60, restarts: true, ..Faults::default() };
    assert!(run(20..24, 3, faults) > 0);
}

/// Pods whose tokens have expired meanwhile have their leases again.
#[test]
fn an_outage_of_the_store_ends_no_lease_of_a_pod_that_runs() {
    for minutes in [5, 20, 120] {
        let mut fleet = Fleet::new(5, 3, Faults::default());
        (0..500).for_each(|_| fleet.step());
        fleet.stop_store(Duration::from_secs(minutes * 60));
        (0..minutes * 12 + 500).for_each(|_| fleet.step());
        assert!(fleet.expired > 0);
        assert_eq!(fleet.lost, 0, "after an outage of {minutes} minutes");
    }
}

/// Everything at once: an evicted pod is off every gateway that runs within the grace, whether or not it reaches the store.
#[test]
fn evicted_means_disconnected_everywhere_whatever_fails() {
    let faults = Faults {
        offset: 7200,
        jumps: true,
        drift: 500,
        cuts: 1800,
        suspensions: 1800,
        restarts: true,
        evictions: true,
        ..Faults::default()
    };
    assert!(run(30..36, 3, faults) > 0);
}

/// One gateway becomes fast or slow now and then, and the others agree: what is barred stays out until the right time. A clock
/// that is slow by more than an hour accepts expired tokens whose records are gone.
#[test]
fn one_wrong_clock_lets_nobody_in() {
    for (seed, offset) in [(40, 1200), (41, -1200), (42, 86_400), (43, -3000)] {
        let faults = Faults { evictions: true, revocations: true, lost_keys: true, ..Faults::default() };
        let mut fleet = Fleet::new(seed, 3, faults);
        fleet.ledger.early = Duration::from_secs(60);
        for step in 0..steps() {
            fleet.set_offset(1, if step % 200 < 100 { offset } else { 0 });
            if step % 100 == 0 {
                // Before the gateway hears that the others have another time.
                fleet.knock(1);
            }
            fleet.step();
        }
    }
}

/// Clocks of three gateways differ by less than an hour, and everything else fails too.
#[test]
fn credentials_hold_whatever_fails() {
    let faults = Faults {
        offset: 1500,
        jumps: true,
        drift: 500,
        cuts: 1800,
        suspensions: 1800,
        restarts: true,
        evictions: true,
        revocations: true,
        lost_keys: true,
        ..Faults::default()
    };
    assert!(run(50..56, 3, faults) > 0);
}

/// With a short grace, gateways soon serve nobody, and pods try again now and then. When the store is back they need time before
/// their silence counts.
#[test]
fn a_short_grace_locks_no_pod_out_after_an_outage() {
    let (grace, retry) = (Duration::from_secs(10), Duration::from_secs(75));
    let step = Duration::from_secs(2);
    for (seed, minutes) in [(60, 2), (61, 20), (62, 60)] {
        let faults = Faults { grace, retry, step, prompt: true, ..Faults::default() };
        let mut fleet = Fleet::new(seed, 3, faults);
        (0..500).for_each(|_| fleet.step());
        fleet.stop_store(Duration::from_secs(minutes * 60));
        (0..minutes * 30 + 500).for_each(|_| fleet.step());
        assert!(fleet.expired > 0);
        assert_eq!(fleet.lost, 0, "after an outage of {minutes} minutes");
    }
}

/// A revocation that was over still ended leases at gateways whose clocks were in doubt.
#[test]
fn a_revocation_that_is_over_ends_no_lease() {
    let faults = Faults { offset: 20, restarts: true, jumps: true, revocations: true, ..Faults::default() };
    assert!(run(70..72, 3, faults) > 0);
    // Nor while most others have another time.
    for seed in 74..76 {
        let faults = Faults { revocations: true, ..Faults::default() };
        let mut fleet = Fleet::new(seed, 3, faults);
        for step in 0..steps() {
            fleet.set_offset(1, if step % 300 < 150 { -3000 } else { 0 });
            fleet.step();
        }
    }
}
