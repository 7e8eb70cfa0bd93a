//! Several gateways over one real etcd: what they hand out together, and what they do while etcd is away.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use warren_lease::{Enrolment, Outcome, Refusal, Settings, Shared, Transaction};
use warren_store::{Etcd, EtcdSettings, Member, News, Store};
use warren_tunnel::enrolment::leases::{LeaseService, PeerEvent};
use warren_tunnel::runtime::supervise::Supervisor;
use warren_tunnel_tests::program;
use warren_wire::token::{SigningKey, TokenId};
use warren_wire::{PrivateKey, PublicKey, UnixTime};

const PATIENCE: Duration = Duration::from_secs(30);
/// Gateways that have been started, as the numbers of their keys.
static STARTED: AtomicU32 = AtomicU32::new(1 << 24);
/// How long a gateway serves without etcd.
const GRACE: Duration = Duration::from_secs(10);

/// One member of etcd on loopback.
struct Server {
    child: Child,
    url: String,
    arguments: Vec<String>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let url = || format!("http://127.0.0.1:{}", free_port());
        let (client, peer) = (url(), url());
        let arguments = [
            ("--data-dir", folder.display().to_string()),
            ("--listen-client-urls", client.clone()),
            ("--advertise-client-urls", client.clone()),
            ("--listen-peer-urls", peer.clone()),
            ("--initial-advertise-peer-urls", peer.clone()),
            ("--initial-cluster", format!("default={peer}")),
            ("--log-level", "error".to_owned()),
        ];
        let arguments: Vec<String> =
            arguments.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        let child = Self::spawn(&arguments);
        Self { child, url: client, arguments }
    }

    fn spawn(arguments: &[String]) -> Child {
        Command::new(program("etcd").unwrap())
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn restart(&mut self) {
        self.child = Self::spawn(&self.arguments);
    }

    /// With the same data, where its clients do not look for it.
    fn restart_elsewhere(&mut self) -> String {
        let url = format!("http://127.0.0.1:{}", free_port());
        let moved: Vec<String> = self
            .arguments
            .iter()
            .map(|argument| if *argument == self.url { url.clone() } else { argument.clone() })
            .collect();
        self.child = Self::spawn(&moved);
        url
    }

    fn store(&self) -> Etcd {
        let settings =
            EtcdSettings { endpoints: vec![self.url.clone()], prefix: "/warren/test/".into(), tls: None };
        Etcd::new(&settings).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed by the test.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn peer(number: u32) -> PublicKey {
    let mut bytes = [7; 32];
    // Not the first byte, of which X25519 ignores three bits.
    bytes[8..12].copy_from_slice(&number.to_le_bytes());
    PrivateKey::from_random(bytes).public()
}

fn enrolment(number: u32, uses: u32) -> Enrolment {
    Enrolment {
        key: peer(number),
        token: TokenId::from_random([uses as u8; 16]),
        expires: UnixTime::MAX,
        uses: std::num::NonZeroU32::new(uses),
        signer: SigningKey::from_random([1; 32]).verifying_key().id(),
        over: false,
        max: None,
        source: None,
        group: "gpu".parse().unwrap(),
        host: Default::default(),
    }
}

/// A gateway's leases, and its peers as the interface would have them.
struct Gateway {
    leases: LeaseService,
    events: mpsc::UnboundedReceiver<PeerEvent>,
    peers: BTreeMap<PublicKey, Vec<IpAddr>>,
}

impl Gateway {
    fn start(server: &Server, pool: &str) -> Self {
        let settings = Settings {
            prefixes: vec![pool.parse().unwrap()],
            reserved: Vec::new(),
            ttl: Duration::from_secs(240),
            quarantine: Duration::from_secs(60),
            max: Duration::from_secs(86_400),
            per_source: None,
            shared: Some(Shared { gateway: peer(STARTED.fetch_add(1, Ordering::Relaxed)), grace: GRACE }),
        };
        let (sender, events) = mpsc::unbounded_channel();
        let (runtime, supervisor) = (tokio::runtime::Handle::current(), Supervisor::default());
        let store = Arc::new(server.store());
        let leases = LeaseService::start(settings, store, sender, &runtime, &supervisor).unwrap();
        Self { leases, events, peers: BTreeMap::new() }
    }

    fn catch_up(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            match event {
                PeerEvent::Install(peer) => _ = self.peers.insert(peer.key, peer.addresses),
                PeerEvent::Remove(key) => _ = self.peers.remove(&key),
            }
        }
    }

    /// Waits until the interface has so many peers.
    async fn has(&mut self, count: usize) {
        let reached = async {
            loop {
                self.catch_up();
                if self.peers.len() == count {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        if timeout(PATIENCE, reached).await.is_err() {
            panic!("{} peers, not {count}", self.peers.len());
        }
    }
}

/// As a pod does it: again while it is only the store that does not answer.
async fn enrol(leases: &LeaseService, enrolment: Enrolment) -> Result<Vec<IpAddr>, Refusal> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match leases.enrol(enrolment.clone()).await {
            Ok(grant) => return Ok(grant.addresses),
            Err(Refusal::Store | Refusal::Contended) if Instant::now() < deadline => {
                sleep(Duration::from_millis(50)).await;
            }
            Err(refusal) => return Err(refusal),
        }
    }
}

#[test]
fn three_gateways_hand_no_address_out_twice() {
    const PODS: u32 = 240;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    runtime().block_on(async {
        // As many addresses as pods want, and a few: each gateway often wants what another has just taken.
        let mut gateways: Vec<Gateway> = (0..3).map(|_| Gateway::start(&server, "10.100.0.0/24")).collect();
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for number in 0..PODS {
            // Every tenth asks two gateways at the same time.
            let asked = if number % 10 == 0 { 2 } else { 1 };
            for offset in 0..asked {
                let leases = gateways[(number as usize + offset) % 3].leases.clone();
                tasks.spawn(async move { (number, enrol(&leases, enrolment(number, 0)).await) });
            }
        }
        let mut owners: BTreeMap<IpAddr, u32> = BTreeMap::new();
        while let Some(result) = tasks.join_next().await {
            let (number, addresses) = result.unwrap();
            for address in addresses.unwrap() {
                let owner = *owners.entry(address).or_insert(number);
                assert_eq!(owner, number, "{address} was handed out twice");
            }
        }
        let elapsed = started.elapsed();
        assert_eq!(owners.len(), PODS as usize);
        let mut conflicts = 0;
        for gateway in &mut gateways {
            gateway.has(PODS as usize).await;
            conflicts += gateway.leases.leases().await.unwrap().1.conflicts;
        }
        assert_eq!(gateways[0].peers, gateways[1].peers);
        assert_eq!(gateways[0].peers, gateways[2].peers);
        println!("{PODS} pods at 3 gateways in {elapsed:?}, {conflicts} races lost");

        // The pool has 254: 14 more, and no more.
        let mut granted = 0;
        for number in PODS..PODS + 20 {
            match enrol(&gateways[number as usize % 3].leases, enrolment(number, 0)).await {
                Ok(_) => granted += 1,
                Err(refusal) => assert!(matches!(refusal, Refusal::Full(_)), "{refusal}"),
            }
        }
        assert_eq!(granted, 14);
        gateways[0].leases.release(peer(3)).await.unwrap();
        for gateway in &mut gateways {
            gateway.has(253).await;
        }
    });
}

#[test]
fn a_token_is_not_used_too_often_whoever_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    runtime().block_on(async {
        let gateways: Vec<Gateway> = (0..3).map(|_| Gateway::start(&server, "10.100.0.0/24")).collect();
        let mut tasks = JoinSet::new();
        for number in 0..60 {
            let leases = gateways[number as usize % 3].leases.clone();
            tasks.spawn(async move { enrol(&leases, enrolment(number, 20)).await });
        }
        let results = tasks.join_all().await;
        let refused = results.iter().filter(|result| matches!(result, Err(Refusal::UsedUp(_)))).count();
        assert_eq!((results.iter().filter(|result| result.is_ok()).count(), refused), (20, 40));
        // Revoked at one gateway, nobody gets in at another.
        let token = enrolment(0, 20).token;
        gateways[0].leases.revoke(token, UnixTime::MAX, true).await.unwrap();
        let started = Instant::now();
        while !matches!(gateways[2].leases.enrol(enrolment(0, 20)).await, Err(Refusal::Revoked)) {
            assert!(started.elapsed() < PATIENCE);
        }
        println!("a revocation was known to another gateway after {:?}", started.elapsed());
        let mut last = gateways.into_iter().nth(1).unwrap();
        last.has(0).await;
    });
}

#[test]
fn etcd_killed_and_started_again_loses_nothing_and_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let runtime = runtime();
    let mut gateways: Vec<Gateway> =
        runtime.block_on(async { (0..2).map(|_| Gateway::start(&server, "10.100.0.0/22")).collect() });
    let mut owners: BTreeMap<IpAddr, u32> = BTreeMap::new();
    // An etcd that is killed while it makes its first files does not start again.
    let first = runtime.block_on(enrol(&gateways[0].leases, enrolment(1000, 0))).unwrap();
    owners.extend(first.into_iter().map(|address| (address, 1000)));
    let mut longest = Duration::ZERO;
    for round in 0..3 {
        let mut tasks = JoinSet::new();
        runtime.block_on(async {
            for number in round * 100..round * 100 + 100 {
                let leases = gateways[number as usize % 2].leases.clone();
                tasks.spawn(async move { (number, enrol(&leases, enrolment(number, 0)).await.unwrap()) });
            }
            sleep(Duration::from_millis(30)).await;
        });
        // In the midst of it.
        server.kill();
        runtime.block_on(async { sleep(Duration::from_millis(500)).await });
        server.restart();
        let restarted = Instant::now();
        runtime.block_on(async {
            while let Some(result) = tasks.join_next().await {
                let (number, addresses) = result.unwrap();
                for address in addresses {
                    assert_eq!(*owners.entry(address).or_insert(number), number, "{address} twice");
                }
            }
        });
        longest = longest.max(restarted.elapsed());
    }
    runtime.block_on(async {
        for gateway in &mut gateways {
            gateway.has(301).await;
        }
        // What was acknowledged is there, and the watches go on.
        let known: BTreeSet<IpAddr> = gateways[0].peers.values().flatten().copied().collect();
        assert_eq!(known, owners.keys().copied().collect());
        gateways[0].leases.release(peer(0)).await.unwrap();
        gateways[1].has(300).await;
    });
    println!("300 pods, etcd killed 3 times among them; all had their leases {longest:?} after its return");
}

