//! The Internet checksum (RFC 1071) over native-endian words.
//!
//! A one's complement sum does not depend on the byte order it is taken in, as long as the result is stored in the same order: sums here are native-endian throughout and are stored by
//! `to_ne_bytes`, so nothing is swapped.

/// Sum of `bytes`, unfolded. Pieces may be added to each other when every piece but the last has even length.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<32>();
    // Eight independent lanes of 64 bits: no carry is lost within 16 GiB, and the loop vectorises.
    let mut lanes = [0u64; 8];
    for chunk in chunks {
        let (words, _) = chunk.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let mut total: u64 = lanes.iter().sum();
    let (words, rest) = rest.as_chunks::<2>();
    for word in words {
        total += u64::from(u16::from_ne_bytes(*word));
    }
    if let [last] = rest {
        total += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    total
}

/// Folds a sum to 16 bits, not complemented. Stored by `to_ne_bytes`.
#[inline]
pub fn fold(sum: u64) -> u16 {
    let mut sum = (sum & 0xffff_ffff) + (sum >> 32);
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or(u16::MAX)
}

/// Sum of the pseudo-header of TCP and UDP (RFC 9293 section 3.1, RFC 8200 section 8.1). `addresses` is source and destination as they stand in the IP header.
#[inline]
pub fn pseudo(addresses: &[u8], protocol: u8, length: usize) -> u64 {
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    sum(addresses) + sum(&[0, protocol]) + sum(&length)
}

/// Fills the checksum of an IPv4 header.
#[inline]
pub fn fill_ipv4_header(header: &mut [u8]) {
    if let Some(field) = header.get_mut(10..12) {
        field.copy_from_slice(&[0, 0]);
        let value = !fold(sum(header));
        header[10..12].copy_from_slice(&value.to_ne_bytes());
    }
}

#[cfg(test)]
pub(crate) mod naive {
    //! The checksum once more, word by word as RFC 1071 tells it, to check the other against.

    pub(crate) fn checksum(pieces: &[&[u8]]) -> u16 {
        let all: Vec<u8> = pieces.concat();
        let mut sum = 0u32;
        for pair in all.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
        }
        !(sum as u16)
    }

    /// Whether IP header and TCP or UDP checksum of a whole packet hold.
    pub(crate) fn valid(packet: &[u8]) -> bool {
        let (addresses, header, protocol) = match packet[0] >> 4 {
            4 => {
                let header = usize::from(packet[0] & 15) * 4;
                if checksum(&[&packet[..header]]) != 0
                    || usize::from(u16::from_be_bytes([packet[2], packet[3]])) != packet.len()
                {
                    return false;
                }
                (&packet[12..20], header, packet[9])
            }
            _ => {
                if usize::from(u16::from_be_bytes([packet[4], packet[5]])) + 40 != packet.len() {
                    return false;
                }
                (&packet[8..40], 40, packet[6])
            }
        };
        let body = &packet[header..];
        let length = (body.len() as u32).to_be_bytes();
        checksum(&[addresses, &[0, protocol], &length, body]) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn agrees_with_the_naive_sum(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let ours = (!fold(sum(&bytes))).to_ne_bytes();
            prop_assert_eq!(u16::from_be_bytes(ours), naive::checksum(&[&bytes]));
        }
    }

    #[test]
    fn all_ones_fold() {
        assert_eq!(fold(sum(&[0xff; 65_534])), 0xffff);
        assert_eq!(fold(u64::MAX), 0xffff);
    }
}
