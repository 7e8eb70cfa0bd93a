use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32};

use warren_wire::PublicKey;

use super::*;
use crate::time::limits::{REJECT_AFTER_TIME, REKEY_AFTER_TIME};
use crate::transport::{RecvKey, SendKey};
use warren_cipher::Suite;

fn id(slot: u32) -> PeerId {
    PeerId { slot, generation: NonZeroU32::MIN }
}

fn peer(plane: &Plane, slot: u32) -> Arc<Peer> {
    Arc::new(plane.new_peer(id(slot), PublicKey::from_bytes([slot as u8; 32])))
}

fn session(peer: &Arc<Peer>, index: u32) -> Arc<Session> {
    Arc::new(Session {
        recv: RecvKey::new(Suite::RING, &[1; 32]),
        peer: Arc::clone(peer),
        send: Arc::new(SendKey::new(Suite::RING, &[2; 32], 7, Duration::ZERO)),
        index,
        initiator: false,
        confirmed: AtomicBool::new(false),
    })
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn from(port: u16) -> Endpoint {
    Endpoint::new(([192, 0, 2, 1], port).into())
}

#[test]
fn a_session_is_found_by_its_whole_index() {
    let plane = Arc::new(Plane::new());
    let mut reader = plane.reader();
    let index = (5 << PLACE_BITS) | 12_345;
    let session = session(&peer(&plane, 0), index);
    assert!(reader.session(index).is_none());
    plane.put_session(Arc::clone(&session));
    assert!(plane.session(index).is_some() && reader.session(index).is_some());
    let stale = (6 << PLACE_BITS) | 12_345;
    assert!(plane.session(stale).is_none() && reader.session(stale).is_none());
    assert!(plane.session(u32::MAX).is_none());
    plane.remove_session(index);
    assert!(plane.session(index).is_none() && reader.session(index).is_none());
}

#[test]
fn a_session_is_confirmed_once_and_while_it_lives() {
    let plane = Plane::new();
    let peer = peer(&plane, 0);
    let session = session(&peer, 1);
    assert!(!plane.confirm(&session, REJECT_AFTER_TIME).needed());
    assert!(plane.confirm(&session, at(1)).needed());
    assert!(session.is_confirmed());
    assert!(!plane.confirm(&session, at(1)).needed());
    assert_eq!(plane.take_attention(), [id(0)]);
    assert_eq!(peer.take_wants(), CONFIRMED);
}

#[test]
fn a_peer_asks_once_until_it_is_served() {
    let plane = Plane::new();
    let peer = peer(&plane, 3);
    assert!(peer.sent(at(1), 1, 100).needed(), "the traffic timer must start");
    assert!(!peer.sent(at(2), 1, 100).needed());
    assert!(!peer.stage(b"packet").needed(), "it is in the queue already");
    assert_eq!(plane.take_attention(), [id(3)]);
    assert_eq!(peer.take_wants(), TRAFFIC | WANT_SESSION);
    assert!(!peer.sent(at(3), 1, 100).needed(), "the timer runs");
    assert!(peer.stage(b"packet").needed());
    assert_eq!(peer.unanswered(), Some(at(1)));
    assert!(!peer.received(at(4), &from(1), 1, 100).needed());
    assert_eq!((peer.unanswered(), peer.unacknowledged()), (None, Some(at(4))));
    assert!(!peer.sent(at(5), 0, 32).needed());
    assert_eq!(
        (peer.unanswered(), peer.unacknowledged()),
        (None, None),
        "a keepalive answers and asks nothing"
    );
}

#[test]
fn the_age_of_a_session_asks_for_the_next_once() {
    let plane = Plane::new();
    let peer = peer(&plane, 0);
    peer.set_rekey(Some(REKEY_AFTER_TIME), Some(at(165)));
    peer.rearm();
    assert!(!peer.sent(at(119), 1, 1).needed());
    assert!(!peer.received(at(164), &from(1), 1, 1).needed());
    assert!(peer.received(at(165), &from(1), 1, 1).needed());
    assert!(!peer.sent(at(166), 1, 1).needed());
    assert_eq!(peer.take_wants(), REKEY);
}

#[test]
fn staged_packets_are_bounded_and_the_oldest_goes() {
    let plane = Plane::new();
    let peer = peer(&plane, 0);
    for number in 0..STAGED as u32 + 3 {
        let _ = peer.stage(&number.to_le_bytes());
    }
    let staged = peer.take_staged();
    assert_eq!(staged.len(), STAGED);
    assert_eq!(staged[0], 3_u32.to_le_bytes());
    assert_eq!(peer.drops().list(), [(DropReason::StagedOverflow, 3)]);
    assert!(!peer.has_staged());
}

#[test]
fn counters_and_endpoint_follow_the_traffic() {
    let plane = Plane::new();
    let peer = peer(&plane, 0);
    assert_eq!(peer.endpoint(), None);
    let _ = peer.sent(at(1), 3, 300);
    let _ = peer.received(at(1), &from(5), 2, 200);
    let sticky = Endpoint { local: Some((IpAddr::from([192, 0, 2, 9]), 2)), ..from(6) };
    let _ = peer.received(at(1), &sticky, 0, 32);
    assert_eq!(peer.endpoint(), Some(sticky));
    assert_eq!(sticky.without_local(), from(6));
    let traffic = Traffic { tx_packets: 3, tx_bytes: 300, rx_packets: 2, rx_bytes: 232 };
    assert_eq!(peer.traffic(), traffic);
}

#[test]
fn readers_see_new_routes() {
    let plane = Arc::new(Plane::new());
    let mut reader = plane.reader();
    let address: IpAddr = "10.0.0.1".parse().unwrap();
    assert!(reader.route(address).is_none());
    let peers = [peer(&plane, 0), peer(&plane, 1)];
    for (slot, owner) in peers.iter().enumerate() {
        let mut table = AllowedIps::new();
        table.insert("10.0.0.0/8".parse().unwrap(), owner.id());
        plane.publish(table, peers.iter().cloned().map(Some).collect());
        assert_eq!(reader.route(address).map(|peer| peer.id()), Some(id(slot as u32)));
        assert_eq!(plane.route(address).map(|peer| peer.id()), Some(id(slot as u32)));
        for peer in &peers {
            assert_eq!(peer.permits(address), peer.id() == owner.id());
            assert_eq!(reader.permits(peer, address), peer.permits(address));
        }
    }
}

/// Threads read while sessions come and go: an index never leads to another session.
#[test]
fn sessions_change_under_readers() {
    let plane = Arc::new(Plane::new());
    let peer = peer(&plane, 0);
    let newest = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut reader = plane.reader();
                while newest.load(Ordering::Relaxed) < 2000 {
                    let index = newest.load(Ordering::Relaxed) << PLACE_BITS | 7;
                    assert!(reader.session(index).is_none_or(|session| session.index() == index));
                }
            });
        }
        for generation in 1..=2000_u32 {
            let index = generation << PLACE_BITS | 7;
            plane.put_session(session(&peer, index));
            newest.store(generation, Ordering::Relaxed);
            if generation % 3 == 0 {
                plane.remove_session(index);
            }
        }
    });
}

