//! What a credential allows, and when it no longer does.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use warren_budget::Source;
use warren_lease::{Ending, Enrolment, Key, Refusal, Shared, State, Transaction, Trust};
use warren_wire::PublicKey;
use warren_wire::enrolment::HostInfo;

use crate::world::{Fate, MAX, World, clocks, enrolment, peer, signer, token};

fn try_as(world: &mut World, enrolment: Enrolment) -> Result<(), Refusal> {
    world.enrol_as(0, enrolment, 2);
    world.quiesce();
    world.answers.pop().unwrap().map(drop)
}

/// A pod with a host's name and a token of a number of uses.
fn pod(world: &World, key: u8, host: &str, uses: u32) -> Enrolment {
    Enrolment {
        host: HostInfo::new(host.into(), Default::default()).unwrap(),
        uses: NonZeroU32::new(uses),
        ..enrolment(peer(key), 2, world.now)
    }
}

fn ending(world: &World, key: PublicKey) -> Option<Ending> {
    match world.leases().get(&key)?.state {
        State::Live { .. } => None,
        State::Quarantined { why, .. } => Some(why),
    }
}

/// Handshakes for so long, reported every twenty seconds.
fn alive(world: &mut World, key: PublicKey, seconds: u64) {
    for _ in 0..seconds / 20 {
        world.advance(20);
        world.handshake(0, key);
        world.quiesce();
    }
}

#[test]
fn an_evicted_pod_is_not_back_at_once_with_another_key() {
    let mut world = World::new(1);
    for key in 1..3 {
        let enrolment = pod(&world, key, "", 0);
        try_as(&mut world, enrolment).unwrap();
    }
    world.evict(0, peer(1));
    world.quiesce();
    world.answers.clear();
    let again = pod(&world, 3, "", 0);
    assert!(matches!(try_as(&mut world, again.clone()), Err(Refusal::Suspended(_))));
    // The token's other peers keep their leases, and may enrol again.
    assert_eq!(ending(&world, peer(2)), None);
    let other = pod(&world, 2, "", 0);
    try_as(&mut world, other).unwrap();
    // With the end of the eviction, or of its time, all is as before.
    world.readmit(0, peer(1));
    world.quiesce();
    world.answers.clear();
    try_as(&mut world, again).unwrap();
    world.evict(0, peer(3));
    world.quiesce();
    world.answers.clear();
    world.advance(700);
    let later = pod(&world, 4, "", 0);
    try_as(&mut world, later).unwrap();
    let itself = pod(&world, 3, "", 0);
    try_as(&mut world, itself).unwrap();
    assert!(world.nodes[0].machine.peers().any(|of| of.key == peer(3)));
}

/// Evictions of one token do not shorten each other.
#[test]
fn a_token_is_suspended_until_its_last_eviction_ends() {
    let mut world = World::new(1);
    for key in 1..3 {
        let enrolment = pod(&world, key, "", 0);
        try_as(&mut world, enrolment).unwrap();
    }
    world.evict(0, peer(1));
    world.quiesce();
    world.advance(400);
    world.evict(0, peer(2));
    world.quiesce();
    // The first eviction is over, and then lifted.
    world.advance(400);
    let back = pod(&world, 3, "", 0);
    world.answers.clear();
    assert!(matches!(try_as(&mut world, back.clone()), Err(Refusal::Suspended(_))));
    world.readmit(0, peer(1));
    world.quiesce();
    world.answers.clear();
    assert!(matches!(try_as(&mut world, back.clone()), Err(Refusal::Suspended(_))));
    world.readmit(0, peer(2));
    world.quiesce();
    world.answers.clear();
    try_as(&mut world, back).unwrap();
}

