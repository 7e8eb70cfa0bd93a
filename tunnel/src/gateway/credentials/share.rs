//! A peer's share of the credential service: its budget, and the credentials that it has.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::Mutex;
use warren_budget::RateLimit;
use warren_wire::UnixTime;
use warren_wire::gateway::Cloud;
use zeroize::Zeroizing;

use super::client::Failure;
use super::transfers::{TransferEntry, Transfers};
use crate::runtime::datapath::Clock;

/// Credentials are replaced when so much of their life is left, or half of it. Clients refresh theirs up to 15 minutes before the
/// end, and must get newer ones then.
const EARLY: Duration = Duration::from_secs(20 * 60);
/// A failure answers further requests of the peer for so long.
const FAILED_FOR: Duration = Duration::from_secs(3);
/// Credentials with less time are not given out.
const LEAST: Duration = Duration::from_secs(30);

/// The share of one peer.
pub(in crate::gateway) struct Share {
    requests: ArcSwap<RateLimit>,
    aws: Mutex<Kept>,
    google: Mutex<Kept>,
    pub(super) transfers: Transfers,
}

impl Share {
    pub(in crate::gateway) fn new(per_minute: u32) -> Self {
        let requests = ArcSwap::from_pointee(rate(per_minute));
        Self { requests, aws: Mutex::default(), google: Mutex::default(), transfers: Transfers::new() }
    }

    /// Applies another limit.
    pub(in crate::gateway) fn set_rate(&self, per_minute: u32) {
        let before = self.requests.load();
        self.requests.store(Arc::new(rate(per_minute).filled_as(&before)));
    }

    /// Counts one request, if there is room for it.
    pub(super) fn begin(&self) -> bool {
        self.requests.load().take(Clock.mono(), MINUTE)
    }

    /// Its transfers, as its agent reports them.
    pub(in crate::gateway) fn transfers(&self) -> Vec<TransferEntry> {
        self.transfers.entries()
    }

    /// What it has of a cloud.
    pub(super) fn of(&self, cloud: Cloud) -> &Mutex<Kept> {
        match cloud {
            Cloud::Aws => &self.aws,
            Cloud::Google => &self.google,
        }
    }
}

/// A request costs as many units as a minute has seconds, since limits count units per second.
pub(super) const MINUTE: u64 = 60;

pub(super) fn rate(per_minute: u32) -> RateLimit {
    let units = u64::from(per_minute);
    // All requests of 20 seconds at once, at least 5.
    RateLimit::new(units, (units / 3).max(5) * MINUTE)
}

/// What a peer has of one cloud.
#[derive(Default)]
pub(super) struct Kept {
    issued: Option<(Arc<str>, Arc<Issued>)>,
    failed: Option<(Arc<str>, Instant, Failure)>,
}

impl Kept {
    /// Credentials of this scope that need no replacement yet.
    pub(super) fn fresh(&self, scope: &str) -> Option<Arc<Issued>> {
        self.usable(scope).filter(|issued| issued.left() > EARLY.min(issued.lifetime / 2))
    }

    /// Credentials of this scope that are valid.
    pub(super) fn usable(&self, scope: &str) -> Option<Arc<Issued>> {
        let (of, issued) = self.issued.as_ref()?;
        (**of == *scope && issued.left() > LEAST.min(issued.lifetime / 4)).then(|| Arc::clone(issued))
    }

    /// The failure of a recent attempt.
    pub(super) fn failure(&self, scope: &str) -> Option<Failure> {
        let (of, at, failure) = self.failed.as_ref()?;
        (**of == *scope && at.elapsed() < FAILED_FOR).then(|| failure.clone())
    }

    /// Keeps the outcome of an attempt.
    pub(super) fn keep(&mut self, scope: &Arc<str>, outcome: &Result<Arc<Issued>, Failure>) {
        match outcome {
            Ok(issued) => {
                self.issued = Some((Arc::clone(scope), Arc::clone(issued)));
                self.failed = None;
            }
            Err(failure) => self.failed = Some((Arc::clone(scope), Instant::now(), failure.clone())),
        }
    }
}

/// The secret parts of credentials.
pub(super) enum Secret {
    Aws { id: Zeroizing<String>, key: Zeroizing<String>, token: Zeroizing<String> },
    Google { token: Zeroizing<String> },
}

/// Credentials.
pub(super) struct Issued {
    secret: Secret,
    expires: UnixTime,
    /// On the clock that nobody sets.
    since: Instant,
    lifetime: Duration,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl Issued {
    pub(super) fn new(secret: Secret, expires: UnixTime, lifetime: Duration) -> Self {
        Self { secret, expires, since: Instant::now(), lifetime }
    }

    /// When they end, as the cloud said.
    pub(super) fn expires(&self) -> UnixTime {
        self.expires
    }

    /// Their life in all.
    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    fn left(&self) -> Duration {
        self.lifetime.saturating_sub(self.since.elapsed())
    }

    /// The answer to a peer, as the container services of AWS and the token service of Google Cloud write it.
    pub(super) fn to_json(&self, role: &str) -> Zeroizing<Vec<u8>> {
        let value = match &self.secret {
            Secret::Aws { id, key, token } => serde_json::json!({
                "AccessKeyId": id.as_str(), "SecretAccessKey": key.as_str(), "Token": token.as_str(),
                "Expiration": self.expires.to_string(), "RoleArn": role,
            }),
            Secret::Google { token } => serde_json::json!({
                "access_token": token.as_str(), "token_type": "Bearer", "expires_in": self.left().as_secs(),
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            }),
        };
        Zeroizing::new(value.to_string().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(lifetime: u64, ago: u64) -> Arc<Issued> {
        let token = Zeroizing::new("t".to_owned());
        let lifetime = Duration::from_secs(lifetime);
        let mut issued = Issued::new(Secret::Google { token }, UnixTime::from_secs(0), lifetime);
        issued.since -= Duration::from_secs(ago);
        Arc::new(issued)
    }

    #[test]
    fn credentials_are_replaced_before_clients_want_newer_ones() {
        let scope: Arc<str> = "a".into();
        let mut kept = Kept::default();
        for (lifetime, ago, fresh, usable) in [
            (3600, 0, true, true),
            (3600, 2390, true, true),
            (3600, 2410, false, true),
            (3600, 3565, false, true),
            (3600, 3575, false, false),
            (900, 440, true, true),
            (900, 460, false, true),
        ] {
            kept.keep(&scope, &Ok(issued(lifetime, ago)));
            let is = (kept.fresh("a").is_some(), kept.usable("a").is_some());
            assert_eq!(is, (fresh, usable), "{lifetime} {ago}");
            assert!(kept.usable("b").is_none(), "other grants have other credentials");
        }
        kept.keep(&scope, &Err(Failure::Unavailable("x".into())));
        assert!(kept.failure("a").is_some() && kept.failure("b").is_none());
        kept.keep(&scope, &Ok(issued(900, 0)));
        assert!(kept.failure("a").is_none());
    }

    #[test]
    fn a_peer_has_a_burst_of_requests() {
        let share = Share::new(60);
        let begun = (0..100).filter(|_| share.begin()).count();
        assert!((20..=21).contains(&begun), "{begun}");
    }
}
