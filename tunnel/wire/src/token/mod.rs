//! Enrolment tokens: bearer tokens that admit peers to a group of a fabric.
//!
//! A token is a PASETO v4.public: JSON claims, signed with Ed25519; the footer names the key. An implicit assertion
//! prevents other signatures of the key from being accepted as tokens. For key rotation, a [`KeyRing`] has several
//! keys, and the footer selects one.
//!
//! ```text
//! v4.public.<claims and signature>.<{"kid":"k4.pid.…"}>
//! ```
//!
//! Anyone who has a token can use it, so it is a secret: [`Token`] is zeroised and its `Debug` redacted. A pod has no
//! key, so it reads its own token without verification ([`Token::peek`]); a gateway calls [`KeyRing::verify`].

mod gateways;
mod key;
mod paseto;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::name::Name;
use crate::text::serde_as_text;
use crate::time::UnixTime;

pub use gateways::{GATEWAYS_MAX, Gateway, GatewaySet, SetError};
pub use key::{KeyId, SigningKey, SigningKeyError, VerifyingKey};

/// The maximum length of a token in characters: small enough for an environment variable and a request.
pub const TOKEN_MAX: usize = 6144;
/// The maximum validity of a token.
pub const VALIDITY_MAX: Duration = Duration::from_secs(400 * 24 * 3600);
/// The default validity of a token: it is used when a pod starts, and a lease outlives it.
pub const VALIDITY_DEFAULT: Duration = Duration::from_secs(3600);
/// The default number of peers that may use a token.
pub const USES_DEFAULT: NonZeroU32 = NonZeroU32::MIN;
/// The clock difference that is tolerated before a token counts as not yet valid.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Separates our tokens from anything else that the same key may sign.
const IMPLICIT: &[u8] = b"warren enrolment token 1";

/// The reason why a token is not accepted. It never contains the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Longer than [`TOKEN_MAX`].
    #[error("the token has {0} characters, but at most {TOKEN_MAX} are possible; copy the token again")]
    Long(usize),
    /// Not a PASETO of this version and purpose.
    #[error("the text does not begin with `v4.public.`; pass the whole token and nothing else")]
    Version,
    /// Not base64url, or cut off.
    #[error("the token is damaged or cut off; copy the token again")]
    Malformed,
    /// The claims or the footer are not what a token has.
    #[error(
        "the token's claims are not those of an enrolment token: {0}; issue a new token with this version"
    )]
    Claims(String),
    /// The footer names a key that is not in the ring.
    #[error(
        "the token is signed with key {0}, which this gateway does not accept; add the key to token_keys, or issue a new token"
    )]
    UnknownKey(KeyId),
    /// The signature does not match.
    #[error("the token's signature does not match its contents; issue a new token")]
    Forged,
    /// Used before its time.
    #[error("the token is not valid before {0}; check the clocks, or wait")]
    Early(UnixTime),
    /// Used after its time.
    #[error("the token expired at {0}; issue a new token")]
    Expired(UnixTime),
    /// For another fabric.
    #[error(
        "the token is for fabric {token}, but this gateway belongs to {gateway}; use a token for {gateway}"
    )]
    Fabric {
        /// That of the token.
        token: Name,
        /// That of the gateway.
        gateway: Name,
    },
}

/// Names a token: for use counts, revocation and logs. 16 random bytes; in texts 22 characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId([u8; 16]);

serde_as_text!(TokenId);

/// The error for a text that is not a token ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token ID; write the 22 characters that `warren-tunnel token inspect` prints")]
pub struct TokenIdError;

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Its name.
    pub id: TokenId,
    /// When it is valid.
    pub validity: Validity,
    /// The fabric that it admits to.
    pub fabric: Name,
    /// The group of peers it admits to.
    pub group: Name,
    /// How many different peers may join with it; `None`, in tokens of earlier versions, is any number.
    pub uses: Option<NonZeroU32>,
    /// The longest life of a lease that came of it; `None` is that of the gateway.
    pub max_lease: Option<Duration>,
    /// The gateways that accept it.
    pub gateways: GatewaySet,
}

/// A validity period of at most [`VALIDITY_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    not_before: UnixTime,
    expires: UnixTime,
}

/// The error for times that are not a validity period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token is valid for at least a second and at most 400 days; choose another expiry")]
pub struct ValidityError;

/// A token's text, of the right form but not verified.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Token(String);

/// The keys whose tokens are accepted. For rotation: add the new key everywhere, sign with it, and retire the old one when the
/// last token of it has expired.
#[derive(Debug, Clone, Default)]
pub struct KeyRing(Vec<(KeyId, VerifyingKey)>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    kid: KeyId,
}

/// [`Claims`] as they stand in the token. A claim that is not known may be a restriction, so it is refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    jti: TokenId,
    nbf: UnixTime,
    exp: UnixTime,
    fabric: Name,
    group: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uses: Option<NonZeroU32>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_lease: Option<u64>,
    gateways: GatewaySet,
}

