//! The environment of a pod: what the configuration says, what is secret, the marker, and what RunPod puts in.
//!
//! The API tells all values. Those of variables that the configuration does not name may be secret, so none of them is
//! read into the state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::Regex;
use tf_provider_rs::{Attr, Diagnostics, Path, Value};
use warren_managed::sets::{self, Texts};

use super::schema::Pod;
use crate::marker;

/// What RunPod puts in itself.
pub(super) const INJECTED: [&str; 2] = ["PUBLIC_KEY", "JUPYTER_PASSWORD"];

/// All variables of the planned pod. `have` are those that it has; of them only RunPod's own stay.
pub(super) fn wanted(planned: &Pod, mark: &str, have: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = have
        .iter()
        .filter(|(name, _)| INJECTED.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let plain = planned.env.known().into_iter().flatten();
    env.extend(plain.filter_map(|(name, value)| Some((name.clone(), value.known()?.clone()))));
    let secret = planned.env_wo.known().into_iter().flatten();
    env.extend(secret.filter_map(|(name, value)| Some((name.clone(), value.known()?.0.clone()))));
    env.insert(marker::VARIABLE.to_owned(), mark.to_owned());
    env
}

/// The secret variables with the values that the pod has, where it has them: for an update that does not concern them.
pub(super) fn kept(planned: &mut Pod, have: &BTreeMap<String, String>) {
    if let Attr::Known(secret) = &mut planned.env_wo {
        for (name, value) in secret {
            if let (Some(have), Attr::Known(value)) = (have.get(name), value) {
                value.0.clone_from(have);
            }
        }
    }
}

/// The variables of the state: of those that it had, what they are now.
pub(super) fn seen(before: &Pod, have: &BTreeMap<String, String>) -> Attr<BTreeMap<String, Attr<String>>> {
    let Some(before) = before.env.known() else { return Attr::Null };
    let names = before.keys();
    Attr::Known(names.filter_map(|name| Some((name.clone(), have.get(name)?.as_str().into()))).collect())
}

/// The names of the secret variables.
pub(super) fn names(config: &Pod) -> Texts {
    match &config.env_wo {
        Attr::Unknown => Attr::Unknown,
        Attr::Null => sets::of([]),
        Attr::Known(env) => sets::of(env.keys().cloned()),
    }
}

/// A check of one map of variables.
pub(super) fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(variables) = value else { return };
    for (name, value) in variables {
        let mut first = name.chars();
        let named = first.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && first.all(|c| c.is_ascii_alphanumeric() || c == '_');
        let why = if name == marker::VARIABLE {
            "the provider sets it itself: by it an interrupted apply finds its pod again".to_owned()
        } else if !named {
            "a variable's name has letters, digits and `_`, no digit first".to_owned()
        } else if let Some(text) = value.as_str()
            && text.contains("RUNPOD_SECRET_")
            && text.replace('\n', " ").contains("{{")
            && !reference().is_match(text)
        {
            "the reference to a secret is written `{{ RUNPOD_SECRET_name }}`, with one blank on either side; \
             `warren_runpod_secret` has it as `reference`"
                .to_owned()
        } else {
            continue;
        };
        diagnostics.error_at(
            path.key(name),
            "Variable not possible",
            format!("{name:?} cannot be set like this: {why}."),
        );
    }
}

/// A variable that is both plain and secret.
pub(super) fn check_both(config: &Pod, diagnostics: &mut Diagnostics) {
    let (Some(plain), Some(secret)) = (config.env.known(), config.env_wo.known()) else { return };
    let plain: BTreeSet<&String> = plain.keys().collect();
    for name in secret.keys().filter(|name| plain.contains(name)) {
        diagnostics.error_at(
            Path::of("env").key(name),
            "Variable set twice",
            format!("{name:?} stands in `env` and in `env_wo`: take it out of one of the two."),
        );
    }
}

fn reference() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| {
        #[expect(clippy::unwrap_used, reason = "a constant pattern")]
        Regex::new(r"\{\{ RUNPOD_SECRET_[A-Za-z0-9_-]+ \}\}").unwrap()
    })
}
