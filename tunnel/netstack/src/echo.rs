//! ICMP echo for the application (RFC 792, RFC 4443 section 4): requests of its own and their replies, and, for a gateway, the
//! requests that its peers send to others, answered in the name of those.
//!
//! Requests to the stack's own addresses are answered by the stack itself.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::buffer::Pool;
use crate::icmp;
use crate::stack::{Event, Stack};
use crate::udp::UdpError;
use crate::wire::ip_header;

/// Echoes that wait for the application; more are dropped.
const MAX_QUEUE: usize = 64;
/// What a queued echo costs beside its bytes.
const OVERHEAD: usize = 96;

/// Which of the two messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoKind {
    /// Asks for a reply.
    Request,
    /// Brings back what the request had.
    Reply,
}

/// An echo message and its two ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echo {
    /// Request or reply.
    pub kind: EchoKind,
    /// The address it was sent to, or is sent from.
    pub local: IpAddr,
    /// The other end.
    pub remote: IpAddr,
    /// Tells senders apart.
    pub identifier: u16,
    /// Tells the messages of one sender apart.
    pub sequence: u16,
    /// What the reply brings back.
    pub data: Vec<u8>,
}

/// Echoes that wait for the application, if it wants any.
#[derive(Debug, Default)]
pub(crate) struct Echoes(Option<VecDeque<Echo>>);

impl Echoes {
    /// Keeps one; whether the application is to be told. `None`: it is dropped.
    pub(crate) fn keep(&mut self, pool: &mut Pool, echo: Echo) -> Option<bool> {
        let waiting = self.0.as_mut()?;
        if waiting.len() >= MAX_QUEUE || !pool.charge(echo.data.len() + OVERHEAD) {
            return None;
        }
        waiting.push_back(echo);
        Some(waiting.len() == 1)
    }
}

impl Stack {
    /// From now on [`Event::Echo`] tells of replies that came, and with `accept_any` of requests to addresses that are not
    /// the stack's own.
    pub fn echo_open(&mut self) {
        self.echoes.0.get_or_insert_default();
    }

    /// Takes an echo.
    pub fn echo_recv(&mut self) -> Option<Echo> {
        let echo = self.echoes.0.as_mut()?.pop_front()?;
        self.pool.refund(echo.data.len() + OVERHEAD);
        Some(echo)
    }

    /// Sends an echo: a request, or the reply to a request that was taken, in the name of its destination.
    ///
    /// # Errors
    /// It is too large, the queue is full, or the families of its two ends differ.
    pub fn echo_send(&mut self, echo: &Echo) -> Result<(), UdpError> {
        if echo.local.is_ipv4() != echo.remote.is_ipv4() {
            return Err(UdpError::NoAddress);
        }
        let most = self.path_mtu(echo.remote) - ip_header(echo.local) - icmp::HEADER;
        if echo.data.len() > most {
            return Err(UdpError::TooLarge(most));
        }
        if self.queue_raw(icmp::echo(echo)) { Ok(()) } else { Err(UdpError::Full) }
    }

    pub(crate) fn deliver_echo(&mut self, echo: Echo) -> Option<()> {
        if self.echoes.keep(&mut self.pool, echo)? {
            self.events.push_back(Event::Echo);
        }
        Some(())
    }
}
