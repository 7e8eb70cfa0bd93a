//! The link of a host with smoltcp's interface: packets are put in and taken out. For the benchmark, and for the test
//! `smoltcp_peer`.

use std::collections::VecDeque;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::MTU;

/// Packets that have arrived, and packets that leave.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) arrived: VecDeque<Vec<u8>>,
    pub(crate) leaving: Vec<Vec<u8>>,
}

pub(crate) struct Arrived(Vec<u8>);
pub(crate) struct Leaving<'a>(&'a mut Vec<Vec<u8>>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

/// The time of smoltcp; `now` is in nanoseconds.
pub(crate) fn instant(now: u64) -> Instant {
    Instant::from_micros((now / 1_000) as i64)
}
