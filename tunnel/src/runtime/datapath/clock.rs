//! The only place that reads clocks.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use warren_proto::Now;

/// Reads the monotonic time since boot, including suspended time: a session must not outlive its three minutes because the
/// machine was suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// Monotonic time, for the packet path.
    #[inline]
    pub fn mono(self) -> Duration {
        let now = clock_gettime(ClockId::Boottime);
        Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    /// Both clocks, for the engine.
    pub fn now(self) -> Now {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Now::new(self.mono(), wall)
    }
}