/// A pod at another gateway: its packets go there and come from there, until a message of its own arrives.
#[test]
fn a_peer_is_reached_through_another_one_until_it_comes() {
    let plane = Arc::new(Plane::new());
    let mut reader = plane.reader();
    let [one, two, gateway] = [0, 1, 2].map(|slot| peer(&plane, slot));
    let [here, there, nobody] =
        ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|text| text.parse::<IpAddr>().unwrap());
    let mut table = AllowedIps::new();
    table.insert(ipnet::IpNet::from(here), one.id());
    table.insert(ipnet::IpNet::from(there), two.id());
    plane.publish(table, [&one, &two, &gateway].map(|peer| Some(Arc::clone(peer))).to_vec());
    let mut to = |src: IpAddr, dst: IpAddr| reader.route_from(|| Some(src), dst).map(|peer| peer.id());
    assert_eq!(to(here, there), Some(two.id()));
    two.set_via(Some(gateway.id()));
    assert_eq!(to(here, there), Some(gateway.id()));
    assert_eq!(to(there, here), Some(one.id()));
    assert_eq!(to(here, nobody), None);
    // Both are elsewhere: it came from another gateway, which is to know better.
    one.set_via(Some(gateway.id()));
    assert_eq!(to(here, there), None);
    one.set_via(None);
    // A gateway that is no peer any more.
    two.set_via(Some(PeerId { slot: 2, generation: NonZeroU32::MAX }));
    assert_eq!(to(here, there), Some(two.id()));
    two.set_via(Some(gateway.id()));
    assert!(
        reader.permits(&gateway, there) && !reader.permits(&gateway, here) && reader.permits(&two, there)
    );
    assert!(two.arrived().needed() && !two.arrived().needed());
    assert_eq!(two.via(), None);
    assert!(!reader.permits(&gateway, there) && reader.permits(&two, there));
    assert_eq!(reader.route_from(|| Some(here), there).map(|peer| peer.id()), Some(two.id()));
}
