//! Layouts of the handshake messages (whitepaper sections 5.4.2, 5.4.3 and 5.4.7). All numbers are little endian.
//!
//! ```text
//! initiation 148: type 1 | sender 4 | ephemeral 32 | static 32+16 | stamp 12+16 | mac1 16 | mac2 16
//! response    92: type 2 | sender 4 | receiver 4 | ephemeral 32 | empty 16 | mac1 16 | mac2 16
//! cookie      64: type 3 | receiver 4 | nonce 24 | cookie 16+16
//! ```

use std::ops::Range;

pub(crate) const INITIATION: usize = 148;
pub(crate) const RESPONSE: usize = 92;
pub(crate) const COOKIE_REPLY: usize = 64;

/// The Noise message within an initiation.
pub(crate) const INITIATION_NOISE: Range<usize> = 8..116;
/// The Noise message within a response.
pub(crate) const RESPONSE_NOISE: Range<usize> = 12..60;
/// Nonce of a cookie reply.
pub(crate) const COOKIE_NONCE: Range<usize> = 8..32;
/// Encrypted cookie of a cookie reply.
pub(crate) const COOKIE_BODY: Range<usize> = 32..64;

/// Both MACs at the end of initiation and response.
pub(crate) const MACS: usize = 32;
/// One MAC.
pub(crate) const MAC: usize = 16;

/// Which handshake message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Initiation,
    Response,
    CookieReply,
}

/// Tells by type word and length; the length of each type is fixed.
pub(crate) fn kind(message: &[u8]) -> Option<Kind> {
    let kind = u32_at(message, 0)?;
    match (kind, message.len()) {
        (1, INITIATION) => Some(Kind::Initiation),
        (2, RESPONSE) => Some(Kind::Response),
        (3, COOKIE_REPLY) => Some(Kind::CookieReply),
        _ => None,
    }
}

pub(crate) fn u32_at(message: &[u8], at: usize) -> Option<u32> {
    let bytes = message.get(at..at + 4)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// A message with its type and first index set and the rest zero.
pub(crate) fn blank(kind: u32, index: u32, length: usize) -> Vec<u8> {
    let mut message = vec![0; length];
    message[..4].copy_from_slice(&kind.to_le_bytes());
    message[4..8].copy_from_slice(&index.to_le_bytes());
    message
}
