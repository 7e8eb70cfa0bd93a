//! Why a connection was not made.

use std::io::{self, ErrorKind};

/// The reason why a connection failed, as far as the replies of SOCKS (RFC 1928 section 6) and HTTP distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DialError {
    /// The host refused: RST to our SYN, or ICMP port unreachable.
    #[error("connection refused")]
    Refused,
    /// A router or the host's neighbour said that the host is not there.
    #[error("host unreachable")]
    HostUnreachable,
    /// A router said that it knows no way to that network.
    #[error("network unreachable")]
    NetworkUnreachable,
    /// This end knows no way there: no route, no address of that family, no peer with a session.
    #[error("no route")]
    NoRoute,
    /// No answer in time.
    #[error("timed out")]
    TimedOut,
    /// Forbidden by configuration or by an administrator on the way (ICMP administratively prohibited).
    #[error("not permitted")]
    NotPermitted,
    /// This end has no port, descriptor or memory left.
    #[error("out of ports, descriptors or memory")]
    Exhausted,
    /// The network failed or no longer exists.
    #[error("network failure")]
    Failed,
}

impl From<&io::Error> for DialError {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Self::Refused,
            ErrorKind::HostUnreachable => Self::HostUnreachable,
            ErrorKind::NetworkUnreachable => Self::NetworkUnreachable,
            ErrorKind::AddrNotAvailable | ErrorKind::InvalidInput | ErrorKind::Unsupported => Self::NoRoute,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::PermissionDenied => Self::NotPermitted,
            ErrorKind::AddrInUse | ErrorKind::OutOfMemory => Self::Exhausted,
            _ => Self::of_number(error.raw_os_error()),
        }
    }
}

impl DialError {
    /// Errors without their own `ErrorKind` (errno(3)).
    fn of_number(number: Option<i32>) -> Self {
        const ENFILE: i32 = 23;
        const EMFILE: i32 = 24;
        const ENOBUFS: i32 = 105;
        match number {
            Some(ENFILE | EMFILE | ENOBUFS) => Self::Exhausted,
            _ => Self::Failed,
        }
    }
}
