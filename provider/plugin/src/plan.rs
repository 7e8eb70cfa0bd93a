//! The plan of one resource before the resource itself looks at it: defaults, unknown computed
//! values, kept values, replacement. Pure functions over values.
//!
//! ```text
//! proposed --defaults--> changed? --no--> prior
//!                           | yes
//!                           v
//!          computed and not configured: unknown, or kept --> replaced attributes
//! ```

use std::collections::BTreeMap;

use crate::path::Path;
use crate::replace;
use crate::schema::{Attribute, Keep, Nesting, Schema, Shape};
use crate::value::Value;

/// The result of [`prepare`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prepared {
    pub(crate) planned: Value,
    pub(crate) requires_replace: Vec<Path>,
}

/// Plans a create (`prior` is `None`) or an update.
///
/// `unfinished` forces a change: an interrupted create is to be gone on with.
pub(crate) fn prepare(
    schema: &Schema,
    prior: Option<&Value>,
    config: &Value,
    proposed: Value,
    unfinished: bool,
) -> Prepared {
    let attributes = &schema.attributes;
    let mut planned = with_defaults(attributes, config, proposed);
    planned = without_write_only(attributes, planned);
    if unfinished || prior.is_none_or(|prior| *prior != planned) {
        planned = with_unknowns(attributes, prior, Some(config), planned);
    }
    let requires_replace = prior.map(|prior| replace::required(schema, prior, &planned)).unwrap_or_default();
    Prepared { planned, requires_replace }
}

/// Applies `each` to every object held by a nested attribute. `companions` are walked along: the
/// object at the same key or position, where there is one (never in sets).
fn map_nested(
    nesting: Nesting,
    value: Value,
    companions: [Option<&Value>; 2],
    each: &dyn Fn(Value, [Option<&Value>; 2]) -> Value,
) -> Value {
    let at = |companion: Option<&Value>, key: &str| companion.and_then(|c| c.get(key)).cloned();
    let position = |companion: Option<&Value>, index: usize| {
        companion.and_then(Value::as_slice).and_then(|items| items.get(index)).cloned()
    };
    match (nesting, value) {
        (_, Value::Null) => Value::Null,
        (_, Value::Unknown(refinement)) => Value::Unknown(refinement),
        (Nesting::Single, object) => each(object, companions),
        (Nesting::List, Value::List(items)) => Value::List(
            items
                .into_iter()
                .enumerate()
                .map(|(index, item)| {
                    let [first, second] = companions.map(|companion| position(companion, index));
                    each(item, [first.as_ref(), second.as_ref()])
                })
                .collect(),
        ),
        (Nesting::Set, Value::Set(items)) => {
            Value::set(items.into_iter().map(|item| each(item.clone(), [None, Some(&item)])).collect())
        }
        (Nesting::Map, Value::Map(items)) => Value::Map(
            items
                .into_iter()
                .map(|(key, item)| {
                    let [first, second] = companions.map(|companion| at(companion, &key));
                    let item = each(item, [first.as_ref(), second.as_ref()]);
                    (key, item)
                })
                .collect(),
        ),
        (_, other) => other,
    }
}

fn object(value: Value) -> Option<BTreeMap<String, Value>> {
    match value {
        Value::Object(items) | Value::Map(items) => Some(items),
        _ => None,
    }
}

/// Fills in defaults where the configuration says nothing.
fn with_defaults(attributes: &[Attribute], config: &Value, planned: Value) -> Value {
    let Some(mut items) = object(planned) else { return config.clone() };
    for attribute in attributes {
        let configured = config.get(&attribute.name).unwrap_or(&Value::Null);
        let Some(slot) = items.get_mut(&attribute.name) else { continue };
        match (&attribute.default, &attribute.shape) {
            (Some(default), _) if configured.is_null() => *slot = default.clone().conform(&attribute.ty()),
            (_, Shape::Nested(nesting, nested)) => {
                *slot = map_nested(
                    *nesting,
                    std::mem::take(slot),
                    [None, Some(configured)],
                    &|item, [_, config]| {
                        let absent = Value::Object(BTreeMap::new());
                        with_defaults(nested, config.unwrap_or(&absent), item)
                    },
                );
            }
            _ => {}
        }
    }
    Value::Object(items)
}

