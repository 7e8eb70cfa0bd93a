//! What one machine does, case by case.

use std::time::Duration;

use warren_lease::{
    COMMIT_WITHIN, Change, Ending, Leases, Now, Outcome, Output, Refusal, RequestId, Settings, Shared, State,
    Table,
};
use warren_wire::{PublicKey, UnixTime};

use crate::world::{Fate, QUARANTINE, TTL, World, clocks, enrolment, peer, settings};

fn enrolled(world: &mut World, key: u8, token: usize) -> Result<Vec<String>, Refusal> {
    world.enrol(0, peer(key), token);
    world.quiesce();
    let grant = world.answers.pop().unwrap()?;
    Ok(grant.unwrap().addresses.iter().map(ToString::to_string).collect())
}

#[test]
fn addresses_are_a_peers_own_and_come_back_with_its_key() {
    let mut world = World::new(1);
    let first = enrolled(&mut world, 1, 2).unwrap();
    let second = enrolled(&mut world, 2, 2).unwrap();
    assert_ne!(first, second);
    // A restart while the lease lives, in quarantine, and after it.
    assert_eq!(enrolled(&mut world, 1, 2).as_ref(), Ok(&first));
    world.release(0, peer(1));
    world.quiesce();
    assert_eq!(enrolled(&mut world, 1, 2).as_ref(), Ok(&first));
    world.release(0, peer(1));
    world.quiesce();
    world.advance((COMMIT_WITHIN + QUARANTINE).as_secs() + 20);
    world.quiesce();
    assert!(!world.leases().contains_key(&peer(1)));
    assert_eq!(enrolled(&mut world, 1, 2), Ok(first));
}

#[test]
fn a_full_pool_says_when_its_next_address_becomes_free() {
    let mut world = World::new(1);
    let mut peers = (1..=u8::MAX).map_while(|key| enrolled(&mut world, key, 2).is_ok().then_some(key));
    let (first, last) = (peers.next().unwrap(), peers.last().unwrap());
    let full = |world: &mut World| match enrolled(world, last + 1, 2) {
        Err(Refusal::Full(full)) => (full.quarantined, full.next_free),
        other => panic!("{other:?}"),
    };
    assert_eq!(full(&mut world), (0, None), "only a peer that leaves makes room");
    world.release(0, peer(first));
    world.quiesce();
    let free = world.now.plus(COMMIT_WITHIN + QUARANTINE);
    world.advance(10);
    assert_eq!(full(&mut world), (1, Some(free)));
    world.advance(free.since(world.now).as_secs() + 1);
    world.quiesce();
    enrolled(&mut world, last + 1, 2).unwrap();
}

#[test]
fn handshakes_keep_a_lease_and_cost_few_writes() {
    let mut world = World::new(1);
    enrolled(&mut world, 1, 2).unwrap();
    let before = world.table.revision();
    // Two hours of handshakes, looked at every twenty seconds.
    for _ in 0..360 {
        world.advance(20);
        world.handshake(0, peer(1));
        world.quiesce();
    }
    assert!(world.leases()[&peer(1)].is_live());
    let writes = world.table.revision() - before;
    assert_eq!(writes, 7200 / (TTL.as_secs() / 4), "one for a quarter of the lease");
    world.advance(TTL.as_secs() + 20);
    world.quiesce();
    let lease = world.leases().remove(&peer(1)).unwrap();
    assert!(matches!(lease.state, State::Quarantined { why: Ending::Expired, .. }), "{lease:?}");
}

#[test]
fn a_gateway_that_was_away_ends_no_lease_before_it_has_listened() {
    let mut world = World::new(1);
    enrolled(&mut world, 1, 2).unwrap();
    world.now = world.now.plus(Duration::from_secs(3600));
    world.crash(0);
    world.advance(200);
    world.quiesce();
    assert!(world.leases()[&peer(1)].is_live());
    world.advance(60);
    world.quiesce();
    assert!(!world.leases()[&peer(1)].is_live());
    // The same when the clock jumps, or the machine slept.
    let mut world = World::new(1);
    enrolled(&mut world, 1, 2).unwrap();
    world.now = world.now.plus(Duration::from_secs(3600));
    world.advance(200);
    world.quiesce();
    assert!(world.leases()[&peer(1)].is_live());
}

#[test]
fn a_gateway_that_has_not_been_told_lets_nobody_in_either() {
    let mut world = World::new(3);
    enrolled(&mut world, 3, 1).unwrap();
    world.revoke(1, 1);
    world.settle(1, 0, Fate::Arrives);
    // Its token was good here a moment ago, and nothing would have to be written.
    world.enrol(0, peer(3), 1);
    world.settle(0, 0, Fate::Arrives);
    assert_eq!(world.answers.pop(), Some(Err(Refusal::Revoked)));
}

