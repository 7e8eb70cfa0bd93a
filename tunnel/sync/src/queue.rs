//! Objects that wait for their transfer, the largest first: a large one at the end would keep all others waiting.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use futures_util::stream::{self, Stream};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::plan::Entry;

/// The queue. Listings add to it, and transfers take from it.
#[derive(Default)]
pub(crate) struct Queue {
    whole: Line,
    large: Line,
}

/// Objects of one kind. One stream takes them.
#[derive(Default)]
struct Line {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: BinaryHeap<Waiting>,
    closed: bool,
}

/// An object, ordered by its size, and then by its name.
#[derive(PartialEq, Eq)]
struct Waiting(Entry);

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let sizes = self.0.stamp.size.cmp(&other.0.stamp.size);
        sizes.then_with(|| other.0.name.cmp(&self.0.name))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Queue {
    /// Adds objects; `is_whole` says which are transferred by one request.
    pub(crate) fn add(&self, entries: Vec<Entry>, is_whole: impl Fn(&Entry) -> bool) {
        let (whole, large) = entries.into_iter().partition(is_whole);
        self.whole.add(whole);
        self.large.add(large);
    }

    /// Closes the queue when it is dropped: the streams end after what is there.
    pub(crate) fn closing(&self) -> Closing<'_> {
        Closing(self)
    }

    /// Objects that are transferred by one request.
    pub(crate) fn whole(&self) -> impl Stream<Item = Entry> {
        self.whole.stream()
    }

    /// Objects of several parts.
    pub(crate) fn large(&self) -> impl Stream<Item = Entry> {
        self.large.stream()
    }
}

/// See [`Queue::closing`].
pub(crate) struct Closing<'a>(&'a Queue);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        for line in [&self.0.whole, &self.0.large] {
            line.state.lock().closed = true;
            line.changed.notify_one();
        }
    }
}

impl Line {
    fn add(&self, entries: Vec<Entry>) {
        self.state.lock().waiting.extend(entries.into_iter().map(Waiting));
        self.changed.notify_one();
    }

    fn stream(&self) -> impl Stream<Item = Entry> {
        stream::unfold(self, |line| async move { line.next().await.map(|entry| (entry, line)) })
    }

    async fn next(&self) -> Option<Entry> {
        loop {
            {
                let mut state = self.state.lock();
                if let Some(Waiting(entry)) = state.waiting.pop() {
                    return Some(entry);
                }
                if state.closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;
    use crate::plan::Stamp;

    #[tokio::test]
    async fn the_largest_of_those_that_wait_is_next() {
        let entry = |name: &str, size| {
            let stamp = Stamp { size, modified: 0, etag: None };
            Entry { name: name.into(), stamp }
        };
        let queue = Queue::default();
        let closing = queue.closing();
        let whole = |entry: &Entry| entry.stamp.size < 10;
        queue.add(vec![entry("a", 1), entry("b", 20), entry("c", 3), entry("d", 3)], whole);
        let mut small = std::pin::pin!(queue.whole());
        assert_eq!(small.next().await.unwrap().name, "c");
        queue.add(vec![entry("e", 9)], whole);
        for name in ["e", "d", "a"] {
            assert_eq!(small.next().await.unwrap().name, name);
        }
        let (none, ()) = tokio::join!(small.next(), async { drop(closing) });
        assert_eq!(none, None);
        assert_eq!(queue.large().map(|entry| entry.name).collect::<Vec<_>>().await, ["b"]);
    }
}
