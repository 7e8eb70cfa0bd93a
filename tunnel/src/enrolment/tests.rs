//! Requests without a network: what is refused, and many at once.

mod outage;
mod report;
mod tls;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use warren_lease::{Peer, Settings};
use warren_store::Embedded;
use warren_wire::enrolment::{
    ChannelBinding, ENROL_PATH, Enrol, HostInfo, MEDIA_TYPE, Problem, Proof, Purpose, RELEASE_PATH, Version,
};
use warren_wire::gateway::GatewayConfig;
use warren_wire::token::{Claims, SigningKey, TokenId, Validity};
use warren_wire::{PrivateKey, Token, UnixTime};

use super::leases::{LeaseService, PeerEvent};
use super::now;
use super::server::{Enrolment, Request, Response};
use crate::runtime::supervise::Supervisor;

const REMOTE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4000);
const BINDING: ChannelBinding = ChannelBinding([9; 32]);

fn own_key() -> PrivateKey {
    PrivateKey::from_random([200; 32])
}

fn signer() -> SigningKey {
    SigningKey::from_random([100; 32])
}

fn pod(number: u32) -> PrivateKey {
    let mut bytes = [7; 32];
    // Not the first byte, of which X25519 ignores three bits.
    bytes[8..12].copy_from_slice(&number.to_le_bytes());
    PrivateKey::from_random(bytes)
}

fn config(pool: &str, limits: &str) -> GatewayConfig {
    let text = format!(
        r#"
fabric = "llm-training"
name = "gw-a"
[listen]
tls = "127.0.0.1:443"
[keys]
private_key_file = "k"
certificate_file = "c"
certificate_key_file = "ck"
token_keys = ["{}"]
[pool]
prefixes = ["{pool}"]
[[gateways]]
name = "gw-a"
key = "{}"
udp = "192.0.2.1:51820"
tls = "192.0.2.1:443"
pins = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.0.0.0/16"]
[limits]
requests_per_second = 1000000
requests_per_minute_and_source = 1000000
{limits}
"#,
        signer().verifying_key(),
        own_key().public()
    );
    GatewayConfig::parse(&text).unwrap()
}

struct Bench {
    enrolment: Arc<Enrolment>,
    leases: LeaseService,
    peers: mpsc::UnboundedReceiver<PeerEvent>,
    config: GatewayConfig,
}

fn start(path: &Path, config: GatewayConfig) -> Bench {
    let store = Arc::new(Embedded::open(path).unwrap());
    let settings = Settings {
        prefixes: config.pool.prefixes.clone(),
        reserved: config.pool.reserved.clone(),
        ttl: config.lease.ttl.get(),
        quarantine: config.lease.quarantine.get(),
        max: config.lease.max.get(),
        per_source: config.limits.leases_per_source,
        shared: None,
    };
    let (sender, peers) = mpsc::unbounded_channel();
    let supervisor = Supervisor::default();
    let runtime = tokio::runtime::Handle::current();
    let leases = LeaseService::start(settings, store, sender, &runtime, &supervisor).unwrap();
    let enrolment = Arc::new(Enrolment::new(&config, own_key(), leases.clone(), Arc::new(|_| None)));
    Bench { enrolment, leases, peers, config }
}

impl Bench {
    fn claims(&self) -> Claims {
        let validity = Validity::new(now(), now().plus(Duration::from_secs(3600))).unwrap();
        Claims {
            id: TokenId::from_random([1; 16]),
            validity,
            fabric: self.config.fabric.clone(),
            group: "gpu".parse().unwrap(),
            uses: None,
            max_lease: None,
            gateways: self.config.gateways.clone(),
        }
    }

    fn token(&self) -> Token {
        self.claims().sign(&signer()).unwrap()
    }

    async fn post(&self, path: &str, body: &[u8]) -> Response {
        let request = Request {
            remote: REMOTE,
            binding: BINDING,
            method: "POST",
            path,
            content_type: MEDIA_TYPE,
            body,
        };
        self.enrolment.handle(request).await
    }