/// A gateway that knows only its own eviction wrote the end of that one as the end of all.
#[test]
fn evictions_at_two_gateways_do_not_shorten_each_other() {
    for readmit in [false, true] {
        let mut world = World::new(2);
        for key in 1..3 {
            let enrolment = pod(&world, key, "", 0);
            try_as(&mut world, enrolment).unwrap();
        }
        world.evict_for(0, peer(1), 3000);
        world.settle(0, 0, Fate::Arrives);
        world.evict_for(1, peer(2), 60);
        while !world.nodes[1].under_way.is_empty() {
            world.settle(1, 0, Fate::Arrives);
        }
        if readmit {
            world.readmit(1, peer(2));
        }
        world.quiesce();
        world.advance(100);
        let other = pod(&world, 3, "", 0);
        world.answers.clear();
        assert!(matches!(try_as(&mut world, other.clone()), Err(Refusal::Suspended(_))), "{readmit}");
        world.advance(3000);
        world.answers.clear();
        try_as(&mut world, other).unwrap();
    }
}

#[test]
fn a_restarted_agent_takes_the_slot_of_the_agent_that_is_silent() {
    for (silent, healthy) in [(1, 2), (2, 1)] {
        let mut world = World::new(1);
        for key in [1, 2] {
            let enrolment = pod(&world, key, "node", 2);
            try_as(&mut world, enrolment).unwrap();
        }
        alive(&mut world, peer(healthy), 140);
        let again = pod(&world, 3, "node", 2);
        try_as(&mut world, again).unwrap();
        assert_eq!(ending(&world, peer(silent)), Some(Ending::Replaced));
        assert_eq!(ending(&world, peer(healthy)), None);
    }
}

#[test]
fn two_agents_of_one_name_do_not_replace_each_other_forever() {
    let mut world = World::new(1);
    for key in [1, 2] {
        let enrolment = pod(&world, key, "node", 1);
        try_as(&mut world, enrolment).unwrap();
    }
    assert_eq!(ending(&world, peer(1)), Some(Ending::Replaced));
    for _ in 0..30 {
        alive(&mut world, peer(2), 100);
        let former = pod(&world, 1, "node", 1);
        assert_eq!(try_as(&mut world, former), Err(Refusal::Replaced));
    }
    assert_eq!(ending(&world, peer(2)), None);
    // When the other has ended it may come back, and is the holder then.
    world.release(0, peer(2));
    world.quiesce();
    world.answers.clear();
    for (key, result) in [(1, Ok(())), (2, Err(Refusal::Replaced))] {
        let enrolment = pod(&world, key, "node", 1);
        assert_eq!(try_as(&mut world, enrolment), result);
    }
}

#[test]
fn a_use_follows_its_host_to_another_name() {
    let mut world = World::new(1);
    for host in ["before", "after"] {
        let enrolment = pod(&world, 1, host, 1);
        try_as(&mut world, enrolment).unwrap();
    }
    let stranger = pod(&world, 2, "before", 1);
    assert!(matches!(try_as(&mut world, stranger), Err(Refusal::UsedUp(_))));
    let same = pod(&world, 3, "after", 1);
    try_as(&mut world, same).unwrap();
}

/// A pod that comes back without its key had two leases for its source: the new one, and the one that it replaces.
#[test]
fn a_source_at_its_limit_may_restart_its_pods() {
    let mut world = World::new(1);
    world.nodes[0] = world.boot_with(|settings| settings.per_source = Some(2));
    let from = |world: &World, key, host: &str| Enrolment {
        source: Some(Source::from("192.0.2.1".parse::<std::net::IpAddr>().unwrap())),
        ..pod(world, key, host, 2)
    };
    for (key, host) in [(0, "a"), (1, "b"), (2, "a"), (3, "b")] {
        let enrolment = from(&world, key, host);
        try_as(&mut world, enrolment).unwrap();
    }
    // Restarts without an end would empty the pool.
    let refusal = Err(Refusal::Source { source_address: "192.0.2.1".parse().unwrap(), limit: 2 });
    let again = from(&world, 4, "a");
    assert_eq!(try_as(&mut world, again), refusal);
    for _ in 0..10 {
        world.advance(20);
        world.handshake(0, peer(2));
        world.handshake(0, peer(3));
        world.quiesce();
    }
    let later = from(&world, 4, "a");
    try_as(&mut world, later).unwrap();
}

