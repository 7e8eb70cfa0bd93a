//! Messages sealed and opened by the library of this machine and by ring: the same comes of both.
//!
//! The first bytes are the key, the nonce, the length of the additional data, and how often the rest is repeated: the library gets
//! long messages only. The target needs a processor with AVX-512 IFMA, and the package libipsec-mb1 or libipsec-mb2 of Debian.
#![no_main]

use std::sync::LazyLock;

use warren_cipher::{Key, NONCE, Suite, load};

static LIBRARY: LazyLock<Suite> = LazyLock::new(|| load().expect("there is nothing to compare ring with"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((secrets, rest)) = bytes.split_first_chunk::<46>() else { return };
    let (mut key, mut nonce) = ([0; 32], [0; NONCE]);
    key.copy_from_slice(&secrets[..32]);
    nonce.copy_from_slice(&secrets[32..44]);
    let (aad, text) = rest.split_at(usize::from(secrets[44]).min(rest.len()));
    let text = &text.repeat(1 + usize::from(secrets[45]))[..];
    let [first, second] = [*LIBRARY, Suite::RING].map(|suite| {
        let key = Key::new(suite, &key);
        let (mut sealed, mut strange) = (text.to_vec(), text.to_vec());
        let tag = key.seal(&nonce, aad, &mut sealed);
        sealed.extend(tag.expect("every message of this length can be sealed"));
        let strange = key.open(&nonce, aad, &mut strange).map(|plain| plain.to_vec());
        let opened = key.open(&nonce, aad, &mut sealed.clone()).map(|plain| plain.to_vec());
        assert_eq!(opened.as_deref(), Ok(text), "a message that was sealed is not opened");
        (sealed, strange)
    });
    assert_eq!(first, second, "the library and ring differ");
});
