//! The test that a library passes before it is used.

use crate::{Key, NONCE, Suite, TAG};

/// The longest message of the test: longer than a packet of any MTU that Warren sets.
const LONGEST: usize = 9_100;
/// All shorter lengths are tested: more than one run of the widest code, which processes 16 blocks of 64 bytes.
const ALL_BELOW: usize = 1_200;
/// The distance of longer ones, coprime to the size of a block.
const STEP: usize = 331;

/// Compares `suite` with ring, and with a known answer.
pub(crate) fn run(suite: Suite) -> Result<(), String> {
    known_answer(suite)?;
    let lengths = (0..ALL_BELOW).chain((ALL_BELOW..LONGEST).step_by(STEP));
    let mut key = [0; 32];
    for (number, length) in lengths.enumerate() {
        if number % 64 == 0 {
            let byte = u8::try_from(number / 64 % 251).unwrap_or(0);
            for (place, of) in (0_u8..).zip(&mut key) {
                *of = place.wrapping_mul(37) ^ byte.wrapping_mul(101);
            }
        }
        let mut nonce = [0; NONCE];
        nonce[4..].copy_from_slice(&(number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        same(suite, &key, nonce, length)?;
    }
    Ok(())
}

/// RFC 8439, section 2.8.2.
fn known_answer(suite: Suite) -> Result<(), String> {
    let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
    let key = std::array::from_fn(|place| 0x80 + u8::try_from(place).unwrap_or(0));
    let nonce = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
    let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
    let tag = Key::new(suite, &key).seal(&nonce, &aad, &mut text);
    let right =
        [0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a, 0x7e, 0x90, 0x2e, 0xcb, 0xd0, 0x60, 0x06, 0x91];
    if tag == Ok(right) && text.starts_with(&[0xd3, 0x1a, 0x8d, 0x34]) {
        return Ok(());
    }
    Err("the vector of RFC 8439 differs".to_owned())
}

fn same(suite: Suite, key: &[u8; 32], nonce: [u8; NONCE], length: usize) -> Result<(), String> {
    let (ours, rings) = (Key::new(suite, key), Key::new(Suite::RING, key));
    let plain: Vec<u8> = (0..length).map(|place| (place ^ (place >> 8)).to_le_bytes()[0]).collect();
    let sealed = |key: &Key| {
        let mut bytes = plain.clone();
        key.seal(&nonce, &[], &mut bytes).map(|tag| [&bytes[..], &tag[..]].concat())
    };
    let (Ok(right), Ok(other)) = (sealed(&rings), sealed(&ours)) else {
        return Err(format!("a message of {length} bytes is not sealed"));
    };
    if other != right {
        return Err(format!("a sealed message of {length} bytes differs"));
    }
    if ours.open(&nonce, &[], &mut right.clone()).as_deref() != Ok(&plain[..]) {
        return Err(format!("a message of {length} bytes is not opened"));
    }
    let mut forged = right;
    let place = nonce[5] as usize % (length + TAG);
    forged[place] ^= 1 << (nonce[6] % 8);
    if ours.open(&nonce, &[], &mut forged).is_ok() {
        return Err(format!("a forged message of {length} bytes is accepted"));
    }
    Ok(())
}
