use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const KEY: [u8; 32] = [7; 32];

fn sealed(key: &SendKey, plain: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; DATA_HEADER + plain.len() + TAG];
    packet[DATA_HEADER..DATA_HEADER + plain.len()].copy_from_slice(plain);
    key.seal(key.reserve(1).unwrap(), &mut packet);
    packet
}

#[test]
fn opens_what_was_sealed_once() {
    let send = SendKey::new(Suite::RING, &KEY, 9, Duration::ZERO);
    let recv = RecvKey::new(Suite::RING, &KEY);
    let mut packet = sealed(&send, b"sixteen bytes ok");
    assert_eq!(data_receiver(&packet), Some(9));
    assert_eq!(recv.open(&mut packet.clone()).unwrap(), b"sixteen bytes ok");
    assert_eq!(recv.open(&mut packet).unwrap_err(), Reject::Replay);
    let mut keepalive = sealed(&send, b"");
    assert_eq!(keepalive.len(), 32);
    assert!(recv.open(&mut keepalive).unwrap().is_empty());
}

#[test]
fn a_forged_message_does_not_move_the_window() {
    let recv = RecvKey::new(Suite::RING, &KEY);
    let mut forged =
        sealed(&SendKey::with_counter(Suite::RING, &[8; 32], 9, Duration::ZERO, 1 << 40), b"forged");
    assert_eq!(recv.open(&mut forged).unwrap_err(), Reject::Authentication);
    let mut real = sealed(&SendKey::new(Suite::RING, &KEY, 9, Duration::ZERO), b"real");
    assert!(recv.open(&mut real).is_ok());
}

#[test]
fn counters_end_and_never_wrap() {
    let key = SendKey::with_counter(Suite::RING, &KEY, 1, Duration::ZERO, REJECT_AFTER_MESSAGES - 3);
    assert_eq!(key.reserve(4), None);
    assert_eq!(key.reserve(2), Some(REJECT_AFTER_MESSAGES - 3));
    assert_eq!(key.reserve(1), Some(REJECT_AFTER_MESSAGES - 1));
    for _ in 0..20_000 {
        assert_eq!(key.reserve(1), None);
    }
    assert_eq!(key.reserve(u64::MAX), None);
    let recv = RecvKey::new(Suite::RING, &KEY);
    let beyond = SendKey::with_counter(Suite::RING, &KEY, 1, Duration::ZERO, 0);
    let mut packet = vec![0; 32];
    beyond.seal(REJECT_AFTER_MESSAGES, &mut packet);
    assert_eq!(recv.open(&mut packet).unwrap_err(), Reject::Expired);
}

#[test]
fn reservations_of_threads_are_disjoint() {
    let key = SendKey::new(Suite::RING, &KEY, 1, Duration::ZERO);
    let taken: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..1000).filter_map(|_| key.reserve(3)).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 4000);
    assert_eq!(key.used(), 12_000);
}

#[test]
fn first_wrap_of_the_window() {
    let mut window = Window::new();
    for counter in 0..3 * WINDOW {
        assert!(window.accept(counter), "{counter} is new");
        assert!(!window.accept(counter), "{counter} again");
        if counter >= WINDOW {
            assert!(!window.accept(counter - WINDOW), "{counter}: one behind the window");
        }
        if counter > 0 {
            assert!(!window.accept(counter - 1));
            assert!(!window.accept(counter.saturating_sub(WINDOW - 1)));
        }
    }
}

#[test]
fn the_oldest_counter_of_the_window_is_accepted_after_a_jump() {
    let mut window = Window::new();
    assert!(window.accept(WINDOW));
    assert!(window.accept(1));
    assert!(!window.accept(0));
    assert!(window.accept(REJECT_AFTER_MESSAGES - 1));
    assert!(window.accept(REJECT_AFTER_MESSAGES - WINDOW));
    assert!(!window.accept(REJECT_AFTER_MESSAGES - WINDOW - 1));
}

proptest! {
    #[test]
    fn window_is_the_set_of_the_seen(steps in prop::collection::vec((any::<bool>(), 0_u64..20_000), 1..400)) {
        let mut window = Window::new();
        let mut seen = BTreeSet::new();
        let mut highest = 0_u64;
        for (ahead, distance) in steps {
            let counter = if ahead { highest + distance } else { highest.saturating_sub(distance) };
            let expected = !seen.contains(&counter) && (counter >= highest || highest - counter < WINDOW);
            prop_assert_eq!(window.accept(counter), expected);
            if expected {
                seen.insert(counter);
                highest = highest.max(counter);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..200), data in any::<bool>()) {
        if data && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&4_u32.to_le_bytes());
        }
        let _ = data_receiver(&bytes);
        prop_assert!(RecvKey::new(Suite::RING, &KEY).open(&mut bytes).is_err());
    }
}
