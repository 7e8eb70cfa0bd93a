//! Labels: the user's, and the provider's that mark the owner of an object.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Diagnostics, NotKnown, Object, Path, Value};
use warren_managed::Scope;

use crate::account::Gcp;
use crate::common::{Located, Mark};
use crate::error::ApiError;

/// Labels as written in a configuration.
pub(crate) type LabelMap = Attr<BTreeMap<String, Attr<String>>>;

const FABRIC: &str = "warren-fabric";
const OWNER: &str = "warren-owner";
const NAME: &str = "warren-name";

/// The labels of an object, which show whose it is.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct GcpLabels {
    /// Labels. Keys and values have up to 63 lowercase letters, digits, `_` and `-`; keys start with a letter and must
    /// not start with `warren-`. Updated in place.
    #[attr(optional, validate = check)]
    pub(crate) labels: LabelMap,
    /// All labels: `labels`, and the provider's own labels by which it finds its objects (`warren-fabric`,
    /// `warren-owner`, `warren-name`).
    #[attr(computed)]
    pub(crate) effective_labels: LabelMap,
}

impl Mark for GcpLabels {
    fn plan(&mut self, scope: Option<&Scope>, name: &Attr<String>) {
        self.effective_labels = self.planned(scope, name);
    }
}

impl GcpLabels {
    /// All labels of a planned object; unknown while any of them is unknown.
    fn planned(&self, scope: Option<&Scope>, name: &Attr<String>) -> LabelMap {
        let unknown = self.labels.is_unknown()
            || self.labels.known().into_iter().flatten().any(|(_, value)| value.is_unknown());
        match (scope, name) {
            (Some(scope), Attr::Known(name)) if !unknown => {
                let all = self.all(scope, name).into_iter();
                Attr::Known(all.map(|(key, value)| (key, value.into())).collect())
            }
            _ => Attr::Unknown,
        }
    }

    /// All labels of the object `name`.
    pub(crate) fn all(&self, scope: &Scope, name: &str) -> BTreeMap<String, String> {
        let user = self.labels.known().into_iter().flatten();
        let user = user.filter_map(|(key, value)| Some((key.clone(), value.known()?.clone())));
        let marks = [(FABRIC, scope.fabric.as_str()), (OWNER, &scope.owner), (NAME, name)];
        user.chain(marks.map(|(key, value)| (key.to_owned(), value.to_owned()))).collect()
    }

    /// The labels as the API returns them; `self` is what they were before. Google's own labels are not the user's.
    pub(crate) fn found<'a>(&self, labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> GcpLabels {
        let all: BTreeMap<_, _> =
            labels.into_iter().map(|(key, value)| (key.clone(), Attr::from(value.as_str()))).collect();
        let foreign = |key: &str| key.starts_with("warren-") || key.starts_with("goog-");
        let mut user = all.clone();
        user.retain(|key, _| !foreign(key));
        let none = user.is_empty() && !self.labels.is_known();
        GcpLabels {
            labels: if none { Attr::Null } else { Attr::Known(user) },
            effective_labels: Attr::Known(all),
        }
    }
}

fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(labels) = value else { return };
    let plain = |text: &str| {
        text.len() <= 63
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
    };
    for (key, value) in labels {
        let why = if key.starts_with("warren-") {
            "the prefix `warren-` is reserved for the provider"
        } else if !plain(key) || !key.starts_with(|c: char| c.is_ascii_lowercase()) {
            "a key must have 1 to 63 lowercase letters, digits, `_` or `-`, and start with a letter"
        } else if value.as_str().is_some_and(|value| !plain(value)) {
            "a value can have up to 63 lowercase letters, digits, `_` or `-`"
        } else {
            continue;
        };
        diagnostics.error_at(path.key(key), "Invalid label", format!("The label {key:?} is invalid: {why}."));
    }
}

/// A model whose labels show whose it is.
pub(crate) trait Labelled: Located {
    /// The user's labels.
    fn labels(&self) -> &LabelMap;
}

/// All labels of an object.
///
/// # Errors
/// Its name is not known.
pub(crate) fn all<M: Labelled>(gcp: &Gcp, planned: &M) -> Result<BTreeMap<String, String>, NotKnown> {
    let mark = GcpLabels { labels: planned.labels().clone(), ..GcpLabels::default() };
    Ok(mark.all(&gcp.scope, planned.name().value()?))
}

/// Whether a create may adopt the existing object of this name: its labels name this fabric and owner, and `same` says that
/// its immutable settings match.
///
/// # Errors
/// The object belongs to someone else, or its immutable settings differ.
pub(crate) fn adoptable<M: Located>(
    gcp: &Gcp,
    planned: &M,
    found: &BTreeMap<String, String>,
    same: impl FnOnce() -> Result<bool, ApiError>,
) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let taken = |why: String| Err(ApiError::taken(M::KIND, format!("{id} already exists and {why}")));
    let get = |key| found.get(key).map(String::as_str);
    match (get(FABRIC), get(OWNER), get(NAME)) {
        (Some(fabric), Some(owner), Some(_)) if (fabric, owner) != (&gcp.scope.fabric, &gcp.scope.owner) => {
            taken(format!("belongs to owner {owner} of fabric {fabric}"))
        }
        (Some(_), Some(_), Some(_)) => {
            if same()? {
                Ok(vec![id])
            } else {
                taken("belongs to this owner, but differs in a setting that cannot be changed".to_owned())
            }
        }
        _ => taken("was not created by this provider".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::GcpObject;
    use crate::session::tests::session;

    #[tokio::test]
    async fn labels_are_the_users_and_ours() {
        let gcp = session().await.get().unwrap();
        let mark = GcpLabels {
            labels: Attr::Known([("team".to_owned(), "ml".into())].into()),
            ..Default::default()
        };
        let name = Attr::from("images");
        let all = mark.all(&gcp.scope, "images");
        let found = mark.found(&all);
        let planned = mark.planned(Some(&gcp.scope), &name);
        assert_eq!((&found.labels, &found.effective_labels), (&mark.labels, &planned));
        assert_eq!(mark.planned(Some(&gcp.scope), &Attr::Unknown), Attr::Unknown);
        let repository = crate::artifact_registry_repository::Repository {
            object: GcpObject { name, mark, ..GcpObject::default() },
            location: "us".into(),
            ..Default::default()
        };
        let id = "projects/acme-ml/locations/us/repositories/images".to_owned();
        assert_eq!(adoptable(&gcp, &repository, &all, || Ok(true)), Ok(vec![id]));
        let refused = |labels: &BTreeMap<String, String>, same| {
            adoptable(&gcp, &repository, labels, || Ok(same)).unwrap_err().message
        };
        assert!(refused(&all, false).contains("differs in a setting"));
        let theirs =
            all.iter().map(|(key, value)| (key.clone(), value.replace("platform", "data"))).collect();
        assert!(refused(&theirs, true).contains("belongs to owner data of fabric training"));
        assert!(refused(&BTreeMap::new(), true).contains("was not created by this provider"));
    }
}
