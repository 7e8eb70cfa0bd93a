//! Vectors of the project Wycheproof.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]

mod common;

use common::suites;
use warren_cipher::Key;
use wycheproof::{TestResult, aead};

#[test]
fn both_pass_the_vectors() {
    let set = aead::TestSet::load(aead::TestName::ChaCha20Poly1305).unwrap();
    for suite in suites() {
        let mut counts = [0, 0];
        for group in set.test_groups.iter().filter(|group| group.nonce_size == 96) {
            assert_eq!((group.key_size, group.tag_size), (256, 128));
            for test in &group.tests {
                let case = format!("{}, case {}: {}", suite.name(), test.tc_id, test.comment);
                let key = Key::new(suite, test.key.as_ref().try_into().unwrap());
                let nonce = test.nonce.as_ref().try_into().unwrap();
                let (plain, aad) = (&test.pt[..], &test.aad[..]);
                let mut message = [&test.ct[..], &test.tag[..]].concat();
                let opened = key.open(nonce, aad, &mut message).map(|opened| opened.to_vec());
                if test.result == TestResult::Invalid {
                    assert!(opened.is_err(), "{case}");
                    counts[1] += 1;
                    continue;
                }
                assert_eq!(opened.unwrap(), plain, "{case}");
                let mut body = plain.to_vec();
                let tag = key.seal(nonce, aad, &mut body).unwrap();
                assert_eq!((&body[..], &tag[..]), (&test.ct[..], &test.tag[..]), "{case}");
                counts[0] += 1;
            }
        }
        assert!(counts[0] > 200 && counts[1] > 40, "{counts:?} vectors of {}", suite.name());
    }
}
