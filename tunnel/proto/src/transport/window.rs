//! The replay window: which of the last counters were seen (RFC 6479's ring of words).

/// Counters behind the highest one that are still accepted.
pub const WINDOW: u64 = 8192;

const BITS: u64 = 64;
/// One word more than the window: the word that is being entered is cleared as a whole.
const WORDS: u64 = WINDOW / BITS + 1;

/// A set of the counters seen, of fixed size.
///
/// The words form a ring. When the highest counter moves on, the words it passes are cleared; so a counter's
/// bit is valid as long as it is at most [`WINDOW`] behind the highest.
#[derive(Debug)]
pub struct Window {
    /// One more than the highest counter seen, 0 at first.
    next: u64,
    words: [u64; WORDS as usize],
}

impl Window {
    /// An empty window.
    #[must_use]
    pub fn new() -> Self {
        Self { next: 0, words: [0; WORDS as usize] }
    }

    /// Records a counter; false if it was seen before or is too old to distinguish.
    pub fn accept(&mut self, counter: u64) -> bool {
        let word = counter / BITS;
        if counter >= self.next {
            let highest = self.next.saturating_sub(1) / BITS;
            let passed = (word - highest).min(WORDS);
            for step in 1..=passed {
                self.words[slot(highest + step)] = 0;
            }
            self.next = counter.saturating_add(1);
        } else if self.next - counter > WINDOW {
            return false;
        }
        let bit = 1 << (counter % BITS);
        let entry = &mut self.words[slot(word)];
        let new = *entry & bit == 0;
        *entry |= bit;
        new
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

fn slot(word: u64) -> usize {
    (word % WORDS) as usize
}
