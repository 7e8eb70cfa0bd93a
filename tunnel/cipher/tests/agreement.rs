//! The library and ring agree.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]

mod common;

use common::suites;
use warren_cipher::{Key, NONCE, Suite, TAG};

/// Bytes that depend on a seed.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

fn nonce(counter: u64) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

fn sealed(key: &Key, counter: u64, plain: &[u8]) -> Vec<u8> {
    let mut message = plain.to_vec();
    let tag = key.seal(&nonce(counter), &[], &mut message).unwrap();
    message.extend(tag);
    message
}

/// Seals each message with both, and opens that of each with the other.
fn agree(keys: &[Key; 2], counter: u64, plain: &[u8]) {
    let messages = [0, 1].map(|place: usize| sealed(&keys[place], counter, plain));
    assert_eq!(messages[0], messages[1], "{} bytes", plain.len());
    for key in keys {
        assert_eq!(key.open(&nonce(counter), &[], &mut messages[0].clone()).unwrap(), plain);
    }
}

fn keys(suites: [Suite; 2], seed: u64) -> [Key; 2] {
    let key = bytes(seed, 32).try_into().unwrap();
    suites.map(|suite| Key::new(suite, &key))
}

#[test]
fn every_length_of_a_packet_gives_the_same_bytes() {
    let keys = keys(suites(), 1);
    let all = bytes(2, 9_000);
    for length in 0..=all.len() {
        agree(&keys, length as u64, &all[..length]);
    }
}

#[test]
fn any_key_nonce_and_additional_data_give_the_same_bytes() {
    let suites = suites();
    for seed in 0..20_000 {
        let of = |part: u64, length| bytes(seed * 8 + part, length);
        let (key, nonce) = (of(0, 32).try_into().unwrap(), of(1, NONCE).try_into().unwrap());
        let sizes = of(2, 3);
        let (plain, aad) = (of(3, usize::from(sizes[0]) * 7), of(4, usize::from(sizes[1] % 80)));
        let messages = suites.map(|suite| {
            let mut message = plain.clone();
            let tag = Key::new(suite, &key).seal(&nonce, &aad, &mut message).unwrap();
            message.extend(tag);
            message
        });
        assert_eq!(messages[0], messages[1], "seed {seed}");
        for suite in suites {
            let mut message = messages[0].clone();
            assert_eq!(Key::new(suite, &key).open(&nonce, &aad, &mut message).unwrap(), plain, "seed {seed}");
        }
    }
}

#[test]
fn messages_at_any_alignment_give_the_same_bytes() {
    let keys = keys(suites(), 3);
    let all = bytes(4, 2_000);
    for (counter, start) in (0..128).enumerate() {
        let mut buffers = [all.clone(), all.clone()];
        for (key, buffer) in keys.iter().zip(&mut buffers) {
            let body = &mut buffer[start..start + 1_420];
            let tag = key.seal(&nonce(counter as u64), &[], body).unwrap();
            buffer[start + 1_420..start + 1_420 + TAG].copy_from_slice(&tag);
        }
        // What surrounds the message is untouched.
        assert_eq!(buffers[0], buffers[1]);
        assert_eq!(buffers[1][..start], all[..start]);
        assert_eq!(buffers[1][start + 1_420 + TAG..], all[start + 1_420 + TAG..]);
    }
}

#[test]
fn threads_with_several_keys_do_not_disturb_each_other() {
    let suites = suites();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            // As small as the stacks of the data path.
            let worker = std::thread::Builder::new().stack_size(256 << 10);
            let work = move || {
                let keys = [keys(suites, 2 * thread), keys(suites, 2 * thread + 1)];
                for counter in 0..400 {
                    let plain = bytes(counter ^ thread, (counter as usize * 37) % 1_500);
                    agree(&keys[counter as usize % 2], counter, &plain);
                }
            };
            worker.spawn_scoped(scope, work).unwrap();
        }
    });
}

#[test]
fn a_forged_message_is_refused_and_its_plaintext_is_not_left() {
    let keys = keys(suites(), 5);
    for length in [0, 1, 16, 63, 64, 255, 256, 1_024, 1_420, 9_000] {
        let plain = bytes(length as u64, length);
        let message = sealed(&keys[0], 9, &plain);
        let places = (0..message.len()).step_by(message.len().div_ceil(97));
        for place in places.chain(length..length + TAG) {
            for key in &keys {
                let mut forged = message.clone();
                forged[place] ^= 1 << (place % 8);
                key.open(&nonce(9), &[], &mut forged).unwrap_err();
                if length >= 16 {
                    assert_ne!(forged[..16], plain[..16], "the plaintext is left");
                    assert_ne!(forged[length - 16..length], plain[length - 16..], "the plaintext is left");
                }
            }
        }
        for key in &keys {
            // The queue of this thread still works.
            assert_eq!(key.open(&nonce(9), &[], &mut message.clone()).unwrap(), plain);
            key.open(&nonce(8), &[], &mut message.clone()).unwrap_err();
            key.open(&nonce(9), &[0], &mut message.clone()).unwrap_err();
            key.open(&nonce(9), &[], &mut message[1..].to_vec()).unwrap_err();
            key.open(&nonce(9), &[], &mut message[..TAG - 1].to_vec()).unwrap_err();
        }
    }
}
