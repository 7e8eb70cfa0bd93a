//! The Internet checksum (RFC 1071), wide enough for the compiler to vectorise.

use std::net::IpAddr;

/// Sum of the 16-bit words of `data`, not complemented, folded to 16 bits in *native* byte order: the ones'
/// complement sum does not care about the order (RFC 1071 §2 B).
pub(crate) fn sum(data: &[u8]) -> u64 {
    let mut lanes = [0_u64; 8];
    let mut blocks = data.chunks_exact(32);
    for block in &mut blocks {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(4)) {
            *lane += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
    let mut total: u64 = 0;
    for lane in lanes {
        total += fold32(lane);
    }
    let mut pairs = blocks.remainder().chunks_exact(2);
    for pair in &mut pairs {
        total += u64::from(u16::from_ne_bytes([pair[0], pair[1]]));
    }
    if let [last] = pairs.remainder() {
        total += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    fold32(total)
}

fn fold32(sum: u64) -> u64 {
    (sum & 0xffff_ffff) + (sum >> 32)
}

/// The sum of a pseudo header (RFC 9293 §3.1, RFC 8200 §8.1).
pub(crate) fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> u64 {
    let addresses = match (source, destination) {
        (IpAddr::V4(a), IpAddr::V4(b)) => sum(&a.octets()) + sum(&b.octets()),
        (IpAddr::V6(a), IpAddr::V6(b)) => sum(&a.octets()) + sum(&b.octets()),
        _ => 0,
    };
    addresses + u64::from(u16::from(protocol).to_be()) + sum(&(length as u32).to_be_bytes())
}

/// Folds a sum to 16 bits, in the byte order of the wire.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::from_be(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_plain_sum() {
        let data: Vec<u8> = (0..2000_u32).map(|i| (i * 131 + i / 7) as u8).collect();
        for length in [0, 1, 2, 3, 31, 32, 33, 64, 65, 1379, 1380, 2000] {
            let mut plain: u32 = 0;
            for pair in data[..length].chunks(2) {
                plain += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
            }
            while plain >> 16 != 0 {
                plain = (plain & 0xffff) + (plain >> 16);
            }
            assert_eq!(u32::from(fold(sum(&data[..length]))), plain, "{length}");
        }
    }
}