/// A gateway that has just started may have a wrong clock: it says that it does not know, which is not final.
#[test]
fn no_refusal_is_final_while_the_clock_is_in_doubt() {
    let mut world = World::new(1);
    let shared = Shared { gateway: peer(200), grace: Duration::from_secs(80) };
    world.nodes[0] = world.boot_with(|settings| settings.shared = Some(shared));
    let over = Enrolment { over: true, ..pod(&world, 1, "", 0) };
    assert_eq!(try_as(&mut world, over.clone()), Err(Refusal::Clock));
    world.revoke_until(0, 2, 1200, true);
    world.quiesce();
    world.answers.clear();
    let revoked = pod(&world, 1, "", 0);
    assert_eq!(try_as(&mut world, revoked.clone()), Err(Refusal::Clock));
    world.advance(80);
    world.quiesce();
    assert_eq!(try_as(&mut world, revoked), Err(Refusal::Revoked));
    world.accept(0, 2);
    world.quiesce();
    world.answers.clear();
    assert_eq!(try_as(&mut world, over), Err(Refusal::NoLease));
}

/// The record of a revocation lasts for two hours here.
#[test]
fn an_eviction_does_not_weaken_a_revocation() {
    let mut world = World::new(1);
    let enrolment = pod(&world, 1, "", 0);
    try_as(&mut world, enrolment).unwrap();
    world.revoke(0, 2);
    world.quiesce();
    world.revoke_until(0, 2, 60, false);
    world.quiesce();
    world.evict(0, peer(1));
    world.quiesce();
    world.readmit(0, peer(1));
    world.quiesce();
    world.answers.clear();
    world.advance(700);
    let back = Enrolment { expires: world.now.plus(Duration::from_secs(7200)), ..pod(&world, 3, "", 0) };
    assert_eq!(try_as(&mut world, back), Err(Refusal::Revoked));
}

#[test]
fn a_host_that_lost_its_key_comes_back_and_does_not_count_twice() {
    let mut world = World::new(1);
    let first = pod(&world, 1, "trainer-0", 1);
    try_as(&mut world, first).unwrap();
    // Another host does not get in.
    let other = pod(&world, 2, "trainer-1", 1);
    assert!(matches!(try_as(&mut world, other), Err(Refusal::UsedUp(_))));
    let nameless = pod(&world, 3, "", 1);
    assert!(matches!(try_as(&mut world, nameless), Err(Refusal::UsedUp(_))));
    // The same host does, while its former lease lives, and there is never more than one.
    let again = pod(&world, 4, "trainer-0", 1);
    try_as(&mut world, again).unwrap();
    assert_eq!(ending(&world, peer(1)), Some(Ending::Replaced));
    assert_eq!(world.nodes[0].machine.statistics().ended, 1);
    assert_eq!(world.leases().values().filter(|lease| lease.is_live()).count(), 1);
    // The former key does not take the place back at once: two agents would replace each other forever.
    let former = pod(&world, 1, "trainer-0", 1);
    assert_eq!(try_as(&mut world, former), Err(Refusal::Replaced));
    // And long after it.
    world.advance(1200);
    world.quiesce();
    let late = pod(&world, 5, "trainer-0", 1);
    try_as(&mut world, late).unwrap();
    // Not after an eviction.
    world.evict(0, peer(5));
    world.quiesce();
    world.answers.clear();
    let evicted = pod(&world, 6, "trainer-0", 1);
    assert!(matches!(try_as(&mut world, evicted.clone()), Err(Refusal::Suspended(_))));
    // Until it ends, although its record stays.
    world.advance(700);
    try_as(&mut world, evicted).unwrap();
    // An eviction that comes when the lease is forgotten counts, too.
    world.release(0, peer(6));
    world.advance(400);
    world.quiesce();
    assert!(!world.leases().contains_key(&peer(6)));
    world.evict(0, peer(6));
    world.quiesce();
    world.answers.clear();
    let late = pod(&world, 7, "trainer-0", 1);
    assert!(matches!(try_as(&mut world, late), Err(Refusal::Suspended(_))));
}

