//! GPU types and data centers in configurations: lists in order of preference.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Diagnostics, Object, Path, Value};

use crate::common::filled;

/// A list of texts; elements may be unknown.
pub(crate) type TextList = Attr<Vec<Attr<String>>>;

/// Where pods run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Cloud {
    #[choice("SECURE")]
    Secure,
    #[choice("COMMUNITY")]
    Community,
}

/// The GPUs of one machine.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct GpuChoice {
    /// GPU type, such as `NVIDIA GeForce RTX 4090`. Exactly one of `id` and `ids` is required; with `ids`, this is the type
    /// that the {noun} got. Changing this replaces the {noun}.
    #[attr(optional, computed, keeps, replaces, validate = filled)]
    pub(crate) id: Attr<String>,
    /// GPU types in order of preference. Each type is tried in all `data_center_ids` before the next type. A change affects
    /// an existing {noun} only if its type is no longer in the list, which replaces the {noun}.
    #[attr(optional, validate = distinct)]
    pub(crate) ids: TextList,
    /// Number of GPUs per pod, 1 to 64. Changing this replaces the {noun}. Defaults to `1`.
    #[attr(default = 1, replaces, validate = between(1, 64))]
    pub(crate) count: Attr<i64>,
}

impl GpuChoice {
    /// The GPU types that may be rented, best first.
    pub(crate) fn wanted(&self) -> Vec<String> {
        match self.id.known() {
            Some(id) => vec![id.clone()],
            None => texts(&self.ids),
        }
    }

    /// Whether an object with the GPUs `have` is what is planned.
    pub(crate) fn admits(&self, have: &GpuChoice) -> bool {
        have.count == self.count && have.id.known().is_some_and(|id| self.wanted().contains(id))
    }

    /// The choice with what the API returned.
    pub(crate) fn found(&self, id: &str, count: i64) -> GpuChoice {
        GpuChoice { id: id.into(), ids: self.ids.clone(), count: count.into() }
    }

    /// Rejects a configuration with no type or with two ways to name it.
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if self.id.is_known() && self.ids.is_known() || self.id.is_null() && self.ids.is_null() {
            diagnostics.error_at(
                Path::of("gpu").attribute("id"),
                "Exactly one of `id` and `ids` is required",
                "Set `id` for one GPU type, or `ids` for several in order of preference.",
            );
        }
    }
}

/// The attributes that replace an object in the data center `have` with the GPUs `prior`, because one of them is no longer
/// among those that the configuration accepts.
pub(crate) fn no_longer_accepted(
    (have, data_center_ids): (&Attr<String>, &TextList),
    (prior, planned): (Option<&GpuChoice>, Option<&GpuChoice>),
) -> Vec<Path> {
    let data_center = left_out(have, data_center_ids).then(|| Path::of("data_center_ids"));
    let gpus = prior.zip(planned).filter(|(prior, planned)| left_out(&prior.id, &planned.ids));
    data_center.into_iter().chain(gpus.map(|_| Path::of("gpu").attribute("ids"))).collect()
}

/// The known elements of a list.
pub(crate) fn texts(list: &TextList) -> Vec<String> {
    list.known().into_iter().flatten().filter_map(|item| item.known().cloned()).collect()
}

/// Whether what an object has is in none of the wanted places or types.
fn left_out(have: &Attr<String>, wanted: &TextList) -> bool {
    let open = wanted.known().is_none_or(|wanted| wanted.iter().any(Attr::is_unknown));
    have.known().is_some_and(|have| !open && !texts(wanted).contains(have))
}

/// Validates that a list has at least one element, none of them empty or repeated.
pub(crate) fn distinct(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Some(items) = value.as_slice() else { return };
    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
    let twice = texts.iter().enumerate().find(|(index, text)| texts[..*index].contains(text));
    let why = if items.is_empty() {
        "the list is empty. Add a value or remove the attribute".to_owned()
    } else if texts.iter().any(|text| text.trim().is_empty()) {
        "a value is empty. Remove it".to_owned()
    } else if let Some((_, text)) = twice {
        format!("{text:?} is in the list twice. Remove one of the two")
    } else {
        return;
    };
    diagnostics.error_at(path.clone(), "Invalid list", format!("`{path}` is not valid: {why}."));
}