    async fn enrol(&self, key: &PrivateKey, token: &Token) -> Response {
        self.post(ENROL_PATH, &body(key, token)).await
    }
}

fn body(key: &PrivateKey, token: &Token) -> Vec<u8> {
    let proof = Proof::make(Purpose::Enrol, key, &own_key().public(), &BINDING).unwrap();
    let host = HostInfo::default();
    let request = Enrol { version: Version, token: token.clone(), public_key: key.public(), proof, host };
    request.to_json().unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A request with an edit, and what comes of it.
#[test]
fn what_is_refused_and_that_nothing_changes_by_it() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut bench = start(&folder.path().join("leases"), config("10.100.0.0/29", ""));
        while bench.enrol(&pod(0), &bench.token()).await.status == 503 {
            tokio::task::yield_now().await;
        }
        let good = body(&pod(1), &bench.token());
        let with = |edit: &dyn Fn(&mut Claims)| {
            let mut claims = bench.claims();
            edit(&mut claims);
            body(&pod(1), &claims.sign(&signer()).unwrap())
        };
        let past = |from, to| Validity::new(UnixTime::from_secs(from), UnixTime::from_secs(to)).unwrap();
        let soon = now().plus(Duration::from_secs(3600));
        let later = Validity::new(soon, soon.plus(Duration::from_secs(60))).unwrap();
        let once = |claims: &mut Claims| {
            claims.id = TokenId::from_random([2; 16]);
            claims.uses = NonZeroU32::new(1);
        };
        let mut other_gateway = bench.config.gateways.as_slice().to_vec();
        other_gateway[0].key = pod(50).public();
        let other_gateway: warren_wire::token::GatewaySet = other_gateway.try_into().unwrap();
        let forged = body(&pod(1), &bench.claims().sign(&SigningKey::from_random([101; 32])).unwrap());
        let mut replayed: Enrol = Enrol::from_json(&good).unwrap();
        replayed.proof =
            Proof::make(Purpose::Enrol, &pod(1), &own_key().public(), &ChannelBinding([8; 32])).unwrap();
        let mut stolen: Enrol = Enrol::from_json(&good).unwrap();
        stolen.public_key = pod(2).public();
        // A token for one peer, used by another; a revoked one; an evicted peer.
        let mut claims = bench.claims();
        once(&mut claims);
        assert_eq!(bench.enrol(&pod(3), &claims.sign(&signer()).unwrap()).await.status, 200);
        let revoked = TokenId::from_random([3; 16]);
        bench.leases.revoke(revoked, soon, true).await.unwrap();
        bench.leases.evict(pod(4).public(), soon).await.unwrap();

        let cases: Vec<(&str, &str, Vec<u8>)> = vec![
            ("expired", ENROL_PATH, with(&|claims| claims.validity = past(1_700_000_000, 1_700_000_060))),
            ("not yet valid", ENROL_PATH, with(&|claims| claims.validity = later)),
            ("forged", ENROL_PATH, forged),
            ("another fabric", ENROL_PATH, with(&|claims| claims.fabric = "other".parse().unwrap())),
            ("another gateway", ENROL_PATH, with(&|claims| claims.gateways = other_gateway.clone())),
            ("unknown group", ENROL_PATH, with(&|claims| claims.group = "admins".parse().unwrap())),
            ("over-used", ENROL_PATH, with(&once)),
            ("revoked", ENROL_PATH, with(&|claims| claims.id = revoked)),
            ("evicted", ENROL_PATH, body(&pod(4), &bench.token())),
            ("replayed in another connection", ENROL_PATH, replayed.to_json().unwrap()),
            ("another's key", ENROL_PATH, stolen.to_json().unwrap()),
            ("the gateway's own key", ENROL_PATH, body(&own_key(), &bench.token())),
            ("not JSON", ENROL_PATH, b"hello".to_vec()),
            ("oversize", ENROL_PATH, vec![b' '; 20_000]),
            ("released without a lease", RELEASE_PATH, release(&pod(60))),
            ("another path", "/v1/admin", good.clone()),
        ];
        let before = bench.leases.leases().await.unwrap().0;
        let mut out = String::new();
        for (name, path, body) in cases {
            let response = bench.post(path, &body).await;
            let problem = Problem::from_json(&response.body).expect("a problem");
            assert_eq!(response.status, problem.kind.status());
            assert_eq!(response.retry_after, problem.retry_after);
            // The token is early by an hour, of which a minute is tolerated.
            let early = response.retry_after.is_some_and(|seconds| (3500..=3540).contains(&seconds));
            assert_eq!(early, name == "not yet valid", "{name}: {:?}", response.retry_after);
            out += &format!("{name}: {} {}: {}\n", response.status, problem.kind, problem.detail);
        }
        let get = Request {
            remote: REMOTE,
            binding: BINDING,
            method: "GET",
            path: ENROL_PATH,
            content_type: "",
            body: b"",
        };
        let get = bench.enrolment.handle(get).await;
        let form = Request {
            remote: REMOTE,
            binding: BINDING,
            method: "POST",
            path: ENROL_PATH,
            content_type: "text/plain",
            body: &good,
        };
        let form = bench.enrolment.handle(form).await;
        for (name, response) in [("GET", get), ("plain text", form)] {
            out += &format!("{name}: {}\n", Problem::from_json(&response.body).unwrap());
        }
        assert_eq!(bench.leases.leases().await.unwrap().0, before, "something has changed");
        // The pool of six: two are in it.
        for number in 10..14 {
            assert_eq!(bench.enrol(&pod(number), &bench.token()).await.status, 200);
        }
        let full = Problem::from_json(&bench.enrol(&pod(14), &bench.token()).await.body).unwrap();
        assert_eq!(full.retry_after, Some(30), "nothing is in quarantine");
        out += &format!("pool: {full}\n");
        bench.enrolment.set_draining(true);
        let draining = Problem::from_json(&bench.enrol(&pod(15), &bench.token()).await.body).unwrap();
        assert_eq!(draining.retry_after, Some(10));
        out += &format!("draining: {draining}\n");
        let out = out.replace(&soon.to_string(), "SOON");
        insta::assert_snapshot!(out);

        let mut installed = 0;
        while let Ok(event) = bench.peers.try_recv() {
            assert!(matches!(event, PeerEvent::Install(Peer { .. })));
            installed += 1;
        }
        assert_eq!(installed, 6);
    });
}

