//! Addresses as machine words, so that one algorithm serves both families.

use crate::Family;
use crate::order::{sort_keys, sorted};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{Ipv4Addr, Ipv6Addr};

/// An address of one family: `u32` or `u128`.
pub(crate) trait Word: Copy + Ord + std::fmt::Debug {
    /// Bits of an address.
    const BITS: u8;

    /// First address and prefix length, if the range is of this family.
    fn of(net: &IpNet) -> Option<(Self, u8)>;
    /// The range that starts at `self`. The caller ensures that `prefix` is valid for the family and that host bits are zero.
    fn net(self, prefix: u8) -> IpNet;
    /// `2^order - 1` with `order` from 0 to `BITS`.
    fn low_mask(order: u8) -> Self;
    fn or(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// The next address; `None` past the last one.
    fn up(self) -> Option<Self>;
    /// The address before; `None` before the first one.
    fn down(self) -> Option<Self>;
    fn trailing(self) -> u8;
    /// Floor of the binary logarithm of `self + 1`.
    fn log2_plus_one(self) -> u8;

    /// The start of the aligned block, with this mask of host bits, that holds the address.
    fn down_to(self, mask: Self) -> Self {
        self.or(mask).minus(mask)
    }

    /// First and last address of the ranges that are of this family, sorted.
    fn sorted(nets: &[IpNet]) -> Vec<(Self, Self)>;

    /// Last address of the block.
    fn last(self, prefix: u8) -> Self {
        self.or(Self::low_mask(Self::BITS - prefix))
    }
}

macro_rules! word {
    ($word:ty, $bits:literal, $variant:ident, $addr:ty, $net:ty, $sorted:ident) => {
        impl Word for $word {
            const BITS: u8 = $bits;

            fn of(net: &IpNet) -> Option<(Self, u8)> {
                match net {
                    IpNet::$variant(net) => Some((<$word>::from(net.network()), net.prefix_len())),
                    _ => None,
                }
            }

            fn net(self, prefix: u8) -> IpNet {
                IpNet::$variant(<$net>::new_assert(<$addr>::from(self), prefix))
            }

            fn sorted(nets: &[IpNet]) -> Vec<(Self, Self)> {
                $sorted(nets)
            }

            fn low_mask(order: u8) -> Self {
                if order == 0 { 0 } else { <$word>::MAX >> ($bits - order) }
            }

            fn or(self, other: Self) -> Self {
                self | other
            }

            fn minus(self, other: Self) -> Self {
                self - other
            }

            fn up(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn down(self) -> Option<Self> {
                self.checked_sub(1)
            }

            fn trailing(self) -> u8 {
                self.trailing_zeros() as u8
            }

            fn log2_plus_one(self) -> u8 {
                match self.checked_add(1) {
                    Some(size) => size.ilog2() as u8,
                    None => $bits,
                }
            }
        }
    };
}

word!(u32, 32, V4, Ipv4Addr, Ipv4Net, sorted_v4);
word!(u128, 128, V6, Ipv6Addr, Ipv6Net, sorted_v6);

fn sorted_v4(nets: &[IpNet]) -> Vec<(u32, u32)> {
    let mut keys: Vec<u64> = Vec::new();
    keys.extend(nets.iter().filter_map(|net| {
        let (start, prefix) = u32::of(net)?;
        Some(u64::from(start) << 32 | u64::from(start.last(prefix)))
    }));
    sort_keys(&mut keys);
    keys.into_iter().map(|key| ((key >> 32) as u32, key as u32)).collect()
}

fn sorted_v6(nets: &[IpNet]) -> Vec<(u128, u128)> {
    let start = |net: &IpNet| u128::of(net).map(|(start, _)| start);
    sorted(nets, start, |_, net| span(net))
}

/// Sorted, disjoint, non-adjacent spans of addresses, with both ends included.
pub(crate) type Spans<W> = Vec<(W, W)>;

/// The union of the ranges of one family.
pub(crate) fn union<W: Word>(nets: &[IpNet]) -> Spans<W> {
    merged(W::sorted(nets))
}

/// The union of spans in any order.
pub(crate) fn join(spans: &[(u128, u128)]) -> Spans<u128> {
    merged(sorted(spans, |span| Some(span.0), |_, span| *span))
}

/// The union of sorted spans, computed in place.
fn merged<W: Word>(mut spans: Vec<(W, W)>) -> Spans<W> {
    spans.dedup_by(|next, last| {
        let touches = last.1.up().is_none_or(|after| next.0 <= after);
        if touches {
            last.1 = last.1.max(next.1);
        }
        touches
    });
    spans
}

/// The addresses in `from` that are not in `remove`.
pub(crate) fn minus<W: Word>(from: &[(W, W)], remove: &[(W, W)]) -> Spans<W> {
    let mut out = Vec::with_capacity(from.len());
    let mut rest = remove;
    for &(start, end) in from {
        rest = &rest[rest.partition_point(|&(_, last)| last < start)..];
        let mut cursor = Some(start);
        for &(hole_start, hole_end) in rest {
            let Some(low) = cursor else { break };
            if hole_start > end {
                break;
            }
            if let Some(before) = hole_start.down().filter(|&before| before >= low) {
                out.push((low, before));
            }
            cursor = hole_end.up().map(|after| after.max(low)).filter(|&after| after <= end);
        }
        if let Some(low) = cursor.filter(|&low| low <= end) {
            out.push((low, end));
        }
    }
    out
}

/// The fewest aligned blocks of a span, as start and order (binary logarithm of the size).
pub(crate) fn blocks<W: Word>(start: W, end: W) -> impl Iterator<Item = (W, u8)> {
    let mut cursor = Some(start);
    std::iter::from_fn(move || {
        let low = cursor.filter(|&low| low <= end)?;
        let order = low.trailing().min(end.minus(low).log2_plus_one());
        cursor = low.or(W::low_mask(order)).up();
        Some((low, order))
    })
}

/// The fewest ranges that cover the spans.
pub(crate) fn nets<W: Word>(spans: &[(W, W)]) -> impl Iterator<Item = IpNet> {
    spans.iter().flat_map(|&(start, end)| blocks(start, end)).map(|(start, order)| start.net(W::BITS - order))
}

/// First and last address, for either family.
pub(crate) fn span(net: &IpNet) -> (u128, u128) {
    match net {
        IpNet::V4(net) => (u32::from(net.network()).into(), u32::from(net.broadcast()).into()),
        IpNet::V6(net) => (net.network().into(), net.broadcast().into()),
    }
}

/// The range of a family that starts at an address.
pub(crate) fn range(family: Family, start: u128, prefix: u8) -> IpNet {
    match family {
        Family::V4 => (start as u32).net(prefix),
        Family::V6 => start.net(prefix),
    }
}