#[test]
fn agents_of_one_host_do_not_replace_each_other_while_there_are_uses() {
    let mut world = World::new(1);
    for key in 1..4 {
        let enrolment = pod(&world, key, "node", 3);
        try_as(&mut world, enrolment).unwrap();
    }
    assert_eq!(world.leases().values().filter(|lease| lease.is_live()).count(), 3);
    let fourth = pod(&world, 4, "node", 3);
    try_as(&mut world, fourth).unwrap();
    assert_eq!(world.leases().values().filter(|lease| lease.is_live()).count(), 3);
}

#[test]
fn a_lease_ends_at_its_longest_life_however_alive_its_peer_is() {
    for (max, life) in [(None, MAX.as_secs()), (Some(7200), 7200), (Some(1 << 30), MAX.as_secs())] {
        let mut world = World::new(1);
        let short = Enrolment { max: max.map(Duration::from_secs), ..pod(&world, 1, "", 0) };
        try_as(&mut world, short).unwrap();
        // Restarts of the gateway do not make it longer than what they leave unwritten.
        alive(&mut world, peer(1), life / 2);
        world.crash(0);
        alive(&mut world, peer(1), life / 2 - 300);
        assert_eq!(ending(&world, peer(1)), None, "{max:?}");
        alive(&mut world, peer(1), 400);
        assert_eq!(ending(&world, peer(1)), Some(Ending::MaxAge), "{max:?}");
        // It is a new lease with a token that is still good.
        let again = Enrolment { max: max.map(Duration::from_secs), ..pod(&world, 1, "", 0) };
        try_as(&mut world, again).unwrap();
        alive(&mut world, peer(1), 600);
        assert_eq!(ending(&world, peer(1)), None, "{max:?}");
    }
}

#[test]
fn a_lease_is_not_renewed_without_its_signer_and_its_group() {
    let trust = |signers: &[u8], groups: &[&str]| Trust {
        signers: signers.iter().map(|number| signer(*number)).collect(),
        groups: groups.iter().map(|group| group.parse().unwrap()).collect::<BTreeSet<_>>(),
    };
    for (after, ends) in [
        (trust(&[1, 2], &["gpu"]), None),
        (trust(&[2], &["gpu"]), Some(Ending::Untrusted)),
        (trust(&[1], &["cpu"]), Some(Ending::Untrusted)),
    ] {
        let mut world = World::new(1);
        let enrolment = pod(&world, 1, "", 0);
        try_as(&mut world, enrolment).unwrap();
        world.nodes[0].machine.set_trust(trust(&[1], &["gpu"]));
        alive(&mut world, peer(1), 60);
        assert_eq!(ending(&world, peer(1)), None);
        world.nodes[0].machine.set_trust(after);
        alive(&mut world, peer(1), 40);
        assert_eq!(ending(&world, peer(1)), ends);
    }
}

#[test]
fn one_source_does_not_empty_the_pool() {
    let mut world = World::new(1);
    let source = |text: &str| Some(Source::from(text.parse::<std::net::IpAddr>().unwrap()));
    // The range has 7 addresses of IPv6, so a source may have 8; this gateway is told 3.
    world.nodes[0] = world.boot_with(|settings| settings.per_source = Some(3));
    let from = |world: &World, key, text| Enrolment { source: source(text), ..pod(world, key, "", 0) };
    for key in 0..3 {
        let enrolment = from(&world, key, "192.0.2.1");
        try_as(&mut world, enrolment).unwrap();
    }
    let refusal = Refusal::Source { source_address: "192.0.2.1".parse().unwrap(), limit: 3 };
    let fourth = from(&world, 3, "192.0.2.1");
    assert_eq!(try_as(&mut world, fourth.clone()), Err(refusal.clone()));
    // Addresses in quarantine count, or joining and leaving would empty the pool.
    world.release(0, peer(0));
    world.quiesce();
    world.answers.clear();
    assert_eq!(try_as(&mut world, fourth.clone()), Err(refusal));
    // Who has a lease may enrol again, and others may.
    let known = from(&world, 1, "192.0.2.1");
    try_as(&mut world, known).unwrap();
    let other = from(&world, 4, "192.0.2.2");
    try_as(&mut world, other).unwrap();
    world.advance(170);
    world.quiesce();
    try_as(&mut world, fourth).unwrap();
    // Requests that arrive together count too.
    let mut world = World::new(1);
    world.nodes[0] = world.boot_with(|settings| settings.per_source = Some(3));
    for key in 0..6 {
        let enrolment = from(&world, key, "192.0.2.1");
        world.enrol_as(0, enrolment, 2);
    }
    world.quiesce();
    assert_eq!(world.answers.iter().filter(|answer| answer.is_ok()).count(), 3);
}

