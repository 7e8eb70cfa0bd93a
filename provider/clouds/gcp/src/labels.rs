//! Labels: the user's, and the provider's that mark the owner of an object.

use std::collections::BTreeMap;

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value};

use crate::common::Located;
use crate::error::ApiError;
use crate::session::Gcp;

/// Labels as written in a configuration.
pub(crate) type Labels = Attr<BTreeMap<String, Attr<String>>>;

const FABRIC: &str = "warren-fabric";
const OWNER: &str = "warren-owner";
const NAME: &str = "warren-name";

/// A model whose ownership marks are labels.
pub(crate) trait Labelled: Located {
    /// The user's labels.
    fn labels(&self) -> &Labels;
}

/// Implements [`Common`](crate::common::Common) and [`Labelled`] for a model with the fields `name`, `id`, `labels`,
/// `effective_labels` and `timeouts`, which may have a type parameter.
macro_rules! labelled {
    ($model:ty, $kind:expr $(, $parameter:ident: $bound:ident)?) => {
        impl$(<$parameter: $bound>)? $crate::common::Common for $model {
            type Cloud = $crate::session::Gcp;
            const KIND: &'static str = $kind;
            warren_managed::accessors!();
            /// Labels carry the marks, so the description contains the user's text only.
            fn marks(&self, _gcp: &$crate::session::Gcp) -> Result<String, tf_provider_rs::NotKnown> {
 Ok({                String::new()})
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
            "Labels. Keys and values have up to 63 lowercase letters, digits, `_` and `-`; keys start with a letter \
             and must not start with `warren-`. Updated in place.",
        ),
        Attribute::of("effective_labels", Type::map(Type::String)).computed().describe(
            "All labels: `labels`, and the provider's own labels by which it finds its objects (`warren-fabric`, \
             `warren-owner`, `warren-name`).",
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

/// All labels of a planned object; unknown while any of them is unknown.
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

/// Whether a create may adopt the existing object of this name: its labels name this fabric and owner, and `same` says that
/// its immutable settings match.
///
/// # Errors
/// The object belongs to someone else, or its immutable settings differ.
pub(crate) fn adoptable<M: Labelled>(
    gcp: &Gcp,
    planned: &M,
    found: &BTreeMap<String, String>,
    same: bool,
) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let taken = |why: String| Err(ApiError::taken(M::KIND, format!("{id} already exists and {why}")));
    let get = |key| found.get(key).map(String::as_str);
    match (get(FABRIC), get(OWNER), get(NAME)) {
        (Some(fabric), Some(owner), Some(_)) if (fabric, owner) != (&gcp.scope.fabric, &gcp.scope.owner) => {
            taken(format!("belongs to owner {owner} of fabric {fabric}"))
        }
        (Some(_), Some(_), Some(_)) if same => Ok(vec![id]),
        (Some(_), Some(_), Some(_)) => {
            taken("belongs to this owner, but differs in a setting that cannot be changed".to_owned())
        }
        _ => taken("was not created by this provider".to_owned()),
    }
}

/// Splits the labels that were found into the user's and all. Google's own labels are not the user's.
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
        assert!(refused(&BTreeMap::new(), true).contains("was not created by this provider"));
        assert_eq!(repository.name().text(), "images");
    }
}
