//! Labels: whose an object is that can have some, and what the user says of it.

use std::collections::BTreeMap;

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value};

use crate::common::Located;
use crate::error::ApiError;
use crate::session::Gcp;

/// Labels as a configuration writes them.
pub(crate) type Labels = Attr<BTreeMap<String, Attr<String>>>;

const FABRIC: &str = "warren-fabric";
const OWNER: &str = "warren-owner";
const NAME: &str = "warren-name";

/// A model whose marks are labels.
pub(crate) trait Labelled: Located {
    /// The user's labels.
    fn labels(&self) -> &Labels;
}

/// Implements [`Common`](crate::common::Common) and [`Labelled`] for a model with the fields `name`, `id`, `labels`,
/// `effective_labels` and `timeouts`, and perhaps a parameter.
macro_rules! labelled {
    ($model:ty, $kind:expr $(, $parameter:ident: $bound:ident)?) => {
        impl$(<$parameter: $bound>)? $crate::common::Common for $model {
            type Cloud = $crate::session::Gcp;
            const KIND: &'static str = $kind;
            warren_managed::accessors!();
            /// It has labels, so that a description is the user's alone.
            fn marks(&self, _gcp: &$crate::session::Gcp) -> String {
                String::new()
            }
            fn plan_marks(&mut self, gcp: Option<&$crate::session::Gcp>) {
                self.effective_labels = $crate::labels::planned(gcp, self);
                $crate::common::plan_place!(self, gcp);
            }
        }
        impl$(<$parameter: $bound>)? $crate::labels::Labelled for $model {
            fn labels(&self) -> &$crate::labels::Labels {
                &self.labels
            }
        }
    };
}
pub(crate) use labelled;

/// The attributes `labels` and `effective_labels`.
pub(crate) fn attributes() -> [Attribute; 2] {
    [
        Attribute::of("labels", Type::map(Type::String)).optional().validate(check).describe(
            "Labels; keys and values of up to 63 characters of `a-z`, `0-9`, `_` and `-`. Keys do not begin with \
             `warren-`. Changes in place.",
        ),
        Attribute::of("effective_labels", Type::map(Type::String)).computed().describe(
            "All labels: `labels`, and those that find the object again (`warren-fabric`, `warren-owner`, \
             `warren-name`).",
        ),
    ]
}

fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(labels) = value else { return };
    let plain = |text: &str| {
        text.len() <= 63
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
    };
    for (key, value) in labels {
        let why = if key.starts_with("warren-") {
            "the prefix `warren-` is kept for this provider"
        } else if !plain(key) || !key.starts_with(|c: char| c.is_ascii_lowercase()) {
            "a key has 1 to 63 characters of `a-z`, `0-9`, `_` and `-`, a letter first"
        } else if value.as_str().is_some_and(|value| !plain(value)) {
            "a value has up to 63 characters of `a-z`, `0-9`, `_` and `-`"
        } else {
            continue;
        };
        diagnostics.error_at(
            path.key(key),
            "Label not possible",
            format!("The label {key:?} cannot be set: {why}."),
        );
    }
}

/// All labels of a planned object; unknown while a part of them is.
pub(crate) fn planned<M: Labelled>(gcp: Option<&Gcp>, planned: &M) -> Labels {
    let labels = planned.labels();
    let unknown =
        labels.is_unknown() || labels.known().into_iter().flatten().any(|(_, value)| value.is_unknown());
    match gcp {
        Some(gcp) if !unknown && planned.name().is_known() => {
            Attr::Known(all(gcp, planned).into_iter().map(|(key, value)| (key, value.into())).collect())
        }
        _ => Attr::Unknown,
    }
}

/// All labels of an object.
pub(crate) fn all<M: Labelled>(gcp: &Gcp, planned: &M) -> BTreeMap<String, String> {
    let user = planned.labels().known().into_iter().flatten();
    user.filter_map(|(key, value)| Some((key.clone(), value.known()?.clone())))
        .chain([
            (FABRIC.to_owned(), gcp.scope.fabric.clone()),
            (OWNER.to_owned(), gcp.scope.owner.clone()),
            (NAME.to_owned(), planned.name().text().to_owned()),
        ])
        .collect()
}

/// Whether a create may adopt the object of its name: it is this fabric's and owner's by its labels, and `same` in what
/// cannot be changed.
///
/// # Errors
/// Another one's object is in the way, or one of ours that is not the same.
pub(crate) fn adoptable<M: Labelled>(
    gcp: &Gcp,
    planned: &M,
    found: &BTreeMap<String, String>,
    same: bool,
) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let told = |why: String| Err(ApiError::taken(M::KIND, format!("{id} exists already: {why}")));
    let get = |key| found.get(key).map(String::as_str);
    match (get(FABRIC), get(OWNER), get(NAME)) {
        (Some(fabric), Some(owner), Some(_)) if (fabric, owner) != (&gcp.scope.fabric, &gcp.scope.owner) => {
            told(format!("it belongs to owner {owner} of fabric {fabric}"))
        }
        (Some(_), Some(_), Some(_)) if same => Ok(vec![id]),
        (Some(_), Some(_), Some(_)) => {
            told("it is this owner's, but differs in a setting that cannot be changed".to_owned())
        }
        _ => told("it was made by other means than this provider".to_owned()),
    }
}

/// What state tells of the labels that were found: the user's, and all. Labels that Google sets itself are not the
/// user's.
pub(crate) fn state(found: &BTreeMap<String, String>, before: &Labels) -> (Labels, Labels) {
    let of = |(key, value): (&String, &String)| (key.clone(), Attr::from(value.as_str()));
    let foreign = |key: &str| key.starts_with("warren-") || key.starts_with("goog-");
    let user: BTreeMap<_, _> = found.iter().filter(|(key, _)| !foreign(key)).map(of).collect();
    let none = user.is_empty() && !before.is_known();
    (if none { Attr::Null } else { Attr::Known(user) }, Attr::Known(found.iter().map(of).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Common as _;
    use crate::session::tests::session;

    #[tokio::test]
    async fn labels_are_the_users_and_ours() {
        let gcp = session().await.get().unwrap();
        let repository = crate::artifact_registry_repository::Repository {
            name: "images".into(),
            location: "us".into(),
            labels: Attr::Known([("team".to_owned(), "ml".into())].into()),
            ..Default::default()
        };
        let all = all(&gcp, &repository);
        let told = state(&all, repository.labels());
        assert_eq!(told, (repository.labels.clone(), planned(Some(&gcp), &repository)));
        let id = "projects/acme-ml/locations/us/repositories/images".to_owned();
        assert_eq!(adoptable(&gcp, &repository, &all, true), Ok(vec![id]));
        let refused = |labels: &BTreeMap<String, String>, same| {
            adoptable(&gcp, &repository, labels, same).unwrap_err().message
        };
        assert!(refused(&all, false).contains("differs in a setting"));
        let theirs =
            all.iter().map(|(key, value)| (key.clone(), value.replace("platform", "data"))).collect();
        assert!(refused(&theirs, true).contains("belongs to owner data of fabric training"));
        assert!(refused(&BTreeMap::new(), true).contains("made by other means"));
        assert_eq!(repository.name().text(), "images");
    }
}
