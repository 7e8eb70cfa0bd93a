//! Gateways over one store whose answers may be lost, and the reference that watches them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use warren_lease::{
    COMMIT_WITHIN, Change, Ending, Enrolment, Grant, Key, Lease, Leases, Now, Outcome, Output, Refusal,
    RequestId, Settings, State, Table, Transaction, TransactionId,
};
use warren_wire::token::{KeyId, SigningKey, TokenId};
use warren_wire::{PrivateKey, PublicKey, UnixTime};

pub(crate) const TTL: Duration = Duration::from_secs(240);
pub(crate) const QUARANTINE: Duration = Duration::from_secs(120);
/// The longest life of a lease.
pub(crate) const MAX: Duration = Duration::from_secs(24 * 3600);
/// How many peers may use each token.
pub(crate) const USES: [Option<u32>; 3] = [Some(2), Some(5), None];

pub(crate) fn settings() -> Settings {
    Settings {
        prefixes: vec!["10.0.0.0/28".parse().unwrap(), "fd00::/125".parse().unwrap()],
        reserved: vec!["10.0.0.1".parse().unwrap()],
        ttl: TTL,
        quarantine: QUARANTINE,
        max: MAX,
        per_source: None,
        shared: None,
    }
}

/// Both clocks of all gateways, which agree here.
pub(crate) fn clocks(now: UnixTime) -> Now {
    Now { mono: Duration::from_secs(now.as_secs()), wall: now }
}

pub(crate) fn peer(index: u8) -> PublicKey {
    PrivateKey::from_random([index + 1; 32]).public()
}

pub(crate) fn token(index: usize) -> TokenId {
    TokenId::from_random([index as u8; 16])
}

pub(crate) fn enrolment(key: PublicKey, index: usize, now: UnixTime) -> Enrolment {
    Enrolment {
        key,
        token: token(index),
        expires: now.plus(Duration::from_secs(3600)),
        uses: USES[index].and_then(NonZeroU32::new),
        signer: signer(1),
        over: false,
        max: None,
        source: None,
        group: "gpu".parse().unwrap(),
        host: Default::default(),
    }
}

pub(crate) fn signer(number: u8) -> KeyId {
    SigningKey::from_random([number; 32]).verifying_key().id()
}

/// What happens to a transaction on its way to the store and back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// It arrives, and so does the answer.
    Arrives,
    /// It is lost, and the gateway is told that nobody knows.
    Lost,
    /// It arrives, the answer is lost.
    AnswerLost,
}

#[derive(Debug)]
enum Request {
    Enrol(PublicKey, usize, UnixTime),
    Evict(PublicKey, UnixTime),
    Readmit(PublicKey),
    Revoke(usize),
    Release,
    Accept,
}

pub(crate) struct Node {
    pub(crate) machine: Leases,
    /// How much of the log it has been told.
    told: usize,
    /// With the time at which each was given out.
    pub(crate) under_way: Vec<(TransactionId, Transaction, UnixTime)>,
    requests: BTreeMap<RequestId, Request>,
    installed: BTreeSet<PublicKey>,
    /// Handshakes that it saw.
    handshakes: BTreeMap<PublicKey, UnixTime>,
}

/// What has been promised to a peer.
#[derive(Debug)]
struct Promise {
    addresses: Vec<IpAddr>,
    until: UnixTime,
}

/// The store, its gateways, and what must hold.
pub(crate) struct World {
    pub(crate) now: UnixTime,
    pub(crate) table: Table,
    log: Vec<(u64, Vec<Change>)>,
    pub(crate) nodes: Vec<Node>,
    next_request: u64,
    promises: BTreeMap<PublicKey, Promise>,
    /// Who had an address last, and until when.
    last: BTreeMap<IpAddr, (PublicKey, UnixTime)>,
    granted: BTreeMap<usize, BTreeSet<PublicKey>>,
    evicted: BTreeMap<PublicKey, UnixTime>,
    revoked: BTreeSet<usize>,
    /// Answers in their order, for cases.
    pub(crate) answers: Vec<Result<Option<Grant>, Refusal>>,
}

impl World {
    pub(crate) fn new(nodes: usize) -> Self {
        let mut world = Self {
            now: UnixTime::from_secs(1_800_000_000),
            table: Table::default(),
            log: Vec::new(),
            nodes: Vec::new(),
            next_request: 0,
            promises: BTreeMap::new(),
            last: BTreeMap::new(),
            granted: BTreeMap::new(),
            evicted: BTreeMap::new(),
            revoked: BTreeSet::new(),
            answers: Vec::new(),
        };
        for _ in 0..nodes {
            let node = world.boot();
            world.nodes.push(node);
        }
        world
    }

