//! The ownership marker in descriptions: Google's networks, subnetworks, firewalls, routes and routers have no labels.
//!
//! ```text
//! [warren:training/platform/hub] the user's description
//!         fabric   owner    name
//! ```

use tf_provider_rs::{Attr, Diagnostics, Path, Value};
use warren_managed::Scope;

/// Longest description that the API accepts, minus the longest marker.
const LONGEST: usize = 2048 - 200;

/// Fabric, owner and name of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) fabric: String,
    pub(crate) owner: String,
    pub(crate) name: String,
}

impl Marker {
    pub(crate) fn new(scope: &Scope, name: &str) -> Marker {
        Marker { fabric: scope.fabric.clone(), owner: scope.owner.clone(), name: name.to_owned() }
    }

    /// The description of an object with this marker and the user's text.
    pub(crate) fn with(&self, text: Option<&str>) -> String {
        let Marker { fabric, owner, name } = self;
        let text = text.map(|text| format!(" {text}")).unwrap_or_default();
        format!("[warren:{fabric}/{owner}/{name}]{text}")
    }
}

/// The marker and the user's part of a description; Google sends an empty text for none.
pub(crate) fn split(description: Option<&str>) -> (Option<Marker>, Option<&str>) {
    let Some(description) = description.filter(|text| !text.is_empty()) else { return (None, None) };
    let marked = description.strip_prefix("[warren:").and_then(|rest| rest.split_once(']'));
    let Some((marker, rest)) = marked else { return (None, Some(description)) };
    match marker.split('/').collect::<Vec<_>>()[..] {
        [fabric, owner, name] => {
            let marker = Marker { fabric: fabric.into(), owner: owner.into(), name: name.into() };
            let text = rest.strip_prefix(' ').unwrap_or(rest);
            (Some(marker), (!text.is_empty()).then_some(text))
        }
        _ => (None, Some(description)),
    }
}

/// The attribute `description` of an object that has this description.
pub(crate) fn user(description: Option<&str>) -> Attr<String> {
    split(description).1.map(str::to_owned).into()
}

/// Whether an object with the description `found` needs no other: an unmarked object, such as an imported one, stays
/// unmarked while its text stays the same.
pub(crate) fn is_current(found: Option<&str>, marks: &str, text: &Attr<String>) -> bool {
    found == Some(marks) || found.filter(|found| !found.is_empty()) == text.known().map(String::as_str)
}

/// A check of the attribute `description`.
pub(crate) fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let why = if text.chars().count() > LONGEST {
        format!(
            "A description can have up to {LONGEST} characters: Google allows 2048, and the provider needs the rest \
             for its ownership marker. Shorten it."
        )
    } else if text.starts_with("[warren:") {
        "`[warren:` starts the ownership marker that the provider adds. Remove it.".to_owned()
    } else if text.is_empty() {
        "The description is empty. Omit the attribute instead.".to_owned()
    } else {
        return;
    };
    diagnostics.error_at(path.clone(), "Invalid description", why);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_a_marker_and_a_text() {
        let scope = Scope { fabric: "training".into(), owner: "platform".into() };
        let marker = Marker::new(&scope, "hub");
        for text in [None, Some("the hub"), Some("[warren: no"), Some("a] b")] {
            assert_eq!(split(Some(&marker.with(text))), (Some(marker.clone()), text));
        }
        assert_eq!(marker.with(Some("the hub")), "[warren:training/platform/hub] the hub");
        for text in ["by hand", "[warren:x]", "[warren:a/b", "[warren:a/b/c/d] x"] {
            assert_eq!(split(Some(text)), (None, Some(text)));
        }
        assert_eq!((split(Some("")), split(None)), ((None, None), (None, None)));
    }
}
