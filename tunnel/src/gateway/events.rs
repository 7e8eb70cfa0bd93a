//! The latest events of a gateway, for operators. Bounded, in memory only.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::model::Event;
use crate::enrolment::now;

/// Events of each kind that are kept. Pods cause events by joining, and must not displace those of operators.
const CAPACITY: usize = 100;
/// More events at once become one: after a start, all leases of the store arrive together.
const AT_ONCE: usize = 20;

/// The latest events.
#[derive(Debug, Default)]
pub(super) struct Events {
    of_pods: Mutex<VecDeque<Event>>,
    others: Mutex<VecDeque<Event>>,
}

impl Events {
    /// Adds an event that happened now, and that no pod has caused.
    pub(super) fn add(&self, what: impl Into<String>) {
        push(&self.others, what.into());
    }

    /// Adds events of pods that happened together.
    pub(super) fn add_of_pods(&self, all: Vec<String>) {
        if all.len() > AT_ONCE {
            return push(&self.of_pods, format!("{} changes of pods at once", all.len()));
        }
        all.into_iter().for_each(|what| push(&self.of_pods, what));
    }

    /// All events, the last one first.
    pub(super) fn all(&self) -> Vec<Event> {
        let mut all: Vec<Event> = self.of_pods.lock().iter().cloned().collect();
        all.extend(self.others.lock().iter().cloned());
        // Stable: those of one second stay in their order.
        all.sort_by(|a, b| b.at.cmp(&a.at));
        all
    }
}

fn push(events: &Mutex<VecDeque<Event>>, what: String) {
    let mut events = events.lock();
    if events.len() == CAPACITY {
        events.pop_back();
    }
    events.push_front(Event { at: now().to_string(), what });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_events_are_kept_and_many_at_once_are_one() {
        let events = Events::default();
        events.add("drained");
        (0..1000).for_each(|number| events.add_of_pods(vec![number.to_string()]));
        let kept = events.all();
        let has = |what: &str| kept.iter().any(|event| event.what == what);
        assert_eq!(kept.len(), 101);
        assert!(has("999") && has("900") && !has("899") && has("drained"));
        events.add_of_pods((0..500).map(|number| format!("pod-{number} joined")).collect());
        assert!(events.all().iter().any(|event| event.what == "500 changes of pods at once"));
        assert_eq!(events.all().len(), 101);
    }
}
