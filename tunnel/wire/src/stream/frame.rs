//! Frames: see the parent module's drawing.

use std::ops::Range;

/// Bytes of a frame's length.
pub const PREFIX: usize = 2;
/// The longest WireGuard message: what a UDP datagram over IPv4 holds.
pub const LONGEST: usize = 65_507;
/// The shortest: a keepalive.
const SHORTEST: usize = 32;
const PING: u8 = 0x80;
const PONG: u8 = 0x81;
/// Bytes of a ping or pong with its prefix.
pub const PING_FRAME: usize = PREFIX + 9;

/// What a frame holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A WireGuard message, at this place in the buffer.
    Datagram(Range<usize>),
    /// A ping, answered by a pong with the same number.
    Ping(u64),
    /// The answer to a ping.
    Pong(u64),
    /// Of a later version: ignored.
    Unknown,
}

/// An error after which the start of the next frame is unknown, so the stream must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length of 0.
    #[error("a frame of no bytes")]
    Empty,
    /// A WireGuard message shorter than any, or a ping of another length.
    #[error("a frame that is too short for its type")]
    Short,
    /// Longer than any WireGuard message.
    #[error("a frame that is too long")]
    Long,
}

/// The frame that begins at `at`, and where the next one begins; `None`: the rest of it has not come yet.
///
/// # Errors
/// When the stream cannot be understood from here on.
#[inline]
pub fn next(buffer: &[u8], at: usize) -> Result<Option<(Frame, usize)>, FrameError> {
    let Some(prefix) = buffer.get(at..).and_then(<[u8]>::first_chunk::<PREFIX>) else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes(*prefix));
    if length == 0 {
        return Err(FrameError::Empty);
    }
    if length > LONGEST {
        return Err(FrameError::Long);
    }
    let place = at + PREFIX..at + PREFIX + length;
    let Some(&kind) = buffer.get(place.start) else { return Ok(None) };
    // Told as soon as it is known, not when all of it has come.
    match kind {
        1..=4 if length < SHORTEST => return Err(FrameError::Short),
        PING | PONG if length != PING_FRAME - PREFIX => return Err(FrameError::Short),
        _ => {}
    }
    let Some(content) = buffer.get(place.clone()) else { return Ok(None) };
    let number = || content.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    let end = place.end;
    let frame = match kind {
        1..=4 => Frame::Datagram(place),
        PING => Frame::Ping(number()),
        PONG => Frame::Pong(number()),
        _ => Frame::Unknown,
    };
    Ok(Some((frame, end)))
}

/// The prefix of a WireGuard message of `length` bytes, at most [`LONGEST`].
#[inline]
#[must_use]
pub fn prefix(length: usize) -> [u8; PREFIX] {
    debug_assert!(length <= LONGEST, "longer than any datagram");
    (length as u16).to_be_bytes()
}

/// A ping of a number.
#[must_use]
pub fn ping(number: u64) -> [u8; PING_FRAME] {
    control(PING, number)
}

/// The answer to a ping.
#[must_use]
pub fn pong(number: u64) -> [u8; PING_FRAME] {
    control(PONG, number)
}

fn control(kind: u8, number: u64) -> [u8; PING_FRAME] {
    let mut frame = [0; PING_FRAME];
    frame[..PREFIX].copy_from_slice(&prefix(PING_FRAME - PREFIX));
    frame[PREFIX] = kind;
    frame[PREFIX + 1..].copy_from_slice(&number.to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8]) -> Result<(Vec<Frame>, usize), FrameError> {
        let (mut frames, mut at) = (Vec::new(), 0);
        while let Some((frame, end)) = next(bytes, at)? {
            frames.push(frame);
            at = end;
        }
        Ok((frames, at))
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = ping(7).to_vec();
        bytes.extend(prefix(32));
        bytes.extend([4; 32]);
        bytes.extend(prefix(3));
        bytes.extend([0x90, 1, 2]);
        bytes.extend(pong(u64::MAX));
        bytes.extend(prefix(40));
        bytes.extend([1; 39]);
        let (frames, end) = all(&bytes).unwrap();
        let datagram = Frame::Datagram(PING_FRAME + 2..PING_FRAME + 34);
        assert_eq!(frames, [Frame::Ping(7), datagram, Frame::Unknown, Frame::Pong(u64::MAX)]);
        assert_eq!(end, bytes.len() - 41);
    }

    #[test]
    fn what_cannot_be_is_refused_at_once() {
        assert_eq!(next(&[0, 0], 0), Err(FrameError::Empty));
        assert_eq!(next(&[0xff, 0xff], 0), Err(FrameError::Long));
        assert_eq!(next(&[0, 31, 4], 0), Err(FrameError::Short));
        assert_eq!(next(&[0, 10, 0x80], 0), Err(FrameError::Short));
        assert_eq!(next(&[0, 32, 4], 0), Ok(None));
        assert_eq!(next(&[0], 0), Ok(None));
        assert_eq!(next(&[], 9), Ok(None));
    }

    proptest! {
        /// Wherever the stream is cut, the same frames come of it.
        #[test]
        fn cuts_change_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..600), cut in 0usize..600) {
            let cut = cut.min(bytes.len());
            if let Ok((whole, end)) = all(&bytes) {
                prop_assert!(end <= bytes.len());
                let (mut frames, at) = all(&bytes[..cut]).unwrap();
                let mut at = at;
                while let Some((frame, end)) = next(&bytes, at).unwrap() {
                    frames.push(frame);
                    at = end;
                }
                prop_assert_eq!(frames, whole);
            }
        }
    }
}