    fn boot(&self) -> Node {
        self.boot_with(|_| {})
    }

    pub(crate) fn boot_with(&self, change: impl FnOnce(&mut Settings)) -> Node {
        let mut settings = settings();
        change(&mut settings);
        let mut machine = Leases::new(settings, clocks(self.now)).unwrap();
        let contents: Vec<Change> = self.table.contents().collect();
        machine.restore(clocks(self.now), &contents, self.table.revision());
        let mut node = Node {
            machine,
            told: self.log.len(),
            under_way: Vec::new(),
            requests: BTreeMap::new(),
            installed: BTreeSet::new(),
            handshakes: BTreeMap::new(),
        };
        // Nothing but peers can come of a restore.
        while let Some(output) = node.machine.poll_output() {
            match output {
                Output::Install(peer) => node.installed.insert(peer.key),
                other => panic!("{other:?}"),
            };
        }
        node
    }

    /// A gateway dies with all that it had not written, and starts again.
    pub(crate) fn crash(&mut self, node: usize) {
        self.nodes[node] = self.boot();
    }

    /// A gateway that missed changes reads everything again.
    pub(crate) fn resume(&mut self, node: usize) {
        let contents: Vec<Change> = self.table.contents().collect();
        self.nodes[node].machine.restore(clocks(self.now), &contents, self.table.revision());
        self.nodes[node].told = self.log.len();
        self.pump(node);
    }

    pub(crate) fn enrol(&mut self, node: usize, key: PublicKey, token: usize) {
        self.enrol_as(node, enrolment(key, token, self.now), token);
    }

    pub(crate) fn enrol_as(&mut self, node: usize, enrolment: Enrolment, token: usize) {
        let id = self.request(node, Request::Enrol(enrolment.key, token, self.now));
        self.nodes[node].machine.enrol(clocks(self.now), id, enrolment);
        self.pump(node);
    }

    pub(crate) fn release(&mut self, node: usize, key: PublicKey) {
        self.promises.remove(&key);
        let id = self.request(node, Request::Release);
        self.nodes[node].machine.release(clocks(self.now), id, key);
        self.pump(node);
    }

    pub(crate) fn evict(&mut self, node: usize, key: PublicKey) {
        self.evict_for(node, key, 600);
    }

    pub(crate) fn evict_for(&mut self, node: usize, key: PublicKey, seconds: u64) {
        self.promises.remove(&key);
        let until = self.now.plus(Duration::from_secs(seconds));
        let id = self.request(node, Request::Evict(key, until));
        self.nodes[node].machine.evict(clocks(self.now), id, key, until);
        self.pump(node);
    }

    pub(crate) fn readmit(&mut self, node: usize, key: PublicKey) {
        self.evicted.remove(&key);
        let id = self.request(node, Request::Readmit(key));
        self.nodes[node].machine.readmit(clocks(self.now), id, key);
        self.pump(node);
    }

    pub(crate) fn revoke(&mut self, node: usize, index: usize) {
        for key in self.granted.get(&index).into_iter().flatten() {
            self.promises.remove(key);
        }
        // A token may be on its way into a lease: what comes of it is not promised either.
        let on_their_way = self.nodes.iter().flat_map(|node| node.requests.values());
        let keys: Vec<PublicKey> = on_their_way
            .filter_map(|request| match request {
                Request::Enrol(key, of, _) if *of == index => Some(*key),
                _ => None,
            })
            .collect();
        for key in keys {
            self.promises.remove(&key);
        }
        self.revoke_until(node, index, 7200, true);
    }

    pub(crate) fn revoke_until(&mut self, node: usize, index: usize, seconds: u64, peers: bool) {
        let id = self.request(node, Request::Revoke(index));
        let until = self.now.plus(Duration::from_secs(seconds));
        self.nodes[node].machine.revoke(clocks(self.now), id, token(index), until, peers);
        self.pump(node);
    }

    pub(crate) fn accept(&mut self, node: usize, index: usize) {
        self.revoked.remove(&index);
        let id = self.request(node, Request::Accept);
        self.nodes[node].machine.restore_token(clocks(self.now), id, token(index));
        self.pump(node);
    }

