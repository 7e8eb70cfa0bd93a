//! Strict parsing of one range.

use ipnet::IpNet;
use std::net::IpAddr;

/// The reason why a text is not a range. The messages address the user who wrote the range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    /// The address has bits set beyond the prefix length.
    #[error("{text} has host bits set; did you mean {meant}?")]
    HostBits {
        /// The text as written.
        text: String,
        /// The network that was probably meant.
        meant: IpNet,
    },
    /// An address without a prefix length.
    #[error(
        "{text} has no prefix length; write {address}/{full} for the single address, or a shorter prefix"
    )]
    MissingPrefix {
        /// The text as written.
        text: String,
        /// The address that was read.
        address: IpAddr,
        /// The prefix length of a single address in this family: 32 or 128.
        full: u8,
    },
    /// The prefix length is not a number of 0 to 32 (IPv4) or 0 to 128 (IPv6).
    #[error("{text} has the prefix length {prefix:?}; it must be a number from 0 to {full}")]
    BadPrefix {
        /// The text as written.
        text: String,
        /// The text after the slash.
        prefix: String,
        /// The largest prefix length of this family: 32 or 128.
        full: u8,
    },
    /// The part before the slash is not an address.
    #[error(
        "{text:?} is not a CIDR range; write an address and a prefix length, such as 10.0.0.0/16 or fd00::/48"
    )]
    BadAddress {
        /// The text as written.
        text: String,
    },
}

/// Parses `address/prefix`, IPv4 or IPv6, and rejects host bits.
///
/// An IPv4-mapped IPv6 range stays IPv6. White space around the text is rejected.
///
/// # Errors
/// [`CidrError`] states the reason and, for host bits, the network that was probably meant.
pub fn parse_cidr(text: &str) -> Result<IpNet, CidrError> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| CidrError::BadAddress { text: text.to_owned() })?;
    let full = if address.is_ipv4() { 32 } else { 128 };
    let Some(prefix) = prefix else {
        return Err(CidrError::MissingPrefix { text: text.to_owned(), address, full });
    };
    let bad = || CidrError::BadPrefix { text: text.to_owned(), prefix: prefix.to_owned(), full };
    if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let length: u8 = prefix.parse().map_err(|_| bad())?;
    let net = IpNet::new(address, length).map_err(|_| bad())?;
    let meant = net.trunc();
    if meant.addr() != address {
        return Err(CidrError::HostBits { text: text.to_owned(), meant });
    }
    Ok(net)
}