#[test]
fn a_follower_that_was_away_reads_again_after_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let runtime = runtime();
    let (store, mut news) = runtime.block_on(async {
        let store = server.store();
        let mut news = store.follow();
        assert!(matches!(news.recv().await, Some(News::Contents { records, .. }) if records.is_empty()));
        (store, news)
    });
    let key = warren_lease::Key::Evicted(peer(1));
    let put = |value: &[u8]| Transaction {
        expect: Vec::new(),
        put: vec![(key, value.to_vec())],
        delete: Vec::new(),
    };
    let revision = runtime.block_on(async {
        let Ok(Outcome::Committed(first)) = store.commit(&put(b"1")).await else { panic!() };
        let Some(News::Changes { revision, changes }) = news.recv().await else { panic!() };
        assert_eq!((revision, &changes), (first, &put(b"1").changes(first)));
        // A transaction that rests on a version that is not the present one.
        let late = Transaction { expect: vec![(key, first + 7)], ..put(b"x") };
        let Ok(Outcome::Conflict(found)) = store.commit(&late).await else { panic!() };
        assert_eq!(found, changes);
        first
    });
    // While the follower's connection is down, the history goes on and is compacted.
    server.kill();
    runtime.block_on(async { while !matches!(news.recv().await, Some(News::Interrupted(_))) {} });
    let elsewhere = server.restart_elsewhere();
    let etcdctl = |arguments: &[&str]| {
        let deadline = Instant::now() + PATIENCE;
        let mut command = Command::new(program("etcdctl").unwrap());
        command.env("ETCDCTL_API", "3").args(["--endpoints", &elsewhere]).args(arguments);
        let mut output = command.output().unwrap();
        while !output.status.success() {
            assert!(Instant::now() < deadline, "{}", String::from_utf8_lossy(&output.stderr));
            output = command.output().unwrap();
        }
    };
    let name = format!("/warren/test/record/{key}");
    for value in ["2", "3", "4"] {
        etcdctl(&["put", &name, value]);
    }
    etcdctl(&["compact", &(revision + 3).to_string()]);
    server.kill();
    server.restart();
    // What the follower missed can no longer be told change by change.
    let told = runtime.block_on(async {
        loop {
            match timeout(PATIENCE, news.recv()).await.unwrap() {
                Some(News::Interrupted(_)) => {}
                other => break other,
            }
        }
    });
    let expected = put(b"4").changes(revision + 3);
    assert_eq!(told, Some(News::Contents { revision: revision + 3, records: expected }));
    runtime.block_on(async {
        let Ok(Outcome::Committed(next)) = store.commit(&put(b"5")).await else { panic!() };
        loop {
            match timeout(PATIENCE, news.recv()).await.unwrap() {
                Some(News::Changes { changes, .. }) if changes.is_empty() => {}
                other => {
                    break assert_eq!(
                        other,
                        Some(News::Changes { revision: next, changes: put(b"5").changes(next) })
                    );
                }
            }
        }
    });
}

