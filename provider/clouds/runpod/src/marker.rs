//! Markers of ownership, because RunPod has no tags.
//!
//! | type | field | example |
//! |---|---|---|
//! | pod | a variable of its environment | `WARREN_RESOURCE=training/platform/worker-0` |
//! | secret | its description | `[warren:training/platform] the user's description` |
//! | network volume, registry credential, ECR delegation, cluster | its name | `datasets [warren:training/platform]` |

use warren_managed::Scope;

/// The environment variable that marks the owner of a pod.
pub(crate) const VARIABLE: &str = "WARREN_RESOURCE";

/// The value of [`VARIABLE`]: fabric, owner, name.
pub(crate) fn variable(scope: &Scope, name: &str) -> String {
    format!("{}/{}/{name}", scope.fabric, scope.owner)
}

/// The name at RunPod of an object called `name`.
pub(crate) fn name(scope: &Scope, name: &str) -> String {
    format!("{name} {}", tag(scope))
}

/// The user's part of a name at RunPod: the whole name if it has no marker.
pub(crate) fn plain_name(marked: &str) -> &str {
    match marked.rsplit_once(" [warren:") {
        Some((name, scope)) if scope.ends_with(']') && scope.matches('/').count() == 1 => name,
        _ => marked,
    }
}

/// The description at RunPod for the user's description `text`.
pub(crate) fn description(scope: &Scope, text: Option<&str>) -> String {
    let text = text.map(|text| format!(" {text}")).unwrap_or_default();
    format!("{}{text}", tag(scope))
}

/// Whether a description starts with the marker of this fabric and owner.
pub(crate) fn is_ours(scope: &Scope, description: &str) -> bool {
    description.starts_with(&tag(scope))
}

/// The user's part of a description, if there is any.
pub(crate) fn plain_description(marked: &str) -> Option<&str> {
    let text = match marked.strip_prefix("[warren:").and_then(|rest| rest.split_once(']')) {
        Some((_, text)) => text.strip_prefix(' ').unwrap_or(text),
        None => marked,
    };
    (!text.is_empty()).then_some(text)
}

fn tag(scope: &Scope) -> String {
    format!("[warren:{}/{}]", scope.fabric, scope.owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_put_on_and_taken_off() {
        let scope = Scope { fabric: "training".into(), owner: "platform".into() };
        assert_eq!(variable(&scope, "worker-0"), "training/platform/worker-0");
        assert_eq!(name(&scope, "data"), "data [warren:training/platform]");
        for text in ["data", "a [b] c", "x [warren:y"] {
            assert_eq!(plain_name(&name(&scope, text)), text);
            assert_eq!(plain_name(text), text);
        }
        for text in [None, Some("the token"), Some("[x]")] {
            let marked = description(&scope, text);
            assert_eq!((plain_description(&marked), is_ours(&scope, &marked)), (text, true));
        }
        assert!(!is_ours(
            &Scope { fabric: "training".into(), owner: "other".into() },
            &description(&scope, Some("x"))
        ));
    }
}
