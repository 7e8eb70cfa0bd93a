//! Sequence numbers (RFC 9293 §3.4) as offsets that never wrap.
//!
//! Inside the crate a position in a stream is a `u64` that counts from the initial sequence number: the SYN has
//! offset 0, the first byte of data offset 1. Only the edge of the crate sees 32 bits, so no comparison inside can
//! be wrong at a wrap.

/// A clock value: nanoseconds since the caller's origin.
pub(crate) type Nanos = u64;

/// One millisecond.
pub(crate) const MS: Nanos = 1_000_000;
/// One second.
pub(crate) const SEC: Nanos = 1_000_000_000;

/// The 32-bit number of an offset.
pub(crate) fn to_wire(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has this 32-bit number; negative when it lies before the stream.
pub(crate) fn from_wire(initial: u32, near: u64, number: u32) -> i64 {
    let delta = number.wrapping_sub(to_wire(initial, near)) as i32;
    near as i64 + i64::from(delta)
}

/// `a < b` for 32-bit clocks that wrap (RFC 7323 §5.2).
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_wraps() {
        for initial in [0, 1, u32::MAX - 5, 0x8000_0000] {
            for near in [0_u64, 1, 70_000, 0x7fff_ffff, 0xffff_fff0, 0x1_0000_0010, 0x55_1234_5678] {
                for delta in [-1_000_000_i64, -1, 0, 1, 1_000_000] {
                    let offset = near as i64 + delta;
                    let number = initial.wrapping_add(offset as u32);
                    assert_eq!(from_wire(initial, near, number), offset);
                }
            }
        }
    }

    #[test]
    fn clocks_wrap() {
        assert!(before(u32::MAX, 0));
        assert!(before(1, 2));
        assert!(!before(2, 2));
    }
}
