//! Whose turn it is on the receiving thread. Pure.
//!
//! A round gives each peer that is ready one turn, and a few strangers. Between two rounds the thread asks the kernel who else
//! is ready, so a connection that always has more delays the others by one turn per round.

use std::collections::VecDeque;

/// Strangers that get a turn in a round: with [`super::limits::STRANGER_TURN`], at most 128 KiB.
const STRANGERS: usize = 8;

/// Connections that are ready, by number. The caller adds a connection only once.
#[derive(Debug, Default)]
pub(super) struct Turns {
    peers: VecDeque<u64>,
    strangers: VecDeque<u64>,
    /// What is left of this round.
    peers_left: usize,
    strangers_left: usize,
}

impl Turns {
    /// Adds a connection, whose turn is in the next round.
    pub(super) fn push(&mut self, number: u64, stranger: bool) {
        if stranger { self.strangers.push_back(number) } else { self.peers.push_back(number) }
    }

    /// Whether no connection waits.
    pub(super) fn is_empty(&self) -> bool {
        self.peers.is_empty() && self.strangers.is_empty()
    }

    /// Begins a round with the connections that wait now.
    pub(super) fn begin(&mut self) {
        self.peers_left = self.peers.len();
        self.strangers_left = self.strangers.len().min(STRANGERS);
    }

    /// The next one; `None`: the round is over.
    pub(super) fn next(&mut self) -> Option<u64> {
        let (queue, left) = if self.peers_left > 0 {
            (&mut self.peers, &mut self.peers_left)
        } else {
            (&mut self.strangers, &mut self.strangers_left)
        };
        *left = left.checked_sub(1)?;
        queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_every_peer_once_and_few_strangers() {
        let mut turns = Turns::default();
        (0..1000).for_each(|number| turns.push(number, true));
        (2000..2003).for_each(|number| turns.push(number, false));
        for round in 0..4 {
            turns.begin();
            let mut had = Vec::new();
            while let Some(number) = turns.next() {
                had.push(number);
                turns.push(number, number < 1000);
            }
            let strangers = (0..8).map(|n| round * 8 + n);
            assert_eq!(had, [2000, 2001, 2002].into_iter().chain(strangers).collect::<Vec<u64>>());
        }
        assert_eq!(turns.next(), None);
        assert!(!turns.is_empty());
    }
}
