//! Sets of strings, which a cloud returns in any order.

use std::collections::BTreeSet;

use tf_provider_rs::Attr;

/// A set in a configuration; elements may be unknown.
pub type Texts = Attr<BTreeSet<Attr<String>>>;

/// The known elements.
pub fn known(set: &Texts) -> BTreeSet<String> {
    set.known().into_iter().flatten().filter_map(|item| item.known().cloned()).collect()
}

/// The elements if all of them are known; null has none.
pub fn all_known(set: &Texts) -> Option<BTreeSet<String>> {
    match set {
        Attr::Unknown => None,
        Attr::Null => Some(BTreeSet::new()),
        Attr::Known(items) => items.iter().map(|item| item.known().cloned()).collect(),
    }
}

/// Whether the set is known to be empty.
pub fn is_empty(set: &Texts) -> bool {
    all_known(set).is_some_and(|items| items.is_empty())
}

/// The set of an object.
pub fn of(items: impl IntoIterator<Item = String>) -> Texts {
    Attr::Known(items.into_iter().map(Attr::Known).collect())
}

/// The set of an object for an attribute that was `before`: an empty set stays null if nothing was set.
pub fn found(items: impl IntoIterator<Item = String>, before: &Texts) -> Texts {
    let items = of(items);
    if is_empty(&items) && !before.is_known() { Attr::Null } else { items }
}

/// The elements to add and to remove to turn `have` into `want`; `None` for none.
pub fn difference(
    have: &BTreeSet<String>,
    want: &BTreeSet<String>,
) -> (Option<Vec<String>>, Option<Vec<String>>) {
    let some = |items: Vec<String>| (!items.is_empty()).then_some(items);
    (some(want.difference(have).cloned().collect()), some(have.difference(want).cloned().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_set_is_null_where_nothing_was_set() {
        assert_eq!(found([], &Attr::Null), Attr::Null);
        assert_eq!(found([], &of([])), of([]));
        assert_eq!(found(["a".to_owned()], &Attr::Null), of(["a".to_owned()]));
    }

    #[test]
    fn unknown_elements_leave_a_set_open() {
        let set = Attr::Known(BTreeSet::from([Attr::from("a"), Attr::Unknown]));
        assert_eq!(known(&set), BTreeSet::from(["a".to_owned()]));
        assert_eq!(all_known(&set), None);
        assert!(!is_empty(&set) && !is_empty(&Attr::Unknown) && is_empty(&Attr::Null));
    }

    #[test]
    fn differences() {
        let set = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        assert_eq!(
            difference(&set(&["a", "b"]), &set(&["b", "c"])),
            (Some(vec!["c".into()]), Some(vec!["a".into()]))
        );
        assert_eq!(difference(&set(&["a"]), &set(&["a"])), (None, None));
    }
}
