//! Allowed IPs: which peer a packet goes to and may come from (whitepaper section 2, "cryptokey routing").
//!
//! A longest-prefix table for both families. A prefix has one owner; inserting it for another one moves it.

#[cfg(test)]
mod tests;
mod trie;

use std::net::IpAddr;

use ipnet::IpNet;

use trie::Trie;

/// A longest-prefix table from ranges to `T`: a small value, mostly a number.
#[derive(Debug, Clone)]
pub struct AllowedIps<T> {
    v4: Trie<u32, T>,
    v6: Trie<u128, T>,
}

impl<T: Copy + Eq> AllowedIps<T> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self { v4: Trie::new(), v6: Trie::new() }
    }

    /// Gives a range to an owner and returns the one it had. Host bits of the range are ignored.
    pub fn insert(&mut self, net: IpNet, owner: T) -> Option<T> {
        match net {
            IpNet::V4(net) => self.v4.insert(u32::from(net.network()), net.prefix_len(), owner),
            IpNet::V6(net) => self.v6.insert(u128::from(net.network()), net.prefix_len(), owner),
        }
    }

    /// Removes a range and returns its owner.
    pub fn remove(&mut self, net: IpNet) -> Option<T> {
        match net {
            IpNet::V4(net) => self.v4.remove(u32::from(net.network()), net.prefix_len()),
            IpNet::V6(net) => self.v6.remove(u128::from(net.network()), net.prefix_len()),
        }
    }

    /// The owner of the most specific range that contains the address.
    #[must_use]
    pub fn lookup(&self, address: IpAddr) -> Option<T> {
        match address {
            IpAddr::V4(address) => self.v4.lookup(u32::from(address)),
            IpAddr::V6(address) => self.v6.lookup(u128::from(address)),
        }
    }

    /// All ranges with their owners, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (IpNet, T)> + '_ {
        self.v4.iter().chain(self.v6.iter())
    }

    /// Number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Whether there is no range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Prepares for many look-ups: builds the tables that skip the first levels. Look-ups are correct without
    /// it, and any later change drops those tables again.
    pub fn optimise(&mut self) {
        self.v4.optimise();
        self.v6.optimise();
    }
}

impl<T: Copy + Eq> Default for AllowedIps<T> {
    fn default() -> Self {
        Self::new()
    }
}