    pub(crate) fn handshake(&mut self, node: usize, key: PublicKey) {
        let now = self.now;
        let node_ = &mut self.nodes[node];
        // Only peers have handshakes.
        if node_.installed.contains(&key) {
            node_.handshakes.insert(key, now);
            node_.machine.seen(clocks(now), key, clocks(now).mono);
            self.pump(node);
        }
    }

    /// Time passes in steps that every gateway notices.
    pub(crate) fn advance(&mut self, seconds: u64) {
        for step in (0..seconds).step_by(20) {
            self.now = self.now.plus(Duration::from_secs(20.min(seconds - step)));
            for node in 0..self.nodes.len() {
                while self.nodes[node].machine.poll_timeout() <= clocks(self.now).mono {
                    self.nodes[node].machine.handle_timeout(clocks(self.now));
                    self.pump(node);
                }
            }
            for node in 0..self.nodes.len() {
                // The store does not take longer.
                let late = |world: &Self| {
                    let limit = COMMIT_WITHIN - Duration::from_secs(20);
                    world.nodes[node].under_way.iter().position(|(.., given)| world.now.since(*given) > limit)
                };
                while let Some(which) = late(self) {
                    self.settle(node, which, Fate::Arrives);
                }
            }
            self.check();
        }
    }

    pub(crate) fn settle(&mut self, node: usize, which: usize, fate: Fate) {
        let count = self.nodes[node].under_way.len();
        if count == 0 {
            return;
        }
        let (id, transaction, given) = self.nodes[node].under_way.remove(which % count);
        let outcome = match fate {
            Fate::Lost => Outcome::Unknown,
            Fate::Arrives => self.commit(node, &transaction, given),
            Fate::AnswerLost => {
                self.commit(node, &transaction, given);
                Outcome::Unknown
            }
        };
        self.nodes[node].machine.settled(clocks(self.now), id, outcome);
        self.pump(node);
    }

    /// Tells a gateway some of the changes that it has not been told.
    pub(crate) fn deliver(&mut self, node: usize, count: usize) {
        let told = self.nodes[node].told;
        for (revision, changes) in self.log.iter().skip(told).take(count) {
            self.nodes[node].machine.apply(clocks(self.now), changes, *revision);
            self.nodes[node].told += 1;
        }
        self.pump(node);
    }

    /// Until nobody has anything left to do at this time.
    pub(crate) fn quiesce(&mut self) {
        loop {
            let mut idle = true;
            for node in 0..self.nodes.len() {
                while !self.nodes[node].under_way.is_empty() {
                    idle = false;
                    self.settle(node, 0, Fate::Arrives);
                }
                idle &= self.nodes[node].told == self.log.len();
                self.deliver(node, usize::MAX);
                if self.nodes[node].machine.poll_timeout() <= clocks(self.now).mono {
                    self.nodes[node].machine.handle_timeout(clocks(self.now));
                    self.pump(node);
                    idle = false;
                }
            }
            if idle {
                break;
            }
        }
        self.check();
        let live: BTreeSet<PublicKey> =
            self.leases().into_iter().filter(|(_, lease)| lease.is_live()).map(|(key, _)| key).collect();
        for node in &self.nodes {
            assert_eq!(node.installed, live, "peers of a gateway are those of the store");
            let statistics = node.machine.statistics();
            assert_eq!(statistics.live, live.len() as u64);
            assert_eq!((statistics.live + statistics.quarantined) as usize, self.leases().len());
            assert_eq!(statistics.damaged, 0);
        }
    }

    pub(crate) fn leases(&self) -> BTreeMap<PublicKey, Lease> {
        let leases = self.table.contents().filter_map(|change| match change.key {
            Key::Lease(key) => Some((key, serde_json::from_slice(&change.value.unwrap()).unwrap())),
            _ => None,
        });
        leases.collect()
    }

    fn request(&mut self, node: usize, request: Request) -> RequestId {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        self.nodes[node].requests.insert(id, request);
        id
    }

    fn commit(&mut self, node: usize, transaction: &Transaction, given: UnixTime) -> Outcome {
        let before = self.leases();
        let outcome = self.table.commit(transaction);
        if let Outcome::Committed(revision) = outcome
            && !transaction.is_check()
        {
            self.log.push((revision, transaction.changes(revision)));
            self.changed(node, &before, given);
        }
        outcome
    }

