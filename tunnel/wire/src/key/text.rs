//! Base64 and hexadecimal of 32 bytes, into buffers that are zeroised.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::{KEY_LEN, KeyError};

const BASE64_LEN: usize = 44;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(super) fn from_base64(text: &str) -> Result<Zeroizing<[u8; KEY_LEN]>, KeyError> {
    let length = text.chars().count();
    if length != BASE64_LEN {
        return Err(KeyError::Base64Length(length));
    }
    // The decoder estimates 33 bytes for 44 characters.
    let mut buffer = Zeroizing::new([0_u8; KEY_LEN + 4]);
    match STANDARD.decode_slice(text, &mut buffer[..]) {
        Ok(KEY_LEN) => {
            let mut key = Zeroizing::new([0_u8; KEY_LEN]);
            key.copy_from_slice(&buffer[..KEY_LEN]);
            Ok(key)
        }
        _ => Err(KeyError::Base64),
    }
}

pub(super) fn from_hex(text: &str) -> Result<Zeroizing<[u8; KEY_LEN]>, KeyError> {
    let length = text.chars().count();
    if length != 2 * KEY_LEN {
        return Err(KeyError::HexLength(length));
    }
    if !text.is_ascii() {
        return Err(KeyError::Hex);
    }
    let mut key = Zeroizing::new([0_u8; KEY_LEN]);
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
    }
    Ok(key)
}

pub(super) fn to_base64(key: &[u8; KEY_LEN]) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(key))
}

pub(super) fn to_hex(key: &[u8; KEY_LEN]) -> Zeroizing<String> {
    // Room for all of it at once: a growing string leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(2 * KEY_LEN));
    for byte in key {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn digit(character: u8) -> Result<u8, KeyError> {
    char::from(character).to_digit(16).and_then(|value| u8::try_from(value).ok()).ok_or(KeyError::Hex)
}
