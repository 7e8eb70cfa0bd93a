//! Free addresses, and which one a peer gets.
//!
//! A peer's place is drawn from its key, and if that is taken the next free one is its own. So a peer that comes back
//! finds its address as long as nobody took it, and gateways that allocate at the same time seldom want the same.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use blake2::{Blake2s256, Digest as _};
use ipnet::IpNet;
use warren_wire::{PublicKey, UnixTime};

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The error for an exhausted pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "all {total} {family} addresses of the pool are in use, {quarantined} of them in quarantine; \
     enlarge the pool, or shorten the lease and the quarantine"
)]
pub struct Full {
    /// The address family.
    pub family: Family,
    /// Addresses that peers could have.
    pub total: u128,
    /// Those that become free by themselves.
    pub quarantined: u128,
    /// When the first of these becomes free.
    pub next_free: Option<UnixTime>,
}

/// A pool that can serve nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pool has no address for peers: its ranges contain only network, broadcast and reserved addresses"
)]
pub struct PoolError;

/// Free numbers as ranges, first to last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges(BTreeMap<u128, u128>);

/// The addresses of one family.
#[derive(Debug, Clone)]
struct Space {
    /// All that peers may have, in ascending order, first to last.
    all: Vec<(u128, u128)>,
    total: u128,
    free: Ranges,
}

/// The addresses of both families.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    v4: Option<Space>,
    v6: Option<Space>,
}

impl Ranges {
    pub(crate) fn of(first: u128, last: u128) -> Self {
        Self(BTreeMap::from([(first, last)]))
    }

    pub(crate) fn contains(&self, number: u128) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, last)| *last >= number)
    }

    /// Takes a number out, if it is in.
    pub(crate) fn take(&mut self, number: u128) {
        let Some((&first, &last)) = self.0.range(..=number).next_back() else { return };
        if last < number {
            return;
        }
        self.0.remove(&first);
        if first < number {
            self.0.insert(first, number - 1);
        }
        if number < last {
            self.0.insert(number + 1, last);
        }
    }

    /// Puts a number in, if it is out.
    pub(crate) fn give(&mut self, number: u128) {
        if self.contains(number) {
            return;
        }
        let (mut first, mut last) = (number, number);
        if let Some((&before, &end)) = self.0.range(..number).next_back()
            && end + 1 == number
        {
            first = before;
        }
        if let Some(next) = number.checked_add(1)
            && let Some(end) = self.0.remove(&next)
        {
            last = end;
        }
        self.0.insert(first, last);
    }

    /// The first number from `start` on, around the end if need be.
    pub(crate) fn from(&self, start: u128) -> Option<u128> {
        if self.contains(start) {
            return Some(start);
        }
        self.0.range(start..).next().or_else(|| self.0.iter().next()).map(|(first, _)| *first)
    }
}

impl Pool {
    pub(crate) fn new(prefixes: &[IpNet], reserved: &[IpAddr]) -> Result<Self, PoolError> {
        let space = |family| Space::new(family, prefixes, reserved);
        let pool = Self { v4: space(Family::V4), v6: space(Family::V6) };
        if pool.v4.is_none() && pool.v6.is_none() { Err(PoolError) } else { Ok(pool) }
    }

    /// The families that every peer gets an address of.
    pub(crate) fn families(&self) -> impl Iterator<Item = Family> + '_ {
        [Family::V4, Family::V6].into_iter().filter(|family| self.space(*family).is_some())
    }

    pub(crate) fn total(&self, family: Family) -> u128 {
        self.space(family).map_or(0, |space| space.total)
    }

    /// Whether peers may have the address.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let number = number(address);
        self.space(Family::of(address))
            .is_some_and(|space| space.all.iter().any(|(first, last)| (*first..=*last).contains(&number)))
    }

    /// Whether these are one address of each family, all of the pool.
    pub(crate) fn covers(&self, addresses: &[IpAddr]) -> bool {
        addresses.len() == self.families().count() && addresses.iter().all(|address| self.has(*address))
    }

    /// A free address for a peer.
    pub(crate) fn choose(&self, family: Family, key: &PublicKey) -> Option<IpAddr> {
        let space = self.space(family)?;
        let mut offset = draw(key, &[family as u8], space.total);
        let start = space.all.iter().find_map(|(first, last)| {
            let size = last - first;
            if offset <= size {
                return Some(first + offset);
            }
            offset -= size + 1;
            None
        });
        space.free.from(start.unwrap_or_default()).map(|number| address(family, number))
    }

    pub(crate) fn take(&mut self, address: IpAddr) {
        if let Some(space) = self.space_mut(Family::of(address)) {
            space.free.take(number(address));
        }
    }

    pub(crate) fn give(&mut self, address: IpAddr) {
        if self.has(address)
            && let Some(space) = self.space_mut(Family::of(address))
        {
            space.free.give(number(address));
        }
    }

    fn space(&self, family: Family) -> Option<&Space> {
        match family {
            Family::V4 => self.v4.as_ref(),
            Family::V6 => self.v6.as_ref(),
        }
    }

    fn space_mut(&mut self, family: Family) -> Option<&mut Space> {
        match family {
            Family::V4 => self.v4.as_mut(),
            Family::V6 => self.v6.as_mut(),
        }
    }
}

impl Space {
    fn new(family: Family, prefixes: &[IpNet], reserved: &[IpAddr]) -> Option<Self> {
        let mut free = Ranges::default();
        for net in prefixes.iter().filter(|net| Family::of(net.addr()) == family) {
            let (first, last) = (number(net.network()), number(net.broadcast()));
            free.0.insert(first, last);
            // The network and broadcast address of IPv4, but for RFC 3021's /31; the anycast address of the subnet's
            // routers of IPv6 (RFC 4291 section 2.6.1).
            if last - first > 1 {
                free.take(first);
                if family == Family::V4 {
                    free.take(last);
                }
            }
        }
        for address in reserved.iter().filter(|address| Family::of(**address) == family) {
            free.take(number(*address));
        }
        let all: Vec<(u128, u128)> = free.0.iter().map(|(first, last)| (*first, *last)).collect();
        let total = all.iter().fold(0_u128, |sum, (a, b)| sum.saturating_add((b - a).saturating_add(1)));
        (total > 0).then_some(Self { all, total, free })
    }
}

impl Family {
    pub(crate) fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// A number below `limit` that is a peer's own, for each purpose another.
pub(crate) fn draw(key: &PublicKey, purpose: &[u8], limit: u128) -> u128 {
    let mut hash = Blake2s256::new();
    hash.update(purpose);
    hash.update(key.as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let number = digest.iter().take(16).fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    number % limit.max(1)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn address(family: Family, number: u128) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from(u32::try_from(number).unwrap_or_default()).into(),
        Family::V6 => Ipv6Addr::from(number).into(),
    }
}
