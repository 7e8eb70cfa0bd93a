//! PASETO v4.public: Ed25519 over a pre-authentication encoding.
//!
//! <https://github.com/paseto-standard/paseto-spec/blob/master/docs/01-Protocol-Versions/Version4.md>

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::TokenError;
use super::key::{SigningKey, VerifyingKey};

pub(super) const HEADER: &str = "v4.public.";
const SIGNATURE: usize = 64;

/// A token's parts, the signature not yet verified.
pub(super) struct Parts {
    message: Vec<u8>,
    signature: [u8; SIGNATURE],
    pub(super) footer: Vec<u8>,
}

pub(super) fn sign(key: &SigningKey, message: &[u8], footer: &[u8], implicit: &[u8]) -> String {
    let signature = key.sign(&pae(&[HEADER.as_bytes(), message, footer, implicit]));
    let mut body = message.to_vec();
    body.extend_from_slice(&signature);
    let mut token = format!("{HEADER}{}", URL_SAFE_NO_PAD.encode(body));
    if !footer.is_empty() {
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(footer, &mut token);
    }
    token
}

/// Takes a token apart.
pub(super) fn parse(token: &str) -> Result<Parts, TokenError> {
    let rest = token.strip_prefix(HEADER).ok_or(TokenError::Version)?;
    let (body, footer) = match rest.split_once('.') {
        Some((_, "")) => return Err(TokenError::Malformed),
        Some((body, footer)) => (body, footer),
        None => (rest, ""),
    };
    let mut message = URL_SAFE_NO_PAD.decode(body).map_err(|_| TokenError::Malformed)?;
    let footer = URL_SAFE_NO_PAD.decode(footer).map_err(|_| TokenError::Malformed)?;
    let start = message.len().checked_sub(SIGNATURE).ok_or(TokenError::Malformed)?;
    let signature = message.split_off(start).try_into().map_err(|_| TokenError::Malformed)?;
    Ok(Parts { message, signature, footer })
}

impl Parts {
    /// What was signed, if `key` signed it.
    pub(super) fn verified(&self, key: &VerifyingKey, implicit: &[u8]) -> Result<&[u8], TokenError> {
        let signed = pae(&[HEADER.as_bytes(), &self.message, &self.footer, implicit]);
        key.verify(&signed, &self.signature).then_some(&self.message[..]).ok_or(TokenError::Forged)
    }

    /// What is claimed to be signed.
    pub(super) fn unverified(&self) -> &[u8] {
        &self.message
    }
}

/// Pre-authentication encoding: counts and lengths before the pieces, so that no two lists encode the same.
fn pae(pieces: &[&[u8]]) -> Vec<u8> {
    let length = |value: usize| (value as u64 & (u64::MAX >> 1)).to_le_bytes();
    let mut out = length(pieces.len()).to_vec();
    for piece in pieces {
        out.extend_from_slice(&length(piece.len()));
        out.extend_from_slice(piece);
    }
    out
}
