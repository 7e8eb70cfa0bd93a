//! What the protocol costs: `cargo bench -p warren-proto`.

use std::cell::RefCell;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use warren_cipher::Suite;
use warren_proto::Now;
use warren_proto::allowed::AllowedIps;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::Endpoint;
use warren_proto::transport::{DATA_HEADER, RecvKey, SendKey, TAG};
use warren_wire::{PrivateKey, PublicKey};

const PACKET: usize = 1420;

fn transport(c: &mut Criterion) {
    let mut group = c.benchmark_group("transport");
    group.throughput(Throughput::Bytes(PACKET as u64));
    let send = SendKey::new(Suite::RING, &[1; 32], 1, Duration::ZERO);
    let mut packet = vec![0; DATA_HEADER + PACKET.next_multiple_of(16) + TAG];
    group.bench_function("seal 1420", |b| {
        b.iter(|| send.reserve(1).inspect(|counter| send.seal(*counter, black_box(&mut packet))));
    });
    let recv = RecvKey::new(Suite::RING, &[1; 32]);
    group.bench_function("open 1420", |b| {
        b.iter_batched_ref(
            || {
                if let Some(counter) = send.reserve(1) {
                    send.seal(counter, &mut packet);
                }
                packet.clone()
            },
            |packet| black_box(recv.open(packet).map(|plain| plain.len())),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn allowed(c: &mut Criterion) {
    let mut group = c.benchmark_group("allowed");
    for peers in [10_u32, 1000, 10_000] {
        let mut table = AllowedIps::new();
        for i in 0..peers {
            table.insert(v4(i).into(), i);
            table.insert(v6(i).into(), i);
        }
        table.optimise();
        // An order that no cache foresees.
        let order: Vec<u32> = (0..4096_u32).map(|i| i.wrapping_mul(2_654_435_761) % peers).collect();
        let (fours, sixes): (Vec<_>, Vec<_>) = order.iter().map(|i| (v4(*i), v6(*i))).unzip();
        for (name, addresses) in [("v4", fours), ("v6", sixes)] {
            let mut at = 0;
            group.bench_function(format!("{name} {peers}"), |b| {
                b.iter(|| {
                    at = (at + 1) % addresses.len();
                    table.lookup(black_box(addresses[at]))
                });
            });
        }
    }
    group.finish();
}

fn v4(i: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + i))
}

fn v6(i: u32) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from(0xfd00_u128 << 112 | u128::from(i)))
}

/// What a packet of the data path looks up, through a thread's reader.
fn reader(c: &mut Criterion) {
    let mut group = c.benchmark_group("reader");
    let mut engine = Engine::new(EngineConfig::new(PrivateKey::from_random([1; 32])), [1; 32]);
    let configs = (0..10_000_u32).map(|i| {
        let mut key = [3; 32];
        key[..4].copy_from_slice(&i.to_be_bytes());
        PeerConfig { allowed_ips: vec![v4(i).into()], ..PeerConfig::new(PublicKey::from_bytes(key)) }
    });
    engine.upsert_peers(Now::default(), configs);
    let mut reader = engine.plane().reader();
    group.bench_function("route, one flow", |b| {
        b.iter(|| reader.route(black_box(v4(5))).map(|peer| peer.id()));
    });
    let mut i = 0_u32;
    group.bench_function("route, another peer each time", |b| {
        b.iter(|| {
            i = i.wrapping_add(2_654_435_761);
            reader.route(v4(i % 10_000)).map(|peer| peer.id())
        });
    });
    group.finish();
}

struct Ends {
    a: Engine,
    b: Engine,
    time: Duration,
}

impl Ends {
    fn new() -> Self {
        let key = |byte| PrivateKey::from_random([byte; 32]);
        let engine = |byte: u8| {
            Engine::new(EngineConfig { load_threshold: u32::MAX, ..EngineConfig::new(key(byte)) }, [byte; 32])
        };
        let (mut a, mut b) = (engine(1), engine(2));
        for (engine, other) in [(&mut a, 2), (&mut b, 1)] {
            let config = PeerConfig { endpoint: Some(at().remote), ..PeerConfig::new(key(other).public()) };
            engine.upsert_peer(Now::default(), config);
        }
        Self { a, b, time: Duration::ZERO }
    }

    fn initiation(&mut self) -> (Now, Vec<u8>) {
        // Later than any session, so that each is a new handshake.
        self.time += Duration::from_secs(200);
        let now = Now::new(self.time, self.time);
        self.a.handle_timeout(now);
        self.b.handle_timeout(now);
        let peers = self.a.peers(now);
        self.a.want_session(now, peers[0].id);
        (now, message(&mut self.a))
    }
}

fn at() -> Endpoint {
    Endpoint::new(([192, 0, 2, 1], 51820).into())
}

fn message(engine: &mut Engine) -> Vec<u8> {
    let mut message = Vec::new();
    while let Some(output) = engine.poll_output() {
        if let Output::Transmit { bytes, .. } = output {
            message = bytes;
        }
    }
    message
}

fn handshake(c: &mut Criterion) {
    let mut group = c.benchmark_group("handshake");
    let mut ends = Ends::new();
    group.bench_function("both ends", |b| {
        b.iter(|| {
            let (now, mut first) = ends.initiation();
            ends.b.handle(now, at(), &mut first);
            let mut second = message(&mut ends.b);
            ends.a.handle(now, at(), &mut second);
            black_box(message(&mut ends.a))
        });
    });
    let shared = RefCell::new(ends);
    group.bench_function("responder", |b| {
        b.iter_batched(
            || shared.borrow_mut().initiation(),
            |(now, mut first)| {
                let b = &mut shared.borrow_mut().b;
                b.handle(now, at(), &mut first);
                message(b)
            },
            BatchSize::PerIteration,
        );
    });
    let mut ends = shared.into_inner();
    let (now, first) = ends.initiation();
    let mut forged = first.clone();
    forged[140] ^= 1;
    forged[120] ^= 1;
    group.bench_function("reject a forged initiation, bad mac1", |b| {
        b.iter(|| ends.b.handle(now, at(), black_box(&mut forged)));
    });
    let key = PrivateKey::from_random([2; 32]);
    let mut loaded = Engine::new(EngineConfig { load_threshold: 0, ..EngineConfig::new(key) }, [5; 32]);
    let mut first = first;
    group.bench_function("under load: cookie reply", |b| {
        b.iter(|| {
            loaded.handle(now, at(), black_box(&mut first));
            loaded.poll_output()
        });
    });
    ends.b.handle(now, at(), &mut first.clone());
    group.bench_function("reject a replayed initiation", |b| {
        b.iter(|| ends.b.handle(now, at(), black_box(&mut first)));
    });
    group.finish();
}

criterion_group!(benches, transport, allowed, reader, handshake);
criterion_main!(benches);