/// Write-only values are never planned, and never stored.
pub(crate) fn without_write_only(attributes: &[Attribute], planned: Value) -> Value {
    let Some(mut items) = object(planned) else { return Value::Null };
    for attribute in attributes {
        let Some(slot) = items.get_mut(&attribute.name) else { continue };
        match &attribute.shape {
            _ if attribute.write_only => *slot = Value::Null,
            Shape::Nested(nesting, nested) => {
                *slot = map_nested(*nesting, std::mem::take(slot), [None, None], &|item, _| {
                    without_write_only(nested, item)
                });
            }
            Shape::Plain(_) => {}
        }
    }
    Value::Object(items)
}

/// Marks what the provider will find out: computed attributes that the configuration leaves out.
fn with_unknowns(
    attributes: &[Attribute],
    prior: Option<&Value>,
    config: Option<&Value>,
    planned: Value,
) -> Value {
    let Some(mut items) = object(planned) else { return Value::Null };
    for attribute in attributes {
        let configured = config.and_then(|config| config.get(&attribute.name)).unwrap_or(&Value::Null);
        let before = prior.and_then(|prior| prior.get(&attribute.name));
        let Some(slot) = items.get_mut(&attribute.name) else { continue };
        if attribute.computed && attribute.default.is_none() && configured.is_null() {
            *slot = match (attribute.keep, before) {
                (Keep::Prior, Some(before)) if !before.is_null() => before.clone(),
                _ => Value::UNKNOWN,
            };
        } else if let Shape::Nested(nesting, nested) = &attribute.shape {
            *slot = map_nested(*nesting, std::mem::take(slot), [before, Some(configured)], &|item,
                                                                                             [
                prior,
                config,
            ]| {
                with_unknowns(nested, prior, config, item)
            });
        }
    }
    Value::Object(items)
}

/// The state to keep of an interrupted create: what was planned, with what is known of `saved`
/// where the plan had unknowns. Terraform accepts nothing else as the result of that plan.
pub(crate) fn merge_saved(planned: Value, saved: Option<&Value>) -> Value {
    match planned {
        Value::Unknown(_) => saved.cloned().map_or(Value::Null, known_only),
        Value::Object(items) => Value::Object(
            items
                .into_iter()
                .map(|(name, item)| {
                    let saved = saved.and_then(|saved| saved.get(&name));
                    (name, merge_saved(item, saved))
                })
                .collect(),
        ),
        other => known_only(other),
    }
}

