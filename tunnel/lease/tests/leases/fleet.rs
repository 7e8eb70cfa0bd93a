//! A fleet in virtual time: every gateway has its own clocks and its own link to the store.
//!
//! True time advances in small steps. A gateway reads it only through its clocks: the wall clock has an offset and jumps, and
//! both clocks drift. A gateway may be cut off from the store, suspended, or started again. Pods complete handshakes with any
//! gateway that has them as peers, whether or not that gateway reaches the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use warren_lease::{
    COMMIT_WITHIN, Change, Ending, Enrolment, Key, Lease, Leases, Now, Outcome, Output, RequestId, Settings,
    Shared, State, Table, Transaction, TransactionId,
};
use warren_wire::PublicKey;
use warren_wire::enrolment::HostInfo;
use warren_wire::token::TokenId;

use crate::chance::{Clock, Faults, Random, until, wall};
use crate::ledger::{Ledger, USES};

pub(crate) const TTL: Duration = Duration::from_secs(600);
/// The time between two handshakes of a peer (whitepaper section 6.1).
const HANDSHAKE: Duration = Duration::from_secs(120);
/// What a gateway gives a transaction.
const COMMIT: Duration = Duration::from_secs(25);
const PODS: usize = 24;

/// A transaction on its way: what has become of it, and when its gateway hears of that.
struct UnderWay {
    id: TransactionId,
    transaction: Transaction,
    outcome: Option<Outcome>,
    arrives: Duration,
    answered: Duration,
}

struct Node {
    clock: Clock,
    machine: Leases,
    /// How much of the log it has been told.
    told: usize,
    linked_at: Duration,
    awake_at: Duration,
    under_way: Vec<UnderWay>,
    installed: BTreeSet<PublicKey>,
    /// True time of the last handshake with each peer.
    handshakes: BTreeMap<PublicKey, Duration>,
}

#[derive(Debug)]
struct Pod {
    key: PublicKey,
    credential: Credential,
    home: usize,
    next: Duration,
    enrolling: bool,
}

/// A token, and who uses it.
#[derive(Debug, Clone)]
struct Credential {
    token: TokenId,
    expires: Duration,
    host: String,
}

pub(crate) struct Fleet {
    random: Random,
    faults: Faults,
    at: Duration,
    table: Table,
    log: VecDeque<(u64, Vec<Change>)>,
    /// Entries of the log that everybody has been told, and that are gone.
    forgotten: usize,
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    leases: BTreeMap<PublicKey, Lease>,
    owners: BTreeMap<IpAddr, PublicKey>,
    /// When the store learned of an eviction.
    evicted: BTreeMap<PublicKey, Duration>,
    pub(crate) ledger: Ledger,
    /// A token that may be used once more.
    token: Option<(TokenId, Duration)>,
    /// Credentials that somebody may have copied.
    copied: VecDeque<Credential>,
    next: u64,
    requests: BTreeMap<RequestId, usize>,
    pub(crate) expired: u64,
    /// How many of them were of pods that still ran.
    pub(crate) lost: u64,
    pub(crate) steps: u64,
}

fn settings(node: usize, grace: Duration) -> Settings {
    Settings {
        prefixes: vec!["10.0.0.0/25".parse().unwrap()],
        reserved: Vec::new(),
        ttl: TTL,
        quarantine: Duration::from_secs(120),
        max: Duration::from_secs(30 * 86_400),
        per_source: None,
        shared: Some(Shared { gateway: key(u64::MAX - node as u64), grace }),
    }
}

fn key(number: u64) -> PublicKey {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    PublicKey::from_bytes(bytes)
}

/// Whether a change is the lease of another key of the same host and token.
fn replaces(change: &Change, key: PublicKey, ended: &Lease) -> bool {
    let Key::Lease(other) = change.key else { return false };
    let lease: Lease = serde_json::from_slice(change.value.as_deref().unwrap()).unwrap();
    other != key && lease.is_live() && lease.token == ended.token && lease.host == ended.host
}

