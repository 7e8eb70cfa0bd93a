use std::time::Duration;

use proptest::prelude::*;
use warren_wire::{PresharedKey, PrivateKey};

use super::known::SharedKnown;
use super::load::{Load, SourceLimiter};
use super::mac::{CookieJar, MacKeys};
use super::message::{INITIATION, RESPONSE, blank};
use super::noise::{Identity, read_response, respond};
use super::random::Rng;
use super::stamp::{Stamp, Stamps};

fn identity(byte: u8) -> Identity {
    let known = SharedKnown::default();
    for peer in 1..4 {
        known.lock().insert(PrivateKey::from_random([peer; 32]).public(), peer.into());
    }
    Identity::new(PrivateKey::from_random([byte; 32]), known)
}

#[test]
fn a_stranger_is_refused() {
    let (stranger, b) = (identity(4), identity(2));
    let mut first = blank(1, 7, INITIATION);
    stranger.initiate(Rng::new([3; 32]), &b.public(), Stamp::new(Duration::ZERO), &mut first).unwrap();
    assert!(b.read_initiation(Rng::new([4; 32]), &first).is_err());
}

#[test]
fn both_ends_derive_the_same_keys() {
    let (a, b) = (identity(1), identity(2));
    let psk = PresharedKey::from_bytes([9; 32]);
    for psk in [None, Some(&psk)] {
        let mut first = blank(1, 7, INITIATION);
        let stamp = Stamp::new(Duration::from_secs(5));
        let mut state = a.initiate(Rng::new([3; 32]), &b.public(), stamp, &mut first).unwrap();
        let (answer, who, when) = b.read_initiation(Rng::new([4; 32]), &first).unwrap();
        assert_eq!((who, when), (a.public(), stamp));
        let mut second = blank(2, 8, RESPONSE);
        let theirs = respond(answer, psk, &mut second).unwrap();
        let mut forged = second.clone();
        forged[20] ^= 1;
        assert!(read_response(&mut state, psk, &forged).is_err());
        let ours = read_response(&mut state, psk, &second).unwrap();
        assert_eq!(ours.initiator, theirs.initiator);
        assert_eq!(ours.responder, theirs.responder);
        assert_ne!(ours.initiator, ours.responder);
    }
}

#[test]
fn a_low_order_point_is_refused() {
    let b = identity(2);
    let mut first = blank(1, 7, INITIATION);
    identity(1).initiate(Rng::new([3; 32]), &b.public(), Stamp::new(Duration::ZERO), &mut first).unwrap();
    first[8..40].fill(0);
    assert!(b.read_initiation(Rng::new([4; 32]), &first).is_err());
}

#[test]
fn cookies_are_for_one_address_and_some_minutes() {
    let own = MacKeys::new(&identity(2).public());
    let (mut jar, mut rng) = (CookieJar::new(), Rng::new([1; 32]));
    let from = "192.0.2.1:5".parse().unwrap();
    let mut message = blank(1, 77, INITIATION);
    let mac1 = own.seal(&mut message, None);
    assert!(own.verify_mac1(&message));
    assert!(!jar.verify_mac2(&mut rng, Duration::ZERO, from, &message));
    let reply = jar.reply(&mut rng, Duration::ZERO, from, &message, &own).unwrap();
    assert_eq!(&reply[4..8], &77_u32.to_le_bytes());
    assert_eq!(own.open_cookie(&reply, &[0; 16]), None);
    let cookie = own.open_cookie(&reply, &mac1).unwrap();
    own.seal(&mut message, Some(&cookie));
    let at = |seconds| Duration::from_secs(seconds);
    assert!(jar.verify_mac2(&mut rng, at(1), from, &message));
    assert!(!jar.verify_mac2(&mut rng, at(1), "192.0.2.1:6".parse().unwrap(), &message));
    assert!(jar.verify_mac2(&mut rng, at(121), from, &message));
    assert!(!jar.verify_mac2(&mut rng, at(242), from, &message));
}

#[test]
fn load_lingers_and_sources_are_limited() {
    let mut load = Load::new(10);
    let at = Duration::from_millis;
    assert!((0..10).all(|_| !load.offered(at(0), 1)));
    assert!(load.offered(at(500), 1));
    assert!(load.is_under(at(1499)));
    assert!(!load.is_under(at(1500)));
    let mut limiter = SourceLimiter::new([1; 32]);
    let from = "[2001:db8::1]:9".parse().unwrap();
    let other = "[2001:db8:1::1]:9".parse().unwrap();
    assert_eq!((0..100).filter(|_| limiter.allow(at(0), from)).count(), 5);
    assert_eq!((0..100).filter(|i| limiter.allow(at(10 * i), from)).count(), 19);
    assert!(limiter.allow(at(1000), other));
}

proptest! {
    #[test]
    fn stamps_increase_whatever_the_clock_does(walls in prop::collection::vec((0_u64..100_000_000_000, 0_usize..3), 1..100)) {
        let mut stamps = Stamps::default();
        let mut last = [None; 3];
        for (wall, peer) in walls {
            let stamp = stamps.next(Duration::from_nanos(wall), last[peer]);
            prop_assert!(last[peer].is_none_or(|last| last < stamp));
            last[peer] = Some(stamp);
        }
    }
}