impl Claims {
    /// Liveness the claims.
    ///
    /// # Errors
    /// The token would be longer than [`TOKEN_MAX`].
    pub fn sign(&self, key: &SigningKey) -> Result<Token, TokenError> {
        let payload = Payload {
            jti: self.id,
            nbf: self.validity.not_before,
            exp: self.validity.expires,
            fabric: self.fabric.clone(),
            group: self.group.clone(),
            uses: self.uses,
            max_lease: self.max_lease.map(|max| max.as_secs()),
            gateways: self.gateways.clone(),
        };
        let claims = |error: serde_json::Error| TokenError::Claims(error.to_string());
        let message = serde_json::to_vec(&payload).map_err(claims)?;
        let footer = serde_json::to_vec(&Footer { kid: key.verifying_key().id() }).map_err(claims)?;
        Token::new(paseto::sign(key, &message, &footer, IMPLICIT))
    }

    /// Whether the token may be used now, in this fabric.
    ///
    /// # Errors
    /// Too early, too late, or the wrong fabric.
    pub fn check(&self, now: UnixTime, fabric: &Name) -> Result<(), TokenError> {
        if self.fabric != *fabric {
            return Err(TokenError::Fabric { token: self.fabric.clone(), gateway: fabric.clone() });
        }
        if now.plus(CLOCK_SKEW) < self.validity.not_before {
            return Err(TokenError::Early(self.validity.not_before));
        }
        if now >= self.validity.expires {
            return Err(TokenError::Expired(self.validity.expires));
        }
        Ok(())
    }

    fn read(message: &[u8]) -> Result<Self, TokenError> {
        let payload: Payload = serde_json::from_slice(message).map_err(|error| claims_error(&error))?;
        let validity =
            Validity::new(payload.nbf, payload.exp).map_err(|error| TokenError::Claims(error.to_string()))?;
        Ok(Self {
            id: payload.jti,
            validity,
            fabric: payload.fabric,
            group: payload.group,
            uses: payload.uses,
            max_lease: payload.max_lease.map(Duration::from_secs),
            gateways: payload.gateways,
        })
    }
}

/// Reports the position, never the contents.
fn claims_error(error: &serde_json::Error) -> TokenError {
    let what = match error.classify() {
        serde_json::error::Category::Data => "a claim is missing, unknown or not valid",
        _ => "they are not JSON",
    };
    TokenError::Claims(format!("{what} (byte {})", error.column()))
}

impl Validity {
    /// A validity from `not_before` until just before `expires`.
    ///
    /// # Errors
    /// The second is not later, or too much later.
    pub fn new(not_before: UnixTime, expires: UnixTime) -> Result<Self, ValidityError> {
        let good = expires > not_before && expires.since(not_before) <= VALIDITY_MAX;
        good.then_some(Self { not_before, expires }).ok_or(ValidityError)
    }

    /// The first second.
    #[must_use]
    pub fn not_before(&self) -> UnixTime {
        self.not_before
    }

    /// The second after the last.
    #[must_use]
    pub fn expires(&self) -> UnixTime {
        self.expires
    }
}

impl Token {
    /// Parses a token; white space around it is ignored.
    ///
    /// # Errors
    /// It has not a token's form. The signature is not looked at.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let token = Self::new(text.trim().to_owned())?;
        token.peek()?;
        Ok(token)
    }

    fn new(text: String) -> Result<Self, TokenError> {
        let token = Self(text);
        if token.0.len() > TOKEN_MAX { Err(TokenError::Long(token.0.len())) } else { Ok(token) }
    }

    /// The text: a secret.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The token's claims, without verification: for its owner, who trusts its source.
    ///
    /// # Errors
    /// The claims are not those of a token.
    pub fn peek(&self) -> Result<Claims, TokenError> {
        Claims::read(paseto::parse(&self.0)?.unverified())
    }

    /// The ID of the key that the token claims to be signed with.
    ///
    /// # Errors
    /// The footer is not that of a token.
    pub fn key_id(&self) -> Result<KeyId, TokenError> {
        footer(&paseto::parse(&self.0)?)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

impl KeyRing {
    /// A ring of these keys, without duplicates.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = VerifyingKey>) -> Self {
        let mut ring: Vec<(KeyId, VerifyingKey)> = Vec::new();
        for key in keys {
            let id = key.id();
            if !ring.iter().any(|(known, _)| *known == id) {
                ring.push((id, key));
            }
        }
        Self(ring)
    }

    /// The names of the keys.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.0.iter().map(|(id, _)| *id)
    }

    /// Verifies the signature and returns the claims. Call [`Claims::check`] next.
    ///
    /// # Errors
    /// The form is wrong, the key is unknown, or the signature does not fit.
    pub fn verify(&self, token: &Token) -> Result<Claims, TokenError> {
        let parts = paseto::parse(&token.0)?;
        let id = footer(&parts)?;
        let (_, key) = self.0.iter().find(|(known, _)| *known == id).ok_or(TokenError::UnknownKey(id))?;
        // The claims are read after the signature was found good, never before.
        Claims::read(parts.verified(key, IMPLICIT)?)
    }
}

fn footer(parts: &paseto::Parts) -> Result<KeyId, TokenError> {
    serde_json::from_slice::<Footer>(&parts.footer)
        .map(|footer| footer.kid)
        .map_err(|_| TokenError::Claims("the footer names no key".into()))
}

impl TokenId {
    /// Makes an id of 16 random bytes.
    #[must_use]
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(random)
    }
}

impl FromStr for TokenId {
    type Err = TokenIdError;

    fn from_str(text: &str) -> Result<Self, TokenIdError> {
        let mut buffer = [0; 18];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut buffer) {
            Ok(16) => buffer[..16].try_into().map(Self).map_err(|_| TokenIdError),
            _ => Err(TokenIdError),
        }
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
