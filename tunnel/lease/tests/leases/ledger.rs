//! What operators and tokens allow, in true time: the reference for credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use warren_lease::{COMMIT_WITHIN, Ending, Lease};
use warren_wire::PublicKey;
use warren_wire::token::TokenId;

/// How many hosts may use each token.
pub(crate) const USES: usize = 2;

/// Leases that may not begin.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// How much earlier than in true time an eviction may end.
    pub(crate) early: Duration,
    /// Whether clocks differ by so little that tokens are used as often as they may be.
    strict: bool,
    hosts: BTreeMap<TokenId, BTreeSet<String>>,
    keys: BTreeMap<TokenId, BTreeSet<PublicKey>>,
    live: BTreeMap<TokenId, BTreeSet<PublicKey>>,
    /// Until when.
    revoked: BTreeMap<TokenId, Duration>,
    /// Until when, and the token of the lease.
    evicted: BTreeMap<PublicKey, (Duration, Option<TokenId>)>,
}

impl Ledger {
    pub(crate) fn new(early: Duration, strict: bool) -> Self {
        Self { early, strict, ..Self::default() }
    }

    /// The store knows of the eviction of a key, whose lease may still be known.
    pub(crate) fn evict(&mut self, key: PublicKey, lease: Option<&Lease>, until: Duration) {
        let before = self.evicted.get(&key).and_then(|(_, token)| *token);
        self.evicted.insert(key, (until, lease.map(|lease| lease.token).or(before)));
    }

    /// The store knows of the revocation of a token.
    pub(crate) fn revoke(&mut self, token: TokenId, until: Duration) {
        let known = self.revoked.entry(token).or_default();
        *known = until.max(*known);
    }

    /// The store knows of the end of a lease: an operator must have wanted it, and still.
    pub(crate) fn ended(&self, at: Duration, key: PublicKey, token: TokenId, why: Ending) {
        // A transaction is under way for a while.
        let late = self.early + COMMIT_WITHIN;
        match why {
            Ending::Evicted => {
                let until = self.evicted.get(&key).map(|(until, _)| *until);
                assert!(until.is_some_and(|until| until + late > at), "at {at:?}, evicted, until {until:?}");
            }
            Ending::Revoked => {
                let until = self.revoked.get(&token);
                assert!(
                    until.is_some_and(|until| *until + late > at),
                    "at {at:?}, a lease ends for a revocation that was over at {until:?}"
                );
            }
            // Checked against handshakes, and against other leases of the transaction.
            Ending::Expired | Ending::Replaced => {}
            Ending::Released | Ending::MaxAge | Ending::Untrusted => panic!("at {at:?}, {why:?}"),
        }
    }

    /// A lease has changed in the store.
    pub(crate) fn lease(
        &mut self,
        at: Duration,
        key: PublicKey,
        before: Option<&Lease>,
        after: Option<&Lease>,
    ) {
        let is_live = |lease: Option<&Lease>| lease.is_some_and(Lease::is_live);
        if let Some(lease) = before {
            self.live.entry(lease.token).or_default().remove(&key);
        }
        let Some(lease) = after.filter(|lease| lease.is_live()) else { return };
        let token = lease.token;
        let (hosts, keys) = (self.hosts.entry(token).or_default(), self.keys.entry(token).or_default());
        if !is_live(before) {
            let revoked = self.revoked.get(&token).is_some_and(|until| *until > at + self.early);
            assert!(!revoked, "at {at:?}, a revoked token admits a pod");
            let in_force = self.evicted.iter().filter(|(_, (until, _))| *until > at + self.early);
            let (evicted, tokens): (BTreeSet<_>, BTreeSet<_>) =
                in_force.map(|(key, (_, token))| (*key, *token)).unzip();
            assert!(!evicted.contains(&key), "at {at:?}, an evicted key is admitted");
            let suspended = tokens.contains(&Some(token)) && !keys.contains(&key);
            assert!(!suspended, "at {at:?}, the token of an evicted pod admits a new key");
        }
        keys.insert(key);
        hosts.insert(lease.host.name().to_owned());
        let live = self.live.entry(token).or_default();
        live.insert(key);
        if self.strict {
            assert!(hosts.len() <= USES, "at {at:?}, a token has admitted the hosts {hosts:?}");
            assert!(live.len() <= USES, "at {at:?}, a token has {} live leases", live.len());
        }
    }
}
