//! The environment of a pod: configured variables, secret variables, the marker, and variables that RunPod injects.
//!
//! The API returns all values. Variables that the configuration does not name may be secret, so they are never read
//! into the state.

use std::collections::{BTreeMap, BTreeSet};

use tf_provider_rs::{Attr, Diagnostics, Path};
use warren_managed::sets::{self, Texts};

use super::model::Pod;
use crate::marker;

/// Variables that RunPod injects.
pub(super) const INJECTED: [&str; 2] = ["PUBLIC_KEY", "JUPYTER_PASSWORD"];

/// All variables of the planned pod. Of its current variables `have`, only those that RunPod injects are kept.
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

/// Keeps the current values of the secret variables in an update that does not change their version.
pub(super) fn kept(planned: &mut Pod, have: &BTreeMap<String, String>) {
    if let Attr::Known(secret) = &mut planned.env_wo {
        for (name, value) in secret {
            if let (Some(have), Attr::Known(value)) = (have.get(name), value) {
                value.0.clone_from(have);
            }
        }
    }
}

/// The variables for the state: current values of the variables that the state already names.
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

/// Rejects variables that are in both `env` and `env_wo`.
pub(super) fn check_both(config: &Pod, diagnostics: &mut Diagnostics) {
    let (Some(plain), Some(secret)) = (config.env.known(), config.env_wo.known()) else { return };
    let plain: BTreeSet<&String> = plain.keys().collect();
    for name in secret.keys().filter(|name| plain.contains(name)) {
        diagnostics.error_at(
            Path::of("env").key(name),
            "Duplicate environment variable",
            format!("{name:?} is set in both `env` and `env_wo`. Remove it from one of them."),
        );
    }
}