impl Fleet {
    pub(crate) fn new(seed: u64, nodes: usize, faults: Faults) -> Self {
        let mut fleet = Self {
            random: Random(seed),
            faults,
            at: Duration::from_secs(1000),
            table: Table::default(),
            log: VecDeque::new(),
            forgotten: 0,
            nodes: Vec::new(),
            pods: Vec::new(),
            leases: BTreeMap::new(),
            owners: BTreeMap::new(),
            evicted: BTreeMap::new(),
            // Two of three gateways may agree on a wrong time.
            ledger: Ledger::new(
                Duration::from_secs(2 * faults.offset.unsigned_abs()) + faults.step,
                faults.offset < 1700,
            ),
            token: None,
            copied: VecDeque::new(),
            next: 0,
            requests: BTreeMap::new(),
            expired: 0,
            lost: 0,
            steps: 0,
        };
        for _ in 0..nodes {
            let clock = Clock {
                offset: fleet.random.around(faults.offset),
                drift: fleet.random.around(faults.drift),
            };
            let node = fleet.boot(fleet.nodes.len(), clock);
            fleet.nodes.push(node);
            fleet.pump(fleet.nodes.len() - 1);
        }
        for _ in 0..PODS {
            let pod = fleet.pod();
            fleet.pods.push(pod);
        }
        fleet
    }

    /// The store answers nobody for so long.
    pub(crate) fn stop_store(&mut self, time: Duration) {
        for node in &mut self.nodes {
            node.linked_at = self.at + time;
        }
    }

    /// Sets the wall clock of a gateway apart.
    pub(crate) fn set_offset(&mut self, node: usize, seconds: i64) {
        self.nodes[node].clock.offset = seconds;
    }

    fn boot(&self, node: usize, clock: Clock) -> Node {
        let now = clock.read(self.at);
        let mut machine = Leases::new(settings(node, self.faults.grace), now).unwrap();
        let contents: Vec<Change> = self.table.contents().collect();
        machine.restore(now, &contents, self.table.revision());
        Node {
            clock,
            machine,
            told: self.forgotten + self.log.len(),
            linked_at: Duration::ZERO,
            awake_at: Duration::ZERO,
            under_way: Vec::new(),
            installed: BTreeSet::new(),
            handshakes: BTreeMap::new(),
        }
    }

