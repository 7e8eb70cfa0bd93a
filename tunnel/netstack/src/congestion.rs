//! What a congestion controller sees and says.

use crate::bbr::Bbr;
use crate::cubic::Cubic;
use crate::rate::RateSample;
use crate::seq::Nanos;

/// Which controller new streams use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// Model-based: keeps its rate under random loss. For long and lossy paths.
    #[default]
    Bbr,
    /// RFC 9438, the Internet's default; shares fairly with itself.
    Cubic,
}

impl Congestion {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Bbr, Self::Cubic];

    /// Its name, as Linux has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bbr => "bbr",
            Self::Cubic => "cubic",
        }
    }

    pub(crate) fn controller(self, mss: u64, now: Nanos, random: u64) -> Box<dyn Controller> {
        match self {
            Self::Bbr => Box::new(Bbr::new(mss, now, random)),
            Self::Cubic => Box::new(Cubic::new(mss)),
        }
    }
}

/// Segments in the initial window (RFC 6928).
pub(crate) const INITIAL_WINDOW: u64 = 10;

/// One acknowledgement that delivered something or showed a loss.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ack {
    pub(crate) now: Nanos,
    /// Bytes newly delivered, cumulatively or selectively.
    pub(crate) delivered: u64,
    /// In flight afterwards.
    pub(crate) flight: u64,
    /// Bytes delivered since the stream began.
    pub(crate) total_delivered: u64,
    /// From a segment that was sent once.
    pub(crate) rtt: Option<Nanos>,
    pub(crate) smoothed_rtt: Option<Nanos>,
    pub(crate) rate: Option<RateSample>,
    /// The window, not the application, holds the sender back, or nearly so.
    pub(crate) window_limited: bool,
    /// The window held a segment back.
    pub(crate) window_full: bool,
    /// The peer acknowledges selectively: more than one loss is seen in a round trip.
    pub(crate) selective: bool,
}

/// A segment that is held to be lost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lost {
    pub(crate) now: Nanos,
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// What was in flight when it left, with it.
    pub(crate) flight: u64,
    /// Bytes lost since it left, with it.
    pub(crate) lost: u64,
    pub(crate) app_limited: bool,
    /// Bytes delivered since the stream began.
    pub(crate) total_delivered: u64,
    pub(crate) selective: bool,
}

/// A congestion controller. It keeps no clock and sends nothing: the sender asks for a window and a rate.
pub(crate) trait Controller: Send {
    fn on_ack(&mut self, ack: &Ack);
    /// One segment is held to be lost.
    fn on_lost(&mut self, _lost: &Lost) {}
    /// A loss starts a recovery; `flight` is what was outstanding. True when the window is reduced for it.
    fn on_loss(&mut self, now: Nanos, flight: u64) -> bool;
    /// The path has marked a packet instead of dropping it; how many, nobody says. At most once in a round trip, and what was
    /// outstanding is acknowledged as after a loss.
    fn on_mark(&mut self, mark: &Lost);
    /// What was outstanding at the loss is acknowledged.
    fn on_recovered(&mut self, now: Nanos);
    /// The first of what is in flight was not acknowledged in time; `again` when it is not the first timeout without progress.
    fn on_timeout(&mut self, now: Nanos, flight: u64, again: bool);
    /// The timeout was spurious, and those that followed: everything came through.
    fn undo(&mut self);
    fn on_sent(&mut self, bytes: u64);
    /// Sending starts again after a pause.
    fn on_restart(&mut self, now: Nanos, idle: Nanos, rto: Nanos);
    /// More than one SYN was lost: the first window is one segment (RFC 5681 §3.1, RFC 6928 §2).
    fn on_lost_syns(&mut self);
    /// The flight is kept small on purpose: rates measured now are lower bounds.
    fn holds_back(&self) -> bool {
        false
    }
    fn set_mss(&mut self, mss: u64);
    /// Bytes that may be in flight.
    fn window(&self) -> u64;
    /// Bytes a second; `None` leaves it to window and round trip.
    fn pacing_rate(&self) -> Option<u64>;
}