/// Replaces unknown parts by null.
pub(crate) fn known_only(value: Value) -> Value {
    match value {
        Value::Unknown(_) => Value::Null,
        Value::List(items) => Value::List(items.into_iter().map(known_only).collect()),
        Value::Tuple(items) => Value::Tuple(items.into_iter().map(known_only).collect()),
        Value::Set(items) => Value::set(items.into_iter().map(known_only).collect()),
        Value::Map(items) => Value::Map(items.into_iter().map(|(k, v)| (k, known_only(v))).collect()),
        Value::Object(items) => Value::Object(items.into_iter().map(|(k, v)| (k, known_only(v))).collect()),
        Value::Dynamic(ty, value) => Value::Dynamic(ty, Box::new(known_only(*value))),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Type;

    fn schema() -> Schema {
        Schema::new("").attributes([
            Attribute::string("id").computed().keeps(),
            Attribute::string("status").computed(),
            Attribute::string("cidr").required().replaces(),
            Attribute::bool("dns").default(true),
            Attribute::string("secret").optional().write_only(),
            Attribute::nested(
                "rules",
                Nesting::Map,
                [
                    Attribute::of("port", Type::Number).required(),
                    Attribute::string("protocol").default("tcp"),
                    Attribute::string("rule_id").computed(),
                ],
            )
            .optional(),
        ])
    }

    fn value(pairs: &[(&str, Value)]) -> Value {
        let given = Value::object(pairs.iter().map(|(name, value)| (*name, value.clone())));
        given.conform(&schema().ty())
    }

    #[test]
    fn a_create_has_defaults_and_unknown_computed_values() {
        let rule =
            Value::object([("port", Value::from(443)), ("protocol", Value::Null), ("rule_id", Value::Null)]);
        let config = value(&[
            ("cidr", "10.0.0.0/16".into()),
            ("secret", "s3cret".into()),
            ("rules", Value::Map([("https".to_owned(), rule)].into())),
        ]);
        let prepared = prepare(&schema(), None, &config, config.clone(), false);
        assert!(prepared.requires_replace.is_empty());
        assert_eq!(prepared.planned.get("id"), Some(&Value::UNKNOWN));
        assert_eq!(prepared.planned.get("dns"), Some(&Value::Bool(true)));
        assert_eq!(prepared.planned.get("secret"), Some(&Value::Null));
        let rule = prepared.planned.get("rules").and_then(|rules| rules.get("https")).unwrap();
        assert_eq!(rule.get("protocol"), Some(&"tcp".into()));
        assert_eq!(rule.get("rule_id"), Some(&Value::UNKNOWN));
    }

    #[test]
    fn nothing_changed_plans_the_prior_state() {
        let prior = value(&[
            ("id", "vpc-1".into()),
            ("status", "up".into()),
            ("cidr", "10.0.0.0/16".into()),
            ("dns", true.into()),
        ]);
        let config = value(&[("cidr", "10.0.0.0/16".into())]);
        let prepared = prepare(&schema(), Some(&prior), &config, prior.clone(), false);
        assert_eq!(prepared, Prepared { planned: prior, requires_replace: vec![] });
    }

    #[test]
    fn an_update_keeps_the_id_and_replaces_where_it_must() {
        let prior = value(&[
            ("id", "vpc-1".into()),
            ("status", "up".into()),
            ("cidr", "10.0.0.0/16".into()),
            ("dns", true.into()),
        ]);
        let config = value(&[("cidr", "10.1.0.0/16".into())]);
        let mut proposed = prior.clone();
        if let Value::Object(items) = &mut proposed {
            items.insert("cidr".into(), "10.1.0.0/16".into());
        }
        let prepared = prepare(&schema(), Some(&prior), &config, proposed, false);
        assert_eq!(prepared.requires_replace, [Path::of("cidr")]);
        assert_eq!(prepared.planned.get("id"), Some(&"vpc-1".into()));
        assert_eq!(prepared.planned.get("status"), Some(&Value::UNKNOWN));
    }

    #[test]
    fn an_unfinished_create_is_gone_on_with() {
        let prior = value(&[("id", "vpc-1".into()), ("cidr", "10.0.0.0/16".into()), ("dns", true.into())]);
        let config = value(&[("cidr", "10.0.0.0/16".into())]);
        let prepared = prepare(&schema(), Some(&prior), &config, prior.clone(), true);
        assert_eq!(prepared.planned.get("status"), Some(&Value::UNKNOWN));
        assert!(prepared.requires_replace.is_empty());
    }

    #[test]
    fn an_interrupted_create_keeps_the_plan_and_what_was_found_out() {
        let planned =
            value(&[("id", Value::UNKNOWN), ("status", Value::UNKNOWN), ("cidr", "10.0.0.0/16".into())]);
        let saved = value(&[("id", "vpc-1".into()), ("status", Value::UNKNOWN), ("cidr", Value::Null)]);
        let merged = merge_saved(planned, Some(&saved));
        assert_eq!(merged.get("id"), Some(&"vpc-1".into()));
        assert_eq!(merged.get("status"), Some(&Value::Null));
        assert_eq!(merged.get("cidr"), Some(&"10.0.0.0/16".into()));
    }
}