    fn pod(&mut self) -> Pod {
        self.next += 1;
        let number = self.next;
        let (token, expires) = self.token.take().unwrap_or_else(|| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&number.to_le_bytes());
            let valid = Duration::from_secs(600 + self.random.below(20_000));
            self.token = Some((TokenId::from_random(id), self.at + valid));
            (TokenId::from_random(id), self.at + valid)
        });
        let credential = Credential { token, expires, host: format!("pod-{number}") };
        self.copied.push_back(credential.clone());
        if self.copied.len() > 2 * PODS {
            self.copied.pop_front();
        }
        let home = self.random.below(self.nodes.len() as u64) as usize;
        Pod { key: key(number), credential, home, next: self.at, enrolling: false }
    }

    fn now(&self, node: usize) -> Now {
        self.nodes[node].clock.read(self.at)
    }

    /// A few seconds of true time.
    pub(crate) fn step(&mut self) {
        self.steps += 1;
        self.at += self.faults.step;
        self.fail();
        for node in 0..self.nodes.len() {
            self.arrive(node);
        }
        for pod in 0..self.pods.len() {
            self.act(pod);
        }
        for node in 0..self.nodes.len() {
            if self.nodes[node].awake_at <= self.at {
                self.tick(node);
            }
        }
        let told = self.nodes.iter().map(|node| node.told).min().unwrap_or(0);
        while self.forgotten < told {
            self.log.pop_front();
            self.forgotten += 1;
        }
        self.check();
    }

    /// Something goes wrong.
    fn fail(&mut self) {
        let faults = self.faults;
        let node = self.random.below(self.nodes.len() as u64) as usize;
        if faults.cuts > 0 && self.random.one_in(200) {
            self.nodes[node].linked_at = self.at + Duration::from_secs(self.random.below(faults.cuts));
        }
        if faults.suspensions > 0 && self.random.one_in(300) {
            self.nodes[node].awake_at = self.at + Duration::from_secs(self.random.below(faults.suspensions));
        }
        if faults.jumps && self.random.one_in(300) {
            self.nodes[node].clock.offset = self.random.around(faults.offset);
        }
        if faults.restarts && self.random.one_in(400) && self.nodes[node].linked_at <= self.at {
            self.nodes[node] = self.boot(node, self.nodes[node].clock);
            self.pump(node);
        }
        // A pod ends without a word, and another comes.
        if self.random.one_in(100) {
            let which = self.random.below(PODS as u64) as usize;
            self.pods[which] = self.pod();
        }
        if faults.evictions && self.random.one_in(150) {
            let which = self.random.below(PODS as u64) as usize;
            let (now, id) = (self.now(node), self.request(usize::MAX));
            let until = wall(self.at + Duration::from_secs(600 + self.random.below(14_400)));
            self.nodes[node].machine.evict(now, id, self.pods[which].key, until);
            self.pump(node);
        }
        if faults.revocations && self.random.one_in(150) {
            let which = self.random.below(self.copied.len() as u64) as usize;
            let (now, id) = (self.now(node), self.request(usize::MAX));
            let Credential { token, expires, .. } = self.copied[which];
            // Many revocations end before the token does.
            let short = self.at + Duration::from_secs(300 + self.random.below(3600));
            self.nodes[node].machine.revoke(now, id, token, wall(expires.min(short)), true);
            self.pump(node);
        }
        if faults.lost_keys && self.random.one_in(20) {
            let which = self.random.below(PODS as u64) as usize;
            self.next += 1;
            self.pods[which].key = key(self.next);
            self.pods[which].next = self.at;
        }
        if faults.lost_keys && self.random.one_in(2) && self.nodes[node].awake_at <= self.at {
            let which = self.random.below(self.copied.len() as u64) as usize;
            self.next += 1;
            let credential = self.copied[which].clone();
            let host = if self.random.one_in(2) { credential.host } else { format!("thief-{}", self.next) };
            self.enrol(node, usize::MAX, key(self.next), Credential { host, ..credential });
        }
    }

    fn request(&mut self, pod: usize) -> RequestId {
        self.next += 1;
        self.requests.insert(RequestId(self.next), pod);
        RequestId(self.next)
    }

    /// What the network has for a gateway, which may be suspended.
    fn arrive(&mut self, node: usize) {
        let (at, linked) = (self.at, self.nodes[node].linked_at <= self.at);
        // Requests that have left reach the store even if their gateway sleeps.
        for index in 0..self.nodes[node].under_way.len() {
            let under_way = &self.nodes[node].under_way[index];
            if linked && under_way.outcome.is_none() && under_way.arrives <= at && at < under_way.answered {
                let transaction = under_way.transaction.clone();
                let outcome = self.commit(node, &transaction);
                let answered =
                    at + self.faults.step * self.random.below(if self.faults.prompt { 1 } else { 3 }) as u32;
                let under_way = &mut self.nodes[node].under_way[index];
                (under_way.outcome, under_way.answered) = (Some(outcome), under_way.answered.min(answered));
            }
        }
        if self.nodes[node].awake_at > at {
            return;
        }
        let now = self.now(node);
        while let Some(index) = self.nodes[node].under_way.iter().position(|it| it.answered <= at) {
            let UnderWay { id, outcome, .. } = self.nodes[node].under_way.remove(index);
            self.nodes[node].machine.settled(now, id, outcome.unwrap_or(Outcome::Unknown));
            self.pump(node);
        }
        if linked && (self.faults.prompt || !self.random.one_in(4)) {
            let skip = self.nodes[node].told - self.forgotten;
            for (revision, changes) in self.log.iter().skip(skip) {
                self.nodes[node].machine.apply(now, changes, *revision);
                self.nodes[node].told += 1;
            }
            self.pump(node);
        }
    }

    /// A pod keeps its handshakes up, moves to another gateway, or enrols again.
    fn act(&mut self, which: usize) {
        let (at, pod) = (self.at, &self.pods[which]);
        if pod.next > at || pod.enrolling {
            return;
        }
        let key = pod.key;
        let serves = |node: &Node| node.awake_at <= at && node.installed.contains(&key);
        if !serves(&self.nodes[pod.home])
            && let Some(other) = self.nodes.iter().position(serves)
        {
            self.pods[which].home = other;
        }
        let home = self.pods[which].home;
        if serves(&self.nodes[home]) {
            self.nodes[home].handshakes.insert(key, at);
            self.pods[which].next = at + HANDSHAKE;
            return;
        }
        self.pods[which].next = at + self.faults.retry;
        self.pods[which].home = self.random.below(self.nodes.len() as u64) as usize;
        // An evicted pod tries to come back with a new key.
        if self.evicted.contains_key(&key) {
            self.next += 1;
            self.pods[which].key = crate::fleet::key(self.next);
        }
        let has_lease = self.leases.get(&self.pods[which].key).is_some_and(Lease::is_live);
        if self.pods[which].credential.expires < self.at && !has_lease {
            self.pods[which] = self.pod();
        }
        let Pod { key, ref credential, home, .. } = self.pods[which];
        let credential = credential.clone();
        if self.nodes[home].awake_at <= at {
            self.pods[which].enrolling = true;
            self.enrol(home, which, key, credential);
        }
    }

    /// Every host tries to come back with another key.
    pub(crate) fn knock(&mut self, node: usize) {
        for credential in self.copied.clone() {
            self.next += 1;
            self.enrol(node, usize::MAX, key(self.next), credential);
        }
    }

    /// A gateway has a request with a token that it has verified.
    fn enrol(&mut self, node: usize, pod: usize, key: PublicKey, credential: Credential) {
        let (now, id) = (self.now(node), self.request(pod));
        let expires = wall(credential.expires);
        let enrolment = Enrolment {
            key,
            token: credential.token,
            expires,
            uses: NonZeroU32::new(USES as u32),
            signer: crate::world::signer(1),
            over: now.wall >= expires,
            max: None,
            source: None,
            group: "gpu".parse().unwrap(),
            host: HostInfo::new(credential.host, BTreeMap::new()).unwrap(),
        };
        self.nodes[node].machine.enrol(now, id, enrolment);
        self.pump(node);
    }

    fn tick(&mut self, node: usize) {
        let now = self.now(node);
        let clock = self.nodes[node].clock;
        let seen: Vec<_> = self.nodes[node].handshakes.iter().map(|(key, at)| (*key, *at)).collect();
        for (key, at) in seen {
            self.nodes[node].machine.seen(now, key, clock.run(at));
        }
        self.pump(node);
        for _ in 0..1000 {
            if self.nodes[node].machine.poll_timeout() > now.mono {
                return;
            }
            self.nodes[node].machine.handle_timeout(now);
            self.pump(node);
        }
        panic!("a timer runs again and again");
    }

    fn pump(&mut self, node: usize) {
        while let Some(output) = self.nodes[node].machine.poll_output() {
            match output {
                Output::Commit(id, transaction) => {
                    let arrives = self.at
                        + self.faults.step * self.random.below(if self.faults.prompt { 1 } else { 2 }) as u32;
                    let answered = self.at + COMMIT;
                    let under_way = UnderWay { id, transaction, outcome: None, arrives, answered };
                    self.nodes[node].under_way.push(under_way);
                }
                Output::Install(peer) => _ = self.nodes[node].installed.insert(peer.key),
                Output::Remove(key) => {
                    self.nodes[node].installed.remove(&key);
                    self.nodes[node].handshakes.remove(&key);
                }
                Output::Ended(..) => {}
                Output::Answer { request, .. } => {
                    if let Some(pod) = self.requests.remove(&request).and_then(|pod| self.pods.get_mut(pod)) {
                        pod.enrolling = false;
                    }
                }
            }
        }
    }

    fn commit(&mut self, node: usize, transaction: &Transaction) -> Outcome {
        let outcome = self.table.commit(transaction);
        if let Outcome::Committed(revision) = outcome
            && !transaction.is_check()
        {
            let changes = transaction.changes(revision);
            for change in &changes {
                self.changed(node, change, &changes);
            }
            self.log.push_back((revision, changes));
        }
        outcome
    }

    fn changed(&mut self, node: usize, change: &Change, with: &[Change]) {
        let value = change.value.as_deref();
        match change.key {
            Key::Lease(key) => {
                let after: Option<Lease> = value.map(|value| serde_json::from_slice(value).unwrap());
                let before = match &after {
                    Some(lease) => self.leases.insert(key, lease.clone()),
                    None => self.leases.remove(&key),
                };
                self.ledger.lease(self.at, key, before.as_ref(), after.as_ref());
                for address in before.iter().flat_map(|lease| &lease.addresses) {
                    self.owners.remove(address);
                }
                for address in after.iter().flat_map(|lease| &lease.addresses) {
                    assert_eq!(self.owners.insert(*address, key), None, "{address} is assigned twice");
                }
                if let Some(lease) = after
                    && let State::Quarantined { why, .. } = lease.state
                    && before.is_some_and(|lease| lease.is_live())
                {
                    self.ledger.ended(self.at, key, lease.token, why);
                    match why {
                        Ending::Expired => self.check_end(node, key),
                        Ending::Replaced => assert!(with.iter().any(|other| replaces(other, key, &lease))),
                        _ => {}
                    }
                }
            }
            Key::Evicted(key) => {
                if let Some(value) = value {
                    self.evicted.entry(key).or_insert(self.at);
                    self.ledger.evict(key, self.leases.get(&key), until(value));
                } else {
                    self.evicted.remove(&key);
                }
            }
            Key::Revoked(token) => {
                let record: Option<serde_json::Value> =
                    value.map(|value| serde_json::from_slice(value).unwrap());
                if record.is_some_and(|record| record["peers"] == true) {
                    self.ledger.revoke(token, until(value.unwrap()));
                }
            }
            _ => {}
        }
    }

    /// No live lease ends while its pod completes handshakes.
    fn check_end(&mut self, by: usize, key: PublicKey) {
        self.expired += 1;
        self.lost += u64::from(self.pods.iter().any(|pod| pod.key == key));
        for (number, node) in self.nodes.iter().enumerate() {
            // A gateway that sleeps forwards nothing.
            let alive = node.installed.contains(&key) && node.awake_at <= self.at;
            if let Some(at) = node.handshakes.get(&key).filter(|_| alive) {
                let ago = self.at - *at;
                assert!(
                    ago > HANDSHAKE + 2 * self.faults.step + COMMIT_WITHIN,
                    "at {:?}, gateway {by} ended the lease of a pod whose handshake with gateway {number} was {ago:?} ago; clocks: {:?}",
                    self.at,
                    self.nodes.iter().map(|node| node.clock).collect::<Vec<_>>(),
                );
            }
        }
    }

    fn check(&self) {
        let limit = self.faults.grace + 2 * self.faults.step;
        for (key, since) in &self.evicted {
            for (number, node) in self.nodes.iter().enumerate() {
                let late = self.at > *since + limit && node.awake_at + 2 * self.faults.step <= self.at;
                assert!(
                    !(late && node.installed.contains(key)),
                    "gateway {number} still serves a pod that was evicted {:?} ago",
                    self.at - *since
                );
            }
        }
    }
}