#[test]
fn a_token_that_is_over_still_serves_the_holder_of_a_lease_and_makes_it_no_longer() {
    let mut world = World::new(1);
    let first = pod(&world, 1, "trainer-0", 1);
    let over = Enrolment { over: true, ..first.clone() };
    assert_eq!(try_as(&mut world, over.clone()), Err(Refusal::NoLease));
    try_as(&mut world, first).unwrap();
    alive(&mut world, peer(1), MAX.as_secs() - 300);
    let before = world.table.revision();
    try_as(&mut world, over.clone()).unwrap();
    assert_eq!(world.table.revision(), before, "nothing is written");
    // Another key of the host gets nothing.
    let other = Enrolment { over: true, ..pod(&world, 2, "trainer-0", 1) };
    assert_eq!(try_as(&mut world, other), Err(Refusal::NoLease));
    alive(&mut world, peer(1), 400);
    assert_eq!(ending(&world, peer(1)), Some(Ending::MaxAge));
    assert_eq!(try_as(&mut world, over), Err(Refusal::NoLease));
}

#[test]
fn an_evicted_token_ends_its_leases_and_can_be_accepted_again() {
    let mut world = World::new(1);
    let enrolment = pod(&world, 1, "", 0);
    try_as(&mut world, enrolment.clone()).unwrap();
    world.revoke(0, 2);
    world.quiesce();
    world.answers.clear();
    assert_eq!(ending(&world, peer(1)), Some(Ending::Revoked));
    assert_eq!(try_as(&mut world, enrolment.clone()), Err(Refusal::Revoked));
    world.accept(0, 2);
    world.quiesce();
    world.answers.clear();
    try_as(&mut world, enrolment).unwrap();
}

/// A record of the version before leases had an age.
#[test]
fn records_of_earlier_versions_are_read() {
    let mut world = World::new(1);
    let old = format!(
        r#"{{"addresses":["10.0.0.5","fd00::3"],"group":"gpu","token":"{}","host":{{"name":"","labels":{{}}}},"since":"2027-01-15T08:00:00Z","state":{{"live":{{"seen":"2027-01-15T08:00:00Z","ttl":240}}}}}}"#,
        token(2)
    );
    let address = |text: &str| Key::Address(text.parse().unwrap());
    let owner = format!(r#"{{"owner":"{}"}}"#, peer(1)).into_bytes();
    let transaction = Transaction {
        put: vec![
            (Key::Lease(peer(1)), old.into_bytes()),
            (address("10.0.0.5"), owner.clone()),
            (address("fd00::3"), owner),
        ],
        ..Transaction::default()
    };
    world.table.commit(&transaction);
    world.crash(0);
    world.nodes[0]
        .machine
        .set_trust(Trust { signers: BTreeSet::new(), groups: ["gpu".parse().unwrap()].into() });
    assert_eq!(world.nodes[0].machine.statistics().damaged, 0);
    assert_eq!(world.nodes[0].machine.peers().count(), 1);
    // It ages from now on.
    alive(&mut world, peer(1), MAX.as_secs() - 300);
    assert_eq!(ending(&world, peer(1)), None);
    alive(&mut world, peer(1), 400);
    assert_eq!(ending(&world, peer(1)), Some(Ending::MaxAge));
    assert!(world.nodes[0].machine.poll_timeout() > clocks(world.now).mono);
}
