//! Why there is no connection, told apart: proxies have an answer for each.

use std::io::{self, ErrorKind};
use std::net::IpAddr;

use warren_netstack::{CloseReason, Unreachable};

/// Why a connection did not come up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// No peer of the tunnel has the destination among its allowed addresses.
    #[error("the tunnel has no route to {0}: no peer has it in AllowedIPs")]
    NoRoute(IpAddr),
    /// This end has no address of the destination's family.
    #[error("the tunnel has no address in the address family of {0}")]
    NoAddress(IpAddr),
    /// The destination refused.
    #[error("connection refused")]
    Refused,
    /// A router, the destination, or this end for lack of a peer's endpoint, said that it cannot be reached.
    #[error("destination unreachable")]
    Unreachable,
    /// A rule on the way forbids it.
    #[error("administratively prohibited")]
    Prohibited,
    /// No answer.
    #[error("connection timed out")]
    TimedOut,
    /// The other end ended it while it came up.
    #[error("connection reset")]
    Reset,
    /// Streams or ports of this end are used up.
    #[error("too many connections")]
    TooMany,
    /// The tunnel has ended.
    #[error("the tunnel is down")]
    Down,
}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        let kind = match error {
            ConnectError::NoRoute(_) => ErrorKind::NetworkUnreachable,
            ConnectError::NoAddress(_) => ErrorKind::AddrNotAvailable,
            ConnectError::Refused => ErrorKind::ConnectionRefused,
            ConnectError::Unreachable => ErrorKind::HostUnreachable,
            ConnectError::Prohibited => ErrorKind::PermissionDenied,
            ConnectError::TimedOut => ErrorKind::TimedOut,
            ConnectError::Reset => ErrorKind::ConnectionReset,
            ConnectError::TooMany => ErrorKind::QuotaExceeded,
            ConnectError::Down => ErrorKind::NetworkDown,
        };
        io::Error::new(kind, error)
    }
}

impl From<CloseReason> for ConnectError {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::Refused => Self::Refused,
            CloseReason::Unreachable => Self::Unreachable,
            CloseReason::Prohibited => Self::Prohibited,
            CloseReason::TimedOut => Self::TimedOut,
            CloseReason::Finished | CloseReason::Reset | CloseReason::Aborted => Self::Reset,
        }
    }
}

/// Why there is no listener or socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The port is in use.
    #[error("port {0} of the tunnel is in use")]
    InUse(u16),
    /// A listener needs one.
    #[error("cannot listen on port 0")]
    NoPort,
    /// The tunnel has ended.
    #[error("the tunnel is down")]
    Down,
}

impl From<BindError> for io::Error {
    fn from(error: BindError) -> Self {
        let kind = match error {
            BindError::InUse(_) => ErrorKind::AddrInUse,
            BindError::NoPort => ErrorKind::InvalidInput,
            BindError::Down => ErrorKind::NetworkDown,
        };
        io::Error::new(kind, error)
    }
}

/// An echo request that was not delivered, as a router or the host reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{by} reports: {}", self.reason())]
pub struct Undeliverable {
    /// Who reports it.
    pub by: IpAddr,
    /// Why.
    pub why: Unreachable,
}

impl Undeliverable {
    /// The reason in words.
    pub fn reason(&self) -> &'static str {
        match self.why {
            Unreachable::Network => "network unreachable",
            Unreachable::Host => "host unreachable",
            Unreachable::Port => "port unreachable",
            Unreachable::Prohibited => "administratively prohibited",
        }
    }
}

pub(super) fn undelivered(by: IpAddr, why: Unreachable) -> io::Error {
    let kind = match why {
        Unreachable::Network => ErrorKind::NetworkUnreachable,
        Unreachable::Host => ErrorKind::HostUnreachable,
        Unreachable::Port => ErrorKind::ConnectionRefused,
        Unreachable::Prohibited => ErrorKind::PermissionDenied,
    };
    io::Error::new(kind, Undeliverable { by, why })
}

/// What reading from or writing to a stream that is over gives.
pub(super) fn ended(reason: CloseReason) -> io::Error {
    let kind = match reason {
        CloseReason::Finished => ErrorKind::BrokenPipe,
        CloseReason::Refused => ErrorKind::ConnectionRefused,
        CloseReason::Reset => ErrorKind::ConnectionReset,
        CloseReason::TimedOut => ErrorKind::TimedOut,
        CloseReason::Unreachable => ErrorKind::HostUnreachable,
        CloseReason::Prohibited => ErrorKind::PermissionDenied,
        CloseReason::Aborted => ErrorKind::ConnectionAborted,
    };
    io::Error::new(kind, reason)
}

pub(super) fn down() -> io::Error {
    io::Error::new(ErrorKind::NetworkDown, "the tunnel is down")
}
