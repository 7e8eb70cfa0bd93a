//! Regular expressions of the schemas and of the services' rules, compiled once each: every field of every request and
//! answer is held against one.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;

type Patterns = Mutex<HashMap<String, Option<Arc<Regex>>>>;

/// Whether the pattern matches somewhere in the text; `None` for a pattern that is not one here (look-around).
pub(crate) fn occurs(pattern: &str, text: &str) -> Option<bool> {
    static COMPILED: LazyLock<Patterns> = LazyLock::new(Mutex::default);

    let compiled = {
        let mut patterns = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        match patterns.get(pattern) {
            Some(known) => known.clone(),
            None => {
                let compiled = Regex::new(pattern).ok().map(Arc::new);
                patterns.insert(pattern.to_owned(), compiled.clone());
                compiled
            }
        }
    };
    Some(compiled?.is_match(text))
}

/// Whether the pattern matches the whole text; `None` as in [`occurs`].
pub(crate) fn fits(pattern: &str, text: &str) -> Option<bool> {
    occurs(&format!("^(?:{pattern})$"), text)
}

#[cfg(test)]
mod tests {
    use super::{fits, occurs};

    #[test]
    fn matches_the_whole_text_or_a_part() {
        for _ in 0..2 {
            assert_eq!(fits("a|b", "b"), Some(true));
            assert_eq!(fits("a|b", "ab"), Some(false));
            assert_eq!(occurs("a|b", "xbx"), Some(true));
            assert_eq!(fits("(?!a)", "b"), None, "look-around");
        }
    }
}
