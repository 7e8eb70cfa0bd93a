//! Refusals as problem details (RFC 9457).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::retry::{self, Retry};
use crate::token::TokenError;

/// What `type` begins with. The rest of it is stable: programs may branch on it.
const TYPE: &str = "urn:warren:problem:";

/// A refused request: its type, its reason, and when to retry if that may help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", kind.title())]
pub struct Problem {
    /// The type of the problem.
    pub kind: Kind,
    /// What happened in this case. Contains no secret.
    pub detail: String,
    /// Seconds after which to try again.
    pub retry_after: Option<u32>,
}

macro_rules! kinds {
    ($($kind:ident $status:literal $slug:literal $retry:ident $title:literal,)*) => {
        /// The types of problems, with the last part of `type` in parentheses.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = concat!($title, " (`", $slug, "`, status ", $status, ").")] $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The HTTP status.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Self::$kind => $status),* }
            }

            /// The stable name.
            #[must_use]
            pub fn slug(self) -> &'static str {
                match self { $(Self::$kind => $slug),* }
            }

            /// Whether another attempt with the same token and key may succeed, and where.
            #[must_use]
            pub fn retry(self) -> Retry {
                match self { $(Self::$kind => Retry::$retry),* }
            }

            /// The fixed title: a sentence without a period.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title),* }
            }
        }
    };
}

kinds! {
    Malformed 400 "malformed" Elsewhere "The request is malformed",
    Version 400 "version" Elsewhere "The message version is not supported",
    NotFound 404 "not-found" Elsewhere "There is no resource at this path",
    Method 405 "method" Elsewhere "Only POST is supported",
    Slow 408 "slow" Later "The request took too long",
    TooLarge 413 "too-large" Elsewhere "The message is too large",
    MediaType 415 "media-type" Elsewhere "The body is not application/json",
    TokenMalformed 400 "token-malformed" Elsewhere "The token is malformed",
    TokenForged 401 "token-forged" Elsewhere "The token's signing key is not accepted",
    TokenExpired 401 "token-expired" Elsewhere "The token has expired",
    TokenEarly 401 "token-early" Later "The token is not valid yet",
    TokenFabric 403 "token-fabric" Never "The token is for another fabric",
    TokenGateway 403 "token-gateway" Elsewhere "The token is not valid for this gateway",
    TokenUsedUp 403 "token-used-up" Never "The token has reached its maximum number of uses",
    TokenRevoked 403 "token-revoked" Never "The token has been revoked",
    Group 403 "group" Elsewhere "The token's group does not exist here",
    Proof 403 "proof" Elsewhere "The sender has not proven possession of the private key on this connection",
    Evicted 403 "evicted" Never "The peer has been evicted",
    NoLease 404 "no-lease" Elsewhere "The key has no lease",
    RateLimited 429 "rate-limited" Later "Too many requests",
    PoolExhausted 503 "pool-exhausted" Later "No address is free",
    Busy 503 "busy" Later "The gateway is overloaded",
    Store 503 "store" Later "The gateway cannot reach its lease store",
    Draining 503 "draining" Later "The gateway accepts no new peers",
    Unknown 500 "unknown" Elsewhere "The gateway gave a reason that this version does not know",
}

#[derive(Serialize, Deserialize)]
struct Details {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
}

impl Problem {
    /// A problem of this type.
    #[must_use]
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after: None }
    }

    /// Sets the time after which to retry: whole seconds, rounded up, at least one.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(retry::whole_seconds(delay));
        self
    }

    /// The body of the response, of media type [`super::PROBLEM_TYPE`].
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let details = Details {
            kind: format!("{TYPE}{}", self.kind.slug()),
            title: self.kind.title().to_owned(),
            status: self.kind.status(),
            detail: self.detail.clone(),
            retry_after: self.retry_after,
        };
        // Texts and numbers always have a JSON form.
        serde_json::to_vec(&details).unwrap_or_default()
    }

    /// Parses a problem; `None` if the body is not one. An unknown type becomes [`Kind::Unknown`].
    #[must_use]
    pub fn from_json(body: &[u8]) -> Option<Self> {
        let details: Details = serde_json::from_slice(body).ok()?;
        let slug = details.kind.strip_prefix(TYPE)?;
        let kind = Kind::ALL.iter().copied().find(|kind| kind.slug() == slug).unwrap_or(Kind::Unknown);
        // What a stranger wrote ends up on a terminal.
        let detail = details.detail.chars().filter(|c| !c.is_control()).take(1000).collect();
        Some(Self { kind, detail, retry_after: details.retry_after })
    }

    /// Whether another attempt with the same token and key may succeed, and where.
    ///
    /// A reason that this version does not know is temporary if the gateway says when to retry.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self.kind {
            Kind::Unknown if self.retry_after.is_some() => Retry::Later,
            kind => kind.retry(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        let kind = match &error {
            TokenError::Long(_) | TokenError::Version | TokenError::Malformed | TokenError::Claims(_) => {
                Kind::TokenMalformed
            }
            TokenError::UnknownKey(_) | TokenError::Forged => Kind::TokenForged,
            TokenError::Early(_) => Kind::TokenEarly,
            TokenError::Expired(_) => Kind::TokenExpired,
            TokenError::Fabric { .. } => Kind::TokenFabric,
        };
        Self::new(kind, error.to_string())
    }
}
