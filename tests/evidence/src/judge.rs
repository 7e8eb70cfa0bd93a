//! Whether a client makes of an answer what its source says.

use std::fmt::Write as _;

use tf_provider_rs::Diagnostic;
use warren_managed::Failure;

use crate::answer::{Answer, Class};

/// What a client made of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Every class that the client's own predicates report.
    pub classes: Vec<Class>,
    /// What the user sees; empty where the client repeated the call.
    pub shown: String,
}

impl Seen {
    /// What an error is to the lifecycle of resources, and to the user.
    pub fn of<E: Failure>(error: E) -> Self {
        let classes = [
            (Class::Throttled, error.is_throttle()),
            (Class::Busy, error.is_not_ready()),
            (Class::Lost, error.is_ambiguous()),
            (Class::NotFound, error.is_not_found()),
            (Class::InUse, error.is_in_use()),
            (Class::Conflict, error.is_conflict()),
        ];
        let classes = classes.into_iter().filter_map(|(class, is)| is.then_some(class)).collect();
        let told: Diagnostic = error.into();
        Self { classes, shown: format!("{}\n{}", told.summary, told.detail) }
    }
}

/// The replay of a corpus through a client.
#[derive(Debug, Default)]
pub struct Replay {
    told: String,
    wrong: Vec<String>,
}

/// Words of the hint that belongs to a class. A hint of another class would send the user the wrong way.
const HINTS: &[(Class, &[&str])] = &[
    (Class::Denied, &["Allow this action", "Grant", "Enable it"]),
    (Class::Credentials, &["credentials", "Sign in", "API key"]),
    (Class::Quota, &["quota", "balance"]),
    (Class::Capacity, &["capacity", "machine"]),
    (Class::Invalid, &["rejected a value", "Choose", "Correct"]),
];

impl Replay {
    /// Judges one answer.
    pub fn judge(&mut self, answer: &Answer, seen: &Seen) {
        let id = &answer.id;
        // A write to a text does not fail.
        let _ = writeln!(self.told, "== {id} ({})\n{}\n", answer.client, seen.shown.trim_end());
        match (misjudged(answer, seen), &answer.open) {
            (Some(problem), None) => self.wrong.push(format!("{id}: {problem}")),
            (None, Some(reason)) => {
                self.wrong.push(format!("{id} is judged well, so this is no longer open: {reason}"));
            }
            _ => {}
        }
    }

    /// What users see, for a snapshot.
    ///
    /// # Panics
    /// A client made something else of an answer than its source says.
    pub fn told(self) -> String {
        assert!(self.wrong.is_empty(), "answers that the client misjudges:\n{}", self.wrong.join("\n"));
        self.told
    }
}

/// What is wrong with what a client made of an answer.
fn misjudged(answer: &Answer, seen: &Seen) -> Option<String> {
    let classes: Vec<String> = seen.classes.iter().map(ToString::to_string).collect();
    let classes = if classes.is_empty() { "final".to_owned() } else { classes.join(", ") };
    let right = if answer.client.is_final() {
        seen.classes.is_empty()
    } else {
        seen.classes.contains(&answer.client)
    };
    if !right {
        return Some(format!("{} by its source, but {classes} here", answer.client));
    }
    let (_, words) = HINTS.iter().find(|(class, _)| *class == answer.client)?;
    let (_, hint) = seen.shown.split_once("\n\n").unwrap_or_default();
    let fits = words.iter().any(|word| hint.contains(word));
    (!fits).then(|| format!("the hint is not one for {}: {hint:?}", answer.client))
}
