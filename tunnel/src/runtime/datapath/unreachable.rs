//! ICMP "host unreachable" for packets that no peer accepts, so that programs fail immediately instead of timing out (RFC 792,
//! RFC 4443 section 3.1).

use std::time::Duration;

use warren_device::tun::checksum::{fill_ipv4_header, fold, pseudo, sum};
use warren_device::tun::vnet::VNET_HEADER;

/// Bytes of the packet that are quoted. The error stays below the minimum MTU of its family.
const QUOTE_V4: usize = 548;
const QUOTE_V6: usize = 1232;
/// Time between two answers beyond a burst, as the kernel's own limit (RFC 4443 section 2.4 f).
const INTERVAL: Duration = Duration::from_millis(20);
const BURST: u32 = 10;

/// Creates the ICMP errors, with a rate limit.
pub(super) struct Unreachable {
    buffer: Vec<u8>,
    next: Duration,
}

impl Unreachable {
    pub(super) fn new() -> Self {
        Self { buffer: Vec::with_capacity(VNET_HEADER + 48 + QUOTE_V6), next: Duration::ZERO }
    }

    /// A frame for the device; `None` above the rate limit, or if the packet must not be answered.
    pub(super) fn answer(&mut self, now: Duration, packet: &[u8]) -> Option<&[u8]> {
        let v4 = packet.first()? >> 4 == 4;
        if !(if v4 { answerable_v4(packet) } else { answerable_v6(packet) }) || !self.due(now) {
            return None;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; VNET_HEADER]);
        let quote = &packet[..packet.len().min(if v4 { QUOTE_V4 } else { QUOTE_V6 })];
        let length = u16::try_from(8 + quote.len()).ok()?;
        if v4 {
            let total = (length + 20).to_be_bytes();
            self.buffer.extend_from_slice(&[0x45, 0xc0, total[0], total[1], 0, 0, 0, 0, 64, 1, 0, 0]);
            // The source is the unreachable destination, since our own address is not known here.
            self.buffer.extend_from_slice(&packet[16..20]);
            self.buffer.extend_from_slice(&packet[12..16]);
            fill_ipv4_header(&mut self.buffer[VNET_HEADER..]);
            self.buffer.extend_from_slice(&[3, 1, 0, 0, 0, 0, 0, 0]);
        } else {
            let length = length.to_be_bytes();
            self.buffer.extend_from_slice(&[0x60, 0, 0, 0, length[0], length[1], 58, 64]);
            self.buffer.extend_from_slice(&packet[24..40]);
            self.buffer.extend_from_slice(&packet[8..24]);
            self.buffer.extend_from_slice(&[1, 3, 0, 0, 0, 0, 0, 0]);
        }
        self.buffer.extend_from_slice(quote);
        let icmp = VNET_HEADER + if v4 { 20 } else { 40 };
        let mut all = sum(&self.buffer[icmp..]);
        if !v4 {
            all += pseudo(&self.buffer[VNET_HEADER + 8..VNET_HEADER + 40], 58, 8 + quote.len());
        }
        self.buffer[icmp + 2..icmp + 4].copy_from_slice(&(!fold(all)).to_ne_bytes());
        Some(&self.buffer)
    }

    /// A token bucket of `BURST` errors that gains one per `INTERVAL`.
    fn due(&mut self, now: Duration) -> bool {
        let next = self.next.max(now.saturating_sub(INTERVAL * BURST));
        if next > now {
            return false;
        }
        self.next = next + INTERVAL;
        true
    }
}

/// RFC 1122 section 3.2.2: no answer to ICMP errors, later fragments, multicast, broadcast or an unspecified source.
fn answerable_v4(packet: &[u8]) -> bool {
    let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    if packet.len() < 20 || header < 20 || packet.len() < header {
        return false;
    }
    let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff;
    let icmp_error = packet[9] == 1 && !matches!(packet.get(header), Some(0 | 8 | 13 | 14));
    fragment == 0 && !icmp_error && packet[12] < 224 && packet[12] != 0 && packet[16] < 224
}

/// RFC 4443 section 2.4 e.
fn answerable_v6(packet: &[u8]) -> bool {
    if packet.len() < 40 {
        return false;
    }
    let icmp_error = packet[6] == 58 && packet.get(40).is_none_or(|kind| *kind < 128);
    !icmp_error && packet[8] != 0xff && packet[24] != 0xff && packet[8..24] != [0; 16]
}

#[cfg(test)]
mod tests {
    use super::*;
    use warren_device::tun::ip;

    fn v4() -> Vec<u8> {
        let mut packet =
            vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 9, 0, 2, 0, 1, 0, 2, 0, 8, 0, 0];
        fill_ipv4_header(&mut packet[..20]);
        packet
    }

    #[test]
    fn answers_quote_the_packet() {
        let mut unreachable = Unreachable::new();
        let answer = unreachable.answer(Duration::from_secs(9), &v4()).unwrap();
        let packet = &answer[VNET_HEADER..];
        assert_eq!(ip::length(packet), Some(56));
        assert_eq!(ip::source(packet), Some([10, 9, 0, 2].into()));
        assert_eq!(ip::destination(packet), Some([10, 0, 0, 1].into()));
        assert_eq!(fold(sum(&packet[..20])), 0xffff);
        assert_eq!(fold(sum(&packet[20..])), 0xffff);
        assert_eq!(packet[20..22], [3, 1]);
        assert_eq!(packet[28..], v4());
        let mut v6 = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
        v6.extend_from_slice(&[1; 16]);
        v6.extend_from_slice(&[2; 16]);
        v6.extend_from_slice(&[0, 1, 0, 2, 0, 8, 0, 0]);
        let packet = &unreachable.answer(Duration::from_secs(9), &v6).unwrap()[VNET_HEADER..];
        assert_eq!(ip::length(packet), Some(96));
        let check = pseudo(&packet[8..40], 58, packet.len() - 40) + sum(&packet[40..]);
        assert_eq!(fold(check), 0xffff);
    }

    #[test]
    fn some_packets_are_not_answered() {
        let mut unreachable = Unreachable::new();
        let now = Duration::from_secs(9);
        let mut change = |at: usize, value: u8| {
            let mut packet = v4();
            packet[at] = value;
            unreachable.answer(now, &packet).is_some()
        };
        assert!(change(8, 1));
        assert!(!change(16, 224));
        assert!(!change(12, 0));
        assert!(!change(7, 1));
        assert!(!change(0, 0x4f));
        let mut error = v4();
        error[9] = 1;
        error[20] = 3;
        assert!(unreachable.answer(now, &error).is_none());
        assert!(unreachable.answer(now, &[]).is_none());
        assert!(unreachable.answer(now, &[0x60; 39]).is_none());
    }

    #[test]
    fn answers_are_limited() {
        let mut unreachable = Unreachable::new();
        let now = Duration::from_secs(9);
        let burst = (0..100).filter(|_| unreachable.answer(now, &v4()).is_some()).count();
        assert_eq!(burst, 11);
        assert!(unreachable.answer(now + INTERVAL, &v4()).is_some());
        assert!(unreachable.answer(now + INTERVAL, &v4()).is_none());
    }
}