/// A gateway that is cut off from etcd goes on for the grace and no longer: somebody may have been evicted meanwhile.
#[test]
fn a_gateway_without_etcd_serves_for_the_grace_and_again_when_etcd_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let runtime = runtime();
    let mut gateway = runtime.block_on(async { Gateway::start(&server, "10.100.0.0/24") });
    runtime.block_on(async {
        enrol(&gateway.leases, enrolment(1, 0)).await.unwrap();
        gateway.has(1).await;
    });
    server.kill();
    let killed = Instant::now();
    runtime.block_on(async {
        sleep(GRACE / 2).await;
        gateway.has(1).await;
        gateway.has(0).await;
    });
    let closed = killed.elapsed();
    assert!(closed < GRACE + Duration::from_secs(2), "closed after {closed:?}");
    server.restart();
    runtime.block_on(gateway.has(1));
}

#[test]
fn gateways_know_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let runtime = runtime();
    runtime.block_on(async {
        let (store, other) = (server.store(), server.store());
        let member = |name: &str| Member { name: name.parse().unwrap(), value: b"gw".to_vec() };
        let first = store.announce(member("gw-a")).await.unwrap();
        let second = other.announce(member("gw-b")).await.unwrap();
        assert_eq!(store.members().await, Ok(vec![member("gw-a"), member("gw-b")]));
        drop(second);
        let gone = async {
            while store.members().await != Ok(vec![member("gw-a")]) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, gone).await.expect("a gateway that ended is known to have ended");
        // A session that etcd has forgotten with its data is begun anew.
        server.kill();
        std::fs::remove_dir_all(folder.path()).unwrap();
        server.restart();
        let back = async {
            while store.members().await != Ok(vec![member("gw-a")]) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, back).await.expect("a lost session is made again");
        drop(first);
    });
}
