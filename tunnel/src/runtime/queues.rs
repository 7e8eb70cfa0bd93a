//! How many queues the TUN device of a tunnel has, and so how many threads carry its packets.

use std::{num::NonZeroU8, str::FromStr, thread};

use warren_transport::udp::Udp;

use super::datapath::Device;

/// The most that are accepted. Each has two threads.
const MOST: u8 = 32;
/// The most that `auto` selects.
const AUTO: usize = 8;

/// The number of queues that the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queues {
    /// One for every two processors, at most 8, and not more than there are peers: a queue has two threads, and a peer has a queue.
    #[default]
    Auto,
    /// This many.
    Count(NonZeroU8),
}

impl FromStr for Queues {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let count = text.parse().ok().filter(|count: &NonZeroU8| count.get() <= MOST);
        count.map(Self::Count).ok_or_else(|| format!("must be auto, or a number from 1 to {MOST}"))
    }
}

impl Queues {
    /// The number for a tunnel with at most so many peers.
    pub fn count(self, peers: usize) -> usize {
        match self {
            Self::Auto => {
                let processors = thread::available_parallelism().map_or(1, usize::from);
                auto(processors, peers)
            }
            Self::Count(count) => usize::from(count.get()),
        }
    }
}

fn auto(processors: usize, peers: usize) -> usize {
    (processors / 2).min(peers).clamp(1, AUTO)
}

/// Opens a pair of sockets for each queue of a device. With fewer, queues share the first one.
pub fn widen(udp: &mut Udp, device: &Device) {
    let Device::Tun(queues) = device else { return };
    let wanted = queues.len();
    match udp.widen(wanted) {
        Ok(()) if wanted > 1 => tracing::info!(queues = wanted, "packets are carried by several queues"),
        Ok(()) => {}
        Err(error) => {
            tracing::warn!(%error, sockets = udp.queues(), queues = wanted, "not every queue has sockets of its own");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_half_of_the_processors_and_no_more_than_peers() {
        let cases = [(1, 9, 1), (2, 9, 1), (4, 9, 2), (64, 9, 8), (64, 1, 1), (64, 0, 1), (5, 3, 2)];
        for (processors, peers, queues) in cases {
            assert_eq!(auto(processors, peers), queues, "{processors} processors, {peers} peers");
        }
    }

    #[test]
    fn a_number_or_auto() {
        assert_eq!("auto".parse(), Ok(Queues::Auto));
        assert_eq!("4".parse::<Queues>().map(|queues| queues.count(1)), Ok(4));
        for text in ["0", "33", "-1", "", "many"] {
            assert_eq!(
                text.parse::<Queues>(),
                Err("must be auto, or a number from 1 to 32".to_owned()),
                "{text}"
            );
        }
    }
}