fn release(key: &PrivateKey) -> Vec<u8> {
    let proof = Proof::make(Purpose::Release, key, &own_key().public(), &BINDING).unwrap();
    warren_wire::enrolment::Release { version: Version, public_key: key.public(), proof }.to_json().unwrap()
}

#[test]
fn requests_of_one_source_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut settings = config("10.100.0.0/24", "");
        settings.limits.requests_per_minute_and_source = 3;
        let bench = start(&folder.path().join("leases"), settings);
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(bench.post(ENROL_PATH, b"{").await);
        }
        let refused: Vec<u16> = statuses.iter().map(|response| response.status).collect();
        assert_eq!(refused, [400, 400, 400, 429, 429]);
        assert_eq!(statuses[4].retry_after, Some(20), "three a minute");
    });
}

/// One address took 253 of 254 addresses of a pool in 18 s, and an evicted pod was back at once with another key.
#[test]
fn one_source_does_not_empty_the_pool_and_an_evicted_pod_stays_out() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let bench = start(&folder.path().join("leases"), config("10.100.0.0/24", ""));
        while bench.enrol(&pod(0), &bench.token()).await.status == 503 {
            tokio::task::yield_now().await;
        }
        let mut granted = 1;
        let mut last = None;
        for number in 1..254 {
            let response = bench.enrol(&pod(number), &bench.token()).await;
            granted += u32::from(response.status == 200);
            last = Some(response);
        }
        assert_eq!(granted, 254 / 4, "a quarter of the pool");
        let last = last.unwrap();
        assert_eq!((last.status, last.retry_after), (429, Some(30)));
        let problem = |response: &Response| Problem::from_json(&response.body).unwrap();
        let detail = problem(&last).detail;
        assert_eq!(
            detail,
            "the source 127.0.0.1 has 63 leases, the most for one source; wait, or raise leases_per_source"
        );
        // Who has a lease is not affected.
        assert_eq!(bench.enrol(&pod(0), &bench.token()).await.status, 200);

        bench.leases.release(pod(1).public()).await.unwrap();
        bench.leases.evict(pod(2).public(), UnixTime::MAX).await.unwrap();
        let body = body(&pod(255), &bench.token());
        let again = bench
            .enrolment
            .handle(Request {
                remote: "198.51.100.1:1000".parse().unwrap(),
                binding: BINDING,
                method: "POST",
                path: ENROL_PATH,
                content_type: MEDIA_TYPE,
                body: &body,
            })
            .await;
        assert_eq!(problem(&again).kind.slug(), "evicted", "{}", problem(&again).detail);
        assert_eq!(bench.enrol(&pod(3), &bench.token()).await.status, 200, "another pod of the token");
    });
}