    /// What a transaction may do to leases.
    fn changed(&mut self, node: usize, before: &BTreeMap<PublicKey, Lease>, given: UnixTime) {
        let after = self.leases();
        for (key, lease) in &after {
            if let Some(old) = before.get(key) {
                assert_eq!(old.addresses, lease.addresses, "a known key keeps its addresses");
                if let (State::Live { seen, .. }, State::Quarantined { why: Ending::Expired, .. }) =
                    (old.state, lease.state)
                {
                    assert!(self.now >= seen.plus(TTL), "expired before its time");
                    let handshake = self.nodes[node].handshakes.get(key);
                    assert!(
                        handshake.is_none_or(|at| *at >= given || given >= at.plus(TTL)),
                        "expired by a gateway that saw it alive"
                    );
                }
            }
            // Somebody wanted it so, perhaps before the peer was let in again.
            if let State::Quarantined {
                why:
                    Ending::Released
                    | Ending::Evicted
                    | Ending::Revoked
                    | Ending::MaxAge
                    | Ending::Untrusted
                    | Ending::Replaced,
                ..
            } = lease.state
            {
                self.promises.remove(key);
            }
            for address in &lease.addresses {
                if lease.is_live() {
                    if let Some((owner, at)) = self.last.get(address).filter(|(owner, _)| owner != key) {
                        let since = self.now.since(*at);
                        assert!(since >= QUARANTINE, "{address} of {owner} was used again after {since:?}");
                    }
                    self.last.insert(*address, (*key, self.now));
                }
            }
        }
    }

    fn pump(&mut self, node: usize) {
        while let Some(output) = self.nodes[node].machine.poll_output() {
            match output {
                Output::Commit(id, transaction) => {
                    self.nodes[node].under_way.push((id, transaction, self.now));
                }
                Output::Install(peer) => _ = self.nodes[node].installed.insert(peer.key),
                Output::Remove(key) => {
                    assert!(self.nodes[node].installed.remove(&key), "removed a peer that was none");
                    self.nodes[node].handshakes.remove(&key);
                }
                Output::Ended(..) => {}
                Output::Answer { request, result } => self.answered(node, request, result),
            }
        }
        self.check();
    }

    fn answered(&mut self, node: usize, id: RequestId, result: Result<Option<Grant>, Refusal>) {
        let request = self.nodes[node].requests.remove(&id).expect("one answer for each request");
        self.answers.push(result.clone());
        match (request, result) {
            (Request::Enrol(key, token, asked), Ok(Some(grant))) => {
                assert!(
                    self.evicted.get(&key).is_none_or(|until| *until <= self.now),
                    "an evicted key was let in"
                );
                assert!(!self.revoked.contains(&token), "a revoked token let somebody in");
                let users = self.granted.entry(token).or_default();
                users.insert(key);
                assert!(
                    USES[token].is_none_or(|limit| users.len() <= limit as usize),
                    "a token was used too often"
                );
                let until = asked.plus(TTL * 3 / 4);
                self.promises.insert(key, Promise { addresses: grant.addresses, until });
            }
            (Request::Enrol(..), Ok(None)) => panic!("let in without a grant"),
            (Request::Evict(key, until), Ok(_)) => _ = self.evicted.insert(key, until),
            (Request::Readmit(key), _) => _ = self.evicted.remove(&key),
            (Request::Revoke(token), Ok(_)) => _ = self.revoked.insert(token),
            (Request::Release | Request::Accept, _) | (_, Err(_)) => {}
        }
    }

    /// What must hold at any time.
    fn check(&mut self) {
        let leases = self.leases();
        let mut owners = BTreeMap::new();
        for (key, lease) in &leases {
            assert_eq!(lease.addresses.len(), 2);
            for address in &lease.addresses {
                assert_eq!(owners.insert(*address, *key), None, "{address} twice");
                assert!(settings().prefixes.iter().any(|net| net.contains(address)));
                assert!(!settings().reserved.contains(address));
                if lease.is_live() {
                    self.last.insert(*address, (*key, self.now));
                }
            }
        }
        let records: BTreeSet<IpAddr> = self
            .table
            .contents()
            .filter_map(|change| if let Key::Address(address) = change.key { Some(address) } else { None })
            .collect();
        assert_eq!(
            records,
            owners.keys().copied().collect(),
            "addresses without a lease, or the other way round"
        );
        self.promises.retain(|_, promise| promise.until > self.now);
        for (key, promise) in &self.promises {
            let lease = leases.get(key).expect("an acknowledged lease is lost");
            assert!(lease.is_live(), "an acknowledged lease ended early: {lease:?}");
            assert_eq!(lease.addresses, promise.addresses);
        }
    }
}
