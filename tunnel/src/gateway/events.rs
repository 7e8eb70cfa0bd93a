//! The latest events of a gateway, for operators. Bounded, in memory only.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::model::Event;
use crate::enrolment::now;

/// Events that are kept.
const CAPACITY: usize = 200;
/// More events at once become one: after a start, all leases of the store arrive together.
const AT_ONCE: usize = 20;

/// The latest events.
#[derive(Debug, Default)]
pub(super) struct Events(Mutex<VecDeque<Event>>);

impl Events {
    /// Adds an event that happened now.
    pub(super) fn add(&self, what: impl Into<String>) {
        let mut events = self.0.lock();
        if events.len() == CAPACITY {
            events.pop_back();
        }
        events.push_front(Event { at: now().to_string(), what: what.into() });
    }

    /// Adds events that happened together.
    pub(super) fn add_all(&self, all: Vec<String>) {
        if all.len() > AT_ONCE {
            return self.add(format!("{} changes of pods at once", all.len()));
        }
        all.into_iter().for_each(|what| self.add(what));
    }

    /// All events, the last one first.
    pub(super) fn all(&self) -> Vec<Event> {
        self.0.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_events_are_kept_and_many_at_once_are_one() {
        let events = Events::default();
        (0..1000).for_each(|number| events.add(number.to_string()));
        let kept = events.all();
        assert_eq!((kept.len(), kept[0].what.as_str(), kept[199].what.as_str()), (200, "999", "800"));
        events.add_all(vec!["a joined".into(), "b left".into()]);
        events.add_all((0..500).map(|number| format!("pod-{number} joined")).collect());
        let kept: Vec<String> = events.all().into_iter().take(3).map(|event| event.what).collect();
        assert_eq!(kept, ["500 changes of pods at once", "b left", "a joined"]);
    }
}