/// A gateway that was away for a moment makes its pods enrol again, long after their tokens have expired.
#[test]
fn the_holder_of_a_lease_may_enrol_again_with_a_token_that_is_over() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut bench = start(&folder.path().join("leases"), config("10.100.0.0/24", ""));
        let mut claims = bench.claims();
        claims.validity = Validity::new(now(), now().plus(Duration::from_secs(2))).unwrap();
        let short = claims.sign(&signer()).unwrap();
        while bench.enrol(&pod(1), &short).await.status == 503 {
            tokio::task::yield_now().await;
        }
        let problem = |response: Response| Problem::from_json(&response.body).unwrap().kind.slug();
        tokio::time::sleep(Duration::from_millis(2100)).await;
        assert_eq!(bench.enrol(&pod(1), &short).await.status, 200);
        assert_eq!(problem(bench.enrol(&pod(2), &short).await), "token-expired");
        // The same with a key that is retired.
        let long = bench.token();
        assert_eq!(bench.enrol(&pod(3), &long).await.status, 200);
        let mut retired = bench.config.clone();
        retired.keys.retired_token_keys = std::mem::take(&mut retired.keys.token_keys);
        bench.enrolment = Arc::new(bench.enrolment.with_config(&retired));
        assert_eq!(bench.enrol(&pod(3), &long).await.status, 200);
        assert_eq!(problem(bench.enrol(&pod(4), &long).await), "token-forged");
        bench.leases.release(pod(3).public()).await.unwrap();
        assert_eq!(problem(bench.enrol(&pod(3), &long).await), "token-forged");
    });
}

/// A pod that kept its key but not its time learns after which stamp the gateway accepts it.
#[test]
fn an_enrolment_says_from_when_on_handshakes_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut bench = start(&folder.path().join("leases"), config("10.100.0.0/24", ""));
        let future = now().plus(Duration::from_secs(7200));
        for (last, floor) in
            [(None, None), (Some(UnixTime::from_secs(1)), None), (Some(future), Some(future))]
        {
            let before = now();
            let enrolment =
                Enrolment::new(&bench.config, own_key(), bench.leases.clone(), Arc::new(move |_| last));
            bench.enrolment = Arc::new(enrolment);
            let mut response = bench.enrol(&pod(1), &bench.token()).await;
            while response.status == 503 {
                response = bench.enrol(&pod(1), &bench.token()).await;
            }
            let told =
                warren_wire::enrolment::Answer::from_json(&response.body).unwrap().handshake_floor.unwrap();
            match floor {
                Some(floor) => assert_eq!(told, floor.plus(Duration::from_secs(1))),
                None => assert!((before..=now()).contains(&told), "{told}"),
            }
        }
    });
}

