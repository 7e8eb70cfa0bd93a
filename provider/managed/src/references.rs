//! References between objects of different sites, which a cloud would refuse during the apply.

use tf_provider_rs::{Attr, Change, Diagnostics, Path, Value};

use crate::cloud::Cloud;
use crate::managed::Object;
use crate::memory::Objects;

/// Attributes whose text is the user's own, and may happen to be an ID.
const TEXTS: [&str; 5] = ["name", "tags", "labels", "description", "timeouts"];

/// Reports the attributes of the configuration that name an object in another site than the planned one. Only IDs
/// that this run knows count, and those that contain their site.
pub(crate) fn check<O: Object>(objects: &Objects, change: &Change<O>, diagnostics: &mut Diagnostics) {
    let Some(noun) = O::Cloud::SITE else { return };
    let (Some(Attr::Known(here)), Value::Object(config)) = (change.planned.site(), change.config.to_value())
    else {
        return;
    };
    for (name, value) in &config {
        if TEXTS.contains(&name.as_str()) || O::ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        each_text(value, &Path::of(name), &mut |path, text| {
            let there = objects.site(text).or_else(|| O::Cloud::site_of(text));
            if let Some(there) = there.filter(|there| there != here) {
                diagnostics.error_at(
                    path.clone(),
                    format!("Reference to another {noun}"),
                    format!(
                        "{} is in {noun} {here}, but {text} is in {noun} {there}. Refer to an object in {here}, or set \
                         `{noun} = \"{there}\"` in this resource.",
                        change.planned.label()
                    ),
                );
            }
        });
    }
}

/// Calls `each` for every known text in `value`, with its path.
fn each_text(value: &Value, path: &Path, each: &mut dyn FnMut(&Path, &str)) {
    match value {
        Value::String(text) => each(path, text),
        Value::List(items) | Value::Tuple(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(item, &path.index(index), each);
            }
        }
        // The protocol cannot address an element of a set.
        Value::Set(items) => items.iter().for_each(|item| each_text(item, path, each)),
        Value::Map(items) => items.iter().for_each(|(key, item)| each_text(item, &path.key(key), each)),
        Value::Object(items) => {
            items.iter().for_each(|(name, item)| each_text(item, &path.attribute(name), each));
        }
        _ => {}
    }
}