#[test]
fn refusals_tell_figures_and_change_nothing() {
    let mut world = World::new(1);
    for key in 0..2 {
        enrolled(&mut world, key, 0).unwrap();
    }
    let revision = world.table.revision();
    let mut told = vec![enrolled(&mut world, 2, 0).unwrap_err().to_string()];
    // Those who have used it may use it again.
    assert!(enrolled(&mut world, 1, 0).is_ok());
    assert_eq!(world.table.revision(), revision);
    // The IPv6 range has seven addresses.
    for key in 2..7 {
        enrolled(&mut world, key, 2).unwrap();
    }
    world.release(0, peer(6));
    world.quiesce();
    let revision = world.table.revision();
    told.push(enrolled(&mut world, 9, 2).unwrap_err().to_string());
    world.release(0, peer(9));
    told.push(world.answers.pop().unwrap().unwrap_err().to_string());
    assert_eq!(world.table.revision(), revision);
    world.evict(0, peer(1));
    world.quiesce();
    assert!(!world.leases()[&peer(1)].is_live());
    told.push(enrolled(&mut world, 1, 0).unwrap_err().to_string());
    world.readmit(0, peer(1));
    world.quiesce();
    assert!(enrolled(&mut world, 1, 0).is_ok());
    world.revoke(0, 0);
    world.quiesce();
    assert!(!world.leases()[&peer(1)].is_live() && world.leases()[&peer(3)].is_live());
    told.push(enrolled(&mut world, 1, 0).unwrap_err().to_string());
    world.enrol(0, peer(3), 2);
    world.advance(100);
    world.enrol(0, peer(3), 2);
    world.settle(0, 0, Fate::Lost);
    told.push(world.answers.pop().unwrap().unwrap_err().to_string());
    assert_eq!(
        told,
        [
            "the token's use limit of 2 is reached; issue another token, or one with more uses",
            "all 7 IPv6 addresses of the pool are in use, 1 of them in quarantine; enlarge the pool, or shorten the lease and the quarantine",
            "this key has no lease; it has expired or was never granted",
            "an operator has evicted this key until 2027-01-15T08:10:00Z; contact the operator, or generate a new key",
            "an operator has revoked the token; request a new one",
            "the lease store does not answer; try again",
        ]
    );
}

/// Two gateways with one store.
struct Pair {
    machines: [Leases; 2],
    table: Table,
    /// What each last reported of the peer: the gateway that it is at.
    places: [Option<Option<PublicKey>>; 2],
}

impl Pair {
    fn new(now: Now, grace: Duration) -> Self {
        let machines = [101, 102].map(|gateway| {
            let shared = Some(Shared { gateway: peer(gateway), grace });
            let mut machine = Leases::new(Settings { shared, ..settings() }, now).unwrap();
            machine.restore(now, &[], 0);
            machine
        });
        Self { machines, table: Table::default(), places: [None, None] }
    }

    /// What each machine reports of the peer, after all it has to do. Transactions of now may get lost.
    fn settle(&mut self, now: Now, lost: bool) -> [Option<Option<PublicKey>>; 2] {
        for _ in 0..4 {
            for (machine, place) in self.machines.iter_mut().zip(&mut self.places) {
                while let Some(output) = machine.poll_output() {
                    match output {
                        Output::Commit(id, _) if lost => machine.settled(now, id, Outcome::Unknown),
                        Output::Commit(id, transaction) => {
                            let outcome = self.table.commit(&transaction);
                            machine.settled(now, id, outcome);
                        }
                        Output::Install(peer) => *place = Some(peer.elsewhere),
                        _ => {}
                    }
                }
            }
            let contents: Vec<Change> = self.table.contents().collect();
            let revision = self.table.revision();
            self.machines.iter_mut().for_each(|machine| machine.apply(now, &contents, revision));
        }
        std::mem::take(&mut self.places)
    }
}

/// A peer is at the gateway that it enrolled at, until the other one reports that it has come.
#[test]
fn a_peer_that_moves_is_known_to_be_elsewhere() {
    let now = clocks(UnixTime::from_secs(1_000_000));
    let mut pair = Pair::new(now, Duration::from_secs(600));
    pair.machines[0].enrol(now, RequestId(1), enrolment(peer(1), 2, now.wall));
    assert_eq!(pair.settle(now, false), [Some(None), Some(Some(peer(101)))]);
    // It is installed again if nobody knows whether the store has it, so that its next message is noticed, too.
    pair.machines[1].arrived(now, peer(1));
    assert_eq!(pair.settle(now, true), [None, Some(Some(peer(101)))]);
    pair.machines[1].arrived(now, peer(1));
    assert_eq!(pair.settle(now, false), [Some(Some(peer(102))), Some(None)]);
    // A handshake with a gateway keeps the lease, but does not mean that the peer uses that gateway.
    let later = clocks(now.wall.plus(TTL / 2));
    pair.machines[0].seen(later, peer(1), later.mono);
    assert_eq!(pair.settle(later, false), [None, None]);
    // Who is here need not be reported.
    pair.machines[1].arrived(later, peer(1));
    assert_eq!(pair.settle(later, false), [None, None]);
}

/// A lease lives for its TTL after the last handshake with any gateway, and then for as long as the gateways need to agree on its end.
/// No gateway's answer makes it live longer.
#[test]
fn a_lease_ends_a_ttl_after_the_last_handshake_with_any_gateway() {
    let grace = TTL / 3;
    for last in [[0, 0], [0, 20], [30, 0], [0, 50], [50, 110], [130, 20]] {
        let start = UnixTime::from_secs(1_000_000);
        let mut pair = Pair::new(clocks(start), grace);
        pair.machines[0].enrol(clocks(start), RequestId(1), enrolment(peer(1), 2, start));
        pair.settle(clocks(start), false);
        let ended = (0..).step_by(5).map(Duration::from_secs).find(|at| {
            let now = clocks(start.plus(*at));
            for (machine, last) in pair.machines.iter_mut().zip(last) {
                machine.handle_timeout(now);
                let handshake = now.mono.min(clocks(start.plus(Duration::from_secs(last))).mono);
                machine.seen(now, peer(1), handshake);
            }
            pair.settle(now, false);
            pair.machines[0].leases().all(|(_, lease)| !lease.is_live())
        });
        let due = Duration::from_secs(last[0].max(last[1])) + TTL;
        let agreed = due + grace + COMMIT_WITHIN + Duration::from_secs(60);
        let ended = ended.unwrap();
        assert!(
            (due..=agreed).contains(&ended),
            "{last:?}: it ended after {ended:?}, not in {due:?} to {agreed:?}"
        );
    }
}