/// Whoever reads its file again goes on with what it knows of those who ask.
#[test]
fn a_reload_lets_nobody_in_sooner() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut settings = config("10.100.0.0/24", "");
        let mut bench = start(&folder.path().join("leases"), settings.clone());
        let mut claims = bench.claims();
        claims.uses = NonZeroU32::new(1);
        let once = claims.sign(&signer()).unwrap();
        while bench.enrol(&pod(1), &once).await.status == 503 {
            tokio::task::yield_now().await;
        }
        bench.leases.revoke(TokenId::from_random([3; 16]), UnixTime::MAX, false).await.unwrap();
        bench.leases.evict(pod(4).public(), UnixTime::MAX).await.unwrap();
        claims.id = TokenId::from_random([3; 16]);
        let revoked = claims.sign(&signer()).unwrap();

        settings.dns.servers = vec!["10.0.0.2".parse().unwrap()];
        bench.enrolment = Arc::new(bench.enrolment.with_config(&settings));
        let problem = |response: Response| Problem::from_json(&response.body).unwrap().kind.slug();
        assert_eq!(problem(bench.enrol(&pod(2), &once).await), "token-used-up");
        assert_eq!(problem(bench.enrol(&pod(2), &revoked).await), "token-revoked");
        assert_eq!(problem(bench.enrol(&pod(4), &bench.token()).await), "evicted");

        // The minute's requests are used up, also for other limits and for those of before.
        settings.limits.requests_per_minute_and_source = 6;
        bench.enrolment = Arc::new(bench.enrolment.with_config(&settings));
        while bench.post(ENROL_PATH, b"{").await.status != 429 {}
        for per_minute in [6, 3, 6] {
            settings.limits.requests_per_minute_and_source = per_minute;
            bench.enrolment = Arc::new(bench.enrolment.with_config(&settings));
            let answered = bench.post(ENROL_PATH, b"{").await;
            assert_eq!(answered.status, 429, "{per_minute} a minute");
        }

        let before = Arc::clone(&bench.enrolment);
        settings.limits.requests_per_minute_and_source = 1_000_000;
        bench.enrolment = Arc::new(before.with_config(&settings));
        while bench.post(ENROL_PATH, b"{").await.status == 429 {
            tokio::task::yield_now().await;
        }
        // Who drains while the file is read drains both.
        before.set_draining(true);
        assert_eq!(problem(bench.enrol(&pod(5), &bench.token()).await), "draining");
    });
}

/// Resident memory of this process in MB.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn ten_thousand_pods_join_and_join_again() {
    const PODS: u32 = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases");
    let mut granted = vec![Vec::new(); 2];
    for (round, addresses) in granted.iter_mut().enumerate() {
        let runtime = runtime();
        runtime.block_on(async {
            let bench = Arc::new(start(&path, config("10.100.0.0/16", "")));
            let token = bench.token();
            let bodies: Vec<Vec<u8>> = (0..PODS).map(|number| body(&pod(number), &token)).collect();
            while bench.post(ENROL_PATH, &bodies[0]).await.status == 503 {
                tokio::task::yield_now().await;
            }
            let (before, started) = (memory(), Instant::now());
            let mut tasks = Vec::new();
            for chunk in bodies.chunks(PODS as usize / 100) {
                let (bench, chunk) = (Arc::clone(&bench), chunk.to_vec());
                tasks.push(tokio::spawn(async move {
                    let mut addresses = Vec::new();
                    for body in chunk {
                        let response = bench.post(ENROL_PATH, &body).await;
                        assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
                        addresses.push(
                            warren_wire::enrolment::Answer::from_json(&response.body).unwrap().addresses,
                        );
                    }
                    addresses
                }));
            }
            for task in tasks {
                addresses.extend(task.await.unwrap());
            }
            let seconds = started.elapsed().as_secs_f64();
            println!(
                "round {round}: {PODS} enrolments in {seconds:.2} s, {:.0} a second; {} -> {} MB, file {} MB",
                f64::from(PODS) / seconds,
                before,
                memory(),
                std::fs::metadata(&path).unwrap().len() >> 20,
            );
            let (leases, statistics) = bench.leases.leases().await.unwrap();
            assert_eq!((leases.len(), statistics.live), (PODS as usize, u64::from(PODS)));
        });
    }
    let distinct: std::collections::BTreeSet<_> = granted[0].iter().collect();
    assert_eq!(distinct.len(), PODS as usize, "an address twice");
    assert_eq!(granted[0], granted[1], "after a restart of the gateway each has its own again");
}
