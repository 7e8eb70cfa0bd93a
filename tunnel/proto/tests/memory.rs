//! What a configured peer costs, by a counting allocator.
#![expect(unsafe_code, reason = "an allocator that counts cannot be had otherwise")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use warren_proto::Now;
use warren_proto::engine::{Engine, EngineConfig, PeerConfig};
use warren_wire::{PrivateKey, PublicKey};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PEERS: u32 = 10_000;
/// What an idle peer may cost, its route included.
const BUDGET: usize = 1280;

/// One test, since others would be counted too.
#[test]
fn idle_peers_are_small_and_look_ups_allocate_nothing() {
    let private = PrivateKey::from_random([1; 32]);
    let mut engine = Engine::new(EngineConfig::new(private), [1; 32]);
    let now = Now::new(Duration::from_secs(1), Duration::from_secs(1));
    let mut warm = PeerConfig::new(PublicKey::from_bytes([2; 32]));
    warm.allowed_ips = vec!["192.0.2.0/24".parse().unwrap()];
    engine.upsert_peer(now, warm);
    let before = LIVE.load(Ordering::Relaxed);
    let configs = (0..PEERS).map(|i| {
        let mut key = [3; 32];
        key[..4].copy_from_slice(&i.to_be_bytes());
        PeerConfig {
            endpoint: Some(([198, 51, 100, 1], 1 + (i % 60_000) as u16).into()),
            allowed_ips: vec![IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + i)).into()],
            ..PeerConfig::new(PublicKey::from_bytes(key))
        }
    });
    let ids = engine.upsert_peers(now, configs);
    let each =
        (LIVE.load(Ordering::Relaxed) - before - ids.capacity() * size_of_val(&ids[0])) / PEERS as usize;
    println!("{each} bytes for each of {PEERS} idle peers");
    assert!(each <= BUDGET, "{each} bytes");

    let plane = engine.plane();
    let mut reader = plane.reader();
    let calls = CALLS.load(Ordering::Relaxed);
    for i in 0..PEERS {
        let address = IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + i));
        let id = reader.route(address).map(|peer| peer.id());
        assert_eq!(id, Some(ids[i as usize]));
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), calls, "a look-up allocates");
    assert_eq!(engine.poll_timeout(), None, "idle peers have no timers");
}
