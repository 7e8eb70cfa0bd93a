//! Sets, which a cloud returns in any order.

use std::collections::BTreeSet;

use tf_provider_rs::Attr;

/// A set in a configuration; elements may be unknown.
pub type Set<T> = Attr<BTreeSet<Attr<T>>>;

/// A set of strings in a configuration.
pub type Texts = Set<String>;

/// The known elements.
pub fn known<T: Ord + Clone>(set: &Set<T>) -> BTreeSet<T> {
    set.known().into_iter().flatten().filter_map(|item| item.known().cloned()).collect()
}

/// The elements if all of them are known; null has none.
pub fn all_known<T: Ord + Clone>(set: &Set<T>) -> Option<BTreeSet<T>> {
    match set {
        Attr::Unknown => None,
        Attr::Null => Some(BTreeSet::new()),
        Attr::Known(items) => items.iter().map(|item| item.known().cloned()).collect(),
    }
}

/// Whether the set is known to be empty.
pub fn is_empty<T: Ord + Clone>(set: &Set<T>) -> bool {
    all_known(set).is_some_and(|items| items.is_empty())
}

/// The set of an object.
pub fn of<T: Ord>(items: impl IntoIterator<Item = T>) -> Set<T> {
    Attr::Known(items.into_iter().map(Attr::Known).collect())
}

/// The set of an object for an attribute that was `before`: an empty set stays null if nothing was set.
pub fn found<T: Ord + Clone>(items: impl IntoIterator<Item = T>, before: &Set<T>) -> Set<T> {
    let items = of(items);
    if is_empty(&items) && !before.is_known() { Attr::Null } else { items }
}

/// The elements to add and to remove to turn `have` into `want`; `None` for none.
pub fn difference<T: Ord + Clone>(
    have: &BTreeSet<T>,
    want: &BTreeSet<T>,
) -> (Option<Vec<T>>, Option<Vec<T>>) {
    let some = |items: Vec<T>| (!items.is_empty()).then_some(items);
    (some(want.difference(have).cloned().collect()), some(have.difference(want).cloned().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_set_is_null_where_nothing_was_set() {
        assert_eq!(found::<String>([], &Attr::Null), Attr::Null);
        assert_eq!(found([], &of([])), of::<String>([]));
        assert_eq!(found(["a".to_owned()], &Attr::Null), of(["a".to_owned()]));
    }

    #[test]
    fn unknown_elements_leave_a_set_open() {
        let set = Attr::Known(BTreeSet::from([Attr::from("a"), Attr::Unknown]));
        assert_eq!(known(&set), BTreeSet::from(["a".to_owned()]));
        assert_eq!(all_known(&set), None);
        assert!(!is_empty(&set) && !is_empty::<String>(&Attr::Unknown) && is_empty::<String>(&Attr::Null));
    }

    #[test]
    fn differences() {
        let set =
            |items: &[&str]| -> BTreeSet<String> { items.iter().map(|item| (*item).to_owned()).collect() };
        assert_eq!(
            difference(&set(&["a", "b"]), &set(&["b", "c"])),
            (Some(vec!["c".into()]), Some(vec!["a".into()]))
        );
        assert_eq!(difference(&set(&["a"]), &set(&["a"])), (None, None));
    }
}
