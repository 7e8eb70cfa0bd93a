//! From a target to a connection: may it be reached, which addresses has it, which of them answers first.

use std::{
    fmt,
    future::Future,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{sleep, timeout};

use crate::{
    counters::Refusal,
    net::{Dial, DialError, is_local},
    target::{Host, Name, Target},
};

/// How long one address has before the next is tried beside it (RFC 8305 section 5, "Connection Attempt Delay").
const HEAD_START: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried.
const TRIED: usize = 8;

/// Finds addresses of names.
pub trait Resolve: Send + Sync + 'static {
    /// Addresses in the order of preference; at least one.
    fn resolve(&self, name: &Name) -> impl Future<Output = Result<Vec<IpAddr>, NameError>> + Send;
}

/// Why a name has no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It does not exist, or has no address.
    #[error("no such name")]
    Unknown,
    /// No name server answered in time, or none could.
    #[error("no DNS server answers")]
    Failed,
}

/// Why a target is not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// Its name has no address.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its address does not answer.
    #[error(transparent)]
    Dial(#[from] DialError),
}

impl From<Unreached> for Refusal {
    fn from(error: Unreached) -> Self {
        match error {
            Unreached::Name(_) => Self::Name,
            Unreached::Dial(error) => error.into(),
        }
    }
}

/// The requester of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The author of the configuration.
    Configuration,
    /// A client of a proxy, at that address.
    Client(IpAddr),
}

impl Asker {
    /// Clients beyond this machine do not reach, through it, what it keeps to itself: its loopback, and its link with the
    /// cloud's metadata service.
    fn may_reach(self, address: IpAddr) -> bool {
        match self {
            Self::Configuration => true,
            Self::Client(client) => client.to_canonical().is_loopback() || !is_local(address),
        }
    }
}

/// A network and the names in it.
pub struct Outbound<D, R> {
    pub(crate) dial: D,
    names: R,
    timeout_after: Duration,
}

impl<D, R> fmt::Debug for Outbound<D, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").finish_non_exhaustive()
    }
}

impl<D: Dial, R: Resolve> Outbound<D, R> {
    /// `timeout_after` is the time from a target to a connection ([`crate::Limits::connect`]).
    pub fn new(dial: D, names: R, timeout_after: Duration) -> Self {
        Self { dial, names, timeout_after }
    }

    /// The network.
    pub fn dial(&self) -> &D {
        &self.dial
    }

    /// Addresses of a target that `asker` may reach: at least one.
    ///
    /// # Errors
    /// When the name has none, or none is permitted.
    pub async fn addresses(&self, target: &Target, asker: Asker) -> Result<Vec<SocketAddr>, Unreached> {
        let found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.names.resolve(name).await?,
        };
        let permitted = found.into_iter().map(|address| address.to_canonical());
        let permitted = permitted.filter(|address| asker.may_reach(*address));
        let addresses: Vec<_> = permitted.map(|address| SocketAddr::new(address, target.port)).collect();
        if addresses.is_empty() { Err(DialError::NotPermitted.into()) } else { Ok(addresses) }
    }

    /// Connects to whichever address of the target answers first; each has a head start on the next.
    ///
    /// # Errors
    /// That of the most preferred address which says something.
    pub async fn connect(&self, target: &Target, asker: Asker) -> Result<D::Stream, Unreached> {
        let attempt = async {
            let addresses = alternate(&self.addresses(target, asker).await?);
            self.race(&addresses).await.map_err(Unreached::from)
        };
        timeout(self.timeout_after, attempt).await.unwrap_or(Err(DialError::TimedOut.into()))
    }

    async fn race(&self, addresses: &[SocketAddr]) -> Result<D::Stream, DialError> {
        let mut waiting = addresses.iter().enumerate();
        let mut tried = FuturesUnordered::new();
        let mut said: Option<(usize, DialError)> = None;
        let attempt = |(place, to): (usize, &SocketAddr)| {
            let dialled = self.dial.connect(*to);
            async move { (place, dialled.await) }
        };
        tried.extend(waiting.next().map(attempt));
        loop {
            tokio::select! {
                biased;
                done = tried.next() => match done {
                    Some((_, Ok(stream))) => return Ok(stream),
                    Some((place, Err(error))) => {
                        said = Some(said.map_or((place, error), |before| more_telling(before, (place, error))));
                        tried.extend(waiting.next().map(attempt));
                    }
                    None => return Err(said.map_or(DialError::NoRoute, |(_, error)| error)),
                },
                () = sleep(HEAD_START), if waiting.len() > 0 => tried.extend(waiting.next().map(attempt)),
            }
        }
    }
}

/// An address without a route says less than one that refused; else the more preferred one speaks.
fn more_telling(one: (usize, DialError), other: (usize, DialError)) -> (usize, DialError) {
    let rank = |(place, error): (usize, DialError)| {
        (matches!(error, DialError::NoRoute | DialError::NetworkUnreachable), place)
    };
    if rank(other) < rank(one) { other } else { one }
}

/// Families in turn, beginning with the most preferred address's (RFC 8305 section 4).
fn alternate(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let mut preferred = addresses.iter().filter(|address| address.is_ipv6() == first_is_v6);
    let mut others = addresses.iter().filter(|address| address.is_ipv6() != first_is_v6);
    let mut order = Vec::new();
    loop {
        let pair = (preferred.next(), others.next());
        if pair == (None, None) || order.len() >= TRIED {
            order.truncate(TRIED);
            return order;
        }
        order.extend(pair.0);
        order.extend(pair.1);
    }
}

#[cfg(test)]
mod tests;
