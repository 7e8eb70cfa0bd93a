//! What Terraform's core computes and checks around a provider's answers.

use std::collections::BTreeMap;

use crate::{Nesting, Path, Value};

use super::schema::Attribute;

/// The state that the user asks for: the configuration, with prior values where the provider
/// decides and the configuration says nothing.
pub(super) fn proposed(attributes: &[Attribute], prior: &Value, config: &Value) -> Value {
    let Value::Object(configured) = config else { return config.clone() };
    let propose = |attribute: &Attribute| {
        let config = configured.get(&attribute.name).unwrap_or(&Value::Null);
        let prior = prior.get(&attribute.name).unwrap_or(&Value::Null);
        let value = match &attribute.nested {
            _ if attribute.computed && config.is_null() => prior.clone(),
            Some((nesting, nested)) => proposed_nested(*nesting, nested, prior, config),
            None => config.clone(),
        };
        (attribute.name.clone(), value)
    };
    Value::Object(attributes.iter().map(propose).collect())
}

/// A configuration as Terraform sends it: collections of blocks are empty, not null.
pub(super) fn with_blocks(attributes: &[Attribute], config: Value) -> Value {
    let Value::Object(mut items) = config else { return config };
    for attribute in attributes {
        let Some((nesting, nested)) = attribute.nested.as_ref().filter(|_| attribute.block) else { continue };
        let slot = items.entry(attribute.name.clone()).or_default();
        let inner = |items: Vec<Value>| items.into_iter().map(|item| with_blocks(nested, item)).collect();
        *slot = match (nesting, std::mem::take(slot)) {
            (Nesting::List, Value::Null) => Value::List(Vec::new()),
            (Nesting::Set, Value::Null) => Value::Set(Vec::new()),
            (Nesting::Map, Value::Null) => Value::Map(BTreeMap::new()),
            (Nesting::List, Value::List(items)) => Value::List(inner(items)),
            (Nesting::Set, Value::Set(items)) => Value::set(inner(items)),
            (Nesting::Map, Value::Map(items)) => {
                Value::Map(items.into_iter().map(|(key, item)| (key, with_blocks(nested, item))).collect())
            }
            (_, object) => with_blocks(nested, object),
        };
    }
    Value::Object(items)
}

fn proposed_nested(nesting: Nesting, nested: &[Attribute], prior: &Value, config: &Value) -> Value {
    match (nesting, config) {
        (Nesting::Single, config) => proposed(nested, prior, config),
        (Nesting::List, Value::List(items)) => {
            let prior = prior.as_slice().unwrap_or_default();
            let propose = |(index, item)| proposed(nested, prior.get(index).unwrap_or(&Value::Null), item);
            Value::List(items.iter().enumerate().map(propose).collect())
        }
        (Nesting::Map, Value::Map(items)) => {
            let propose = |(key, item): (&String, &Value)| {
                (key.clone(), proposed(nested, prior.get(key).unwrap_or(&Value::Null), item))
            };
            Value::Map(items.iter().map(propose).collect())
        }
        (Nesting::Set, Value::Set(items)) => {
            // Elements have no keys: the prior one is the one that the configuration could mean.
            let mut candidates = prior.as_slice().unwrap_or_default().to_vec();
            let propose = |item: &Value| {
                let found = candidates.iter().position(|candidate| could_mean(nested, item, candidate));
                let prior = found.map_or(Value::Null, |index| candidates.remove(index));
                proposed(nested, &prior, item)
            };
            Value::set(items.iter().map(propose).collect())
        }
        (_, other) => other.clone(),
    }
}

fn could_mean(nested: &[Attribute], config: &Value, prior: &Value) -> bool {
    nested.iter().all(|attribute| {
        let config = config.get(&attribute.name).unwrap_or(&Value::Null);
        let prior = prior.get(&attribute.name).unwrap_or(&Value::Null);
        config == prior || (attribute.computed && config.is_null())
    })
}

/// Where a plan contradicts the configuration: Terraform would call it invalid.
pub(super) fn plan_problems(
    attributes: &[Attribute],
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<String>,
) {
    let null = Value::Null;
    for attribute in attributes {
        let path = path.attribute(&attribute.name);
        let at = |value: &'_ Value| value.get(&attribute.name).cloned().unwrap_or_default();
        let (prior, config, planned) = (at(prior), at(config), at(planned));
        if attribute.write_only {
            if !planned.is_null() {
                problems.push(format!("{path}: a write-only value was planned"));
            }
        } else if config.is_null() {
            if !attribute.computed && !planned.is_null() {
                problems.push(format!("{path}: planned although neither configured nor computed"));
            }
        } else if planned == config || planned == prior {
            // As asked for; or as before, where the provider finds both to mean the same.
        } else if let Some((nesting, nested)) = &attribute.nested {
            let pairs: Vec<(Path, Value, Value, Value)> = match (nesting, &config, &planned) {
                (Nesting::Single, ..) => vec![(path.clone(), prior, config, planned)],
                (Nesting::List, Value::List(wanted), Value::List(items)) if wanted.len() == items.len() => {
                    let before = |index| prior.as_slice().and_then(|items| items.get(index)).unwrap_or(&null);
                    let pairs = wanted.iter().zip(items).enumerate();
                    pairs
                        .map(|(i, (c, p))| (path.index(i), before(i).clone(), c.clone(), p.clone()))
                        .collect()
                }
                (Nesting::Map, Value::Map(wanted), Value::Map(items)) if keys(wanted) == keys(items) => {
                    let before = |key: &str| prior.get(key).unwrap_or(&null).clone();
                    let pairs = wanted.iter().zip(items.values());
                    pairs.map(|((k, c), p)| (path.key(k), before(k), c.clone(), p.clone())).collect()
                }
                (Nesting::Set, Value::Set(wanted), Value::Set(items)) if wanted.len() == items.len() => {
                    continue;
                }
                _ => {
                    problems.push(format!("{path}: planned elements are not the configured ones"));
                    continue;
                }
            };
            for (path, prior, config, planned) in pairs {
                plan_problems(nested, &prior, &config, &planned, &path, problems);
            }
        } else {
            problems.push(format!("{path}: the planned value is not the configured one"));
        }
    }
}

fn keys(items: &BTreeMap<String, Value>) -> Vec<&String> {
    items.keys().collect()
}

/// Where a new state contradicts the plan: Terraform would call it inconsistent.
pub(super) fn apply_problems(planned: &Value, actual: &Value, path: &Path, problems: &mut Vec<String>) {
    match (planned, actual) {
        (Value::Unknown(_), Value::Unknown(_)) => problems.push(format!("{path}: unknown after apply")),
        (Value::Unknown(_), _) => {}
        (Value::Object(planned), Value::Object(actual)) => {
            for (name, planned) in planned {
                let actual = actual.get(name).unwrap_or(&Value::Null);
                apply_problems(planned, actual, &path.attribute(name), problems);
            }
        }
        (Value::Map(planned), Value::Map(actual)) if keys(planned) == keys(actual) => {
            for ((key, planned), actual) in planned.iter().zip(actual.values()) {
                apply_problems(planned, actual, &path.key(key), problems);
            }
        }
        (Value::List(planned), Value::List(actual)) | (Value::Tuple(planned), Value::Tuple(actual))
            if planned.len() == actual.len() =>
        {
            for (index, (planned, actual)) in planned.iter().zip(actual).enumerate() {
                apply_problems(planned, actual, &path.index(index), problems);
            }
        }
        // Elements with unknown parts may turn into any others; their number holds.
        (Value::Set(items), Value::Set(actual))
            if !planned.is_wholly_known() && items.len() == actual.len() => {}
        (Value::Dynamic(_, planned), Value::Dynamic(_, actual)) => {
            apply_problems(planned, actual, path, problems);
        }
        (planned, actual) if planned == actual => {}
        _ => problems.push(format!("{path}: the new value is not the planned one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Type;

    fn attribute(name: &str, computed: bool) -> Attribute {
        Attribute {
            name: name.to_owned(),
            ty: Type::String,
            computed,
            write_only: false,
            block: false,
            nested: None,
        }
    }

    fn rules(nesting: Nesting) -> Attribute {
        let nested = vec![attribute("port", false), attribute("id", true)];
        Attribute { nested: Some((nesting, nested)), ..attribute("rules", false) }
    }

    fn rule(port: &str, id: Value) -> Value {
        Value::object([("port", port.into()), ("id", id)])
    }

    #[test]
    fn the_proposal_keeps_what_the_provider_had_decided() {
        let attributes = [attribute("name", false), attribute("id", true), rules(Nesting::Set)];
        let prior = Value::object([
            ("name", "old".into()),
            ("id", "i-1".into()),
            ("rules", Value::set(vec![rule("1", "r-1".into()), rule("2", "r-2".into())])),
        ]);
        let config = Value::object([
            ("name", "new".into()),
            ("id", Value::Null),
            ("rules", Value::set(vec![rule("2", Value::Null), rule("3", Value::Null)])),
        ]);
        let expected = Value::object([
            ("name", "new".into()),
            ("id", "i-1".into()),
            ("rules", Value::set(vec![rule("2", "r-2".into()), rule("3", Value::Null)])),
        ]);
        assert_eq!(proposed(&attributes, &prior, &config), expected);
        assert_eq!(proposed(&attributes, &prior, &Value::Null), Value::Null);
    }

    #[test]
    fn a_plan_that_contradicts_the_configuration_is_found() {
        let secret = Attribute { write_only: true, ..attribute("secret", false) };
        let attributes = [attribute("name", false), attribute("id", true), secret, rules(Nesting::List)];
        let config = Value::object([
            ("name", "a".into()),
            ("secret", "s".into()),
            ("rules", Value::List(vec![rule("1", Value::Null)])),
        ]);
        let check = |name: &str, secret: Value, rules: Vec<Value>| {
            let planned = Value::object([
                ("name", name.into()),
                ("id", Value::UNKNOWN),
                ("secret", secret),
                ("rules", Value::List(rules)),
            ]);
            let mut problems = Vec::new();
            plan_problems(&attributes, &Value::Null, &config, &planned, &Path::root(), &mut problems);
            problems
        };
        assert!(check("a", Value::Null, vec![rule("1", Value::UNKNOWN)]).is_empty());
        assert_eq!(
            check("b", "s".into(), vec![rule("2", Value::UNKNOWN)]),
            [
                "name: the planned value is not the configured one",
                "secret: a write-only value was planned",
                "rules[0].port: the planned value is not the configured one",
            ]
        );
        assert_eq!(check("a", Value::Null, vec![]), ["rules: planned elements are not the configured ones"]);
    }

    #[test]
    fn a_result_that_contradicts_the_plan_is_found() {
        let planned = Value::object([
            ("id", Value::UNKNOWN),
            ("name", "a".into()),
            ("rules", Value::List(vec![rule("1", Value::UNKNOWN)])),
        ]);
        let check = |id: Value, name: &str, port: &str| {
            let actual = Value::object([
                ("id", id),
                ("name", name.into()),
                ("rules", Value::List(vec![rule(port, "r".into())])),
            ]);
            let mut problems = Vec::new();
            apply_problems(&planned, &actual, &Path::root(), &mut problems);
            problems
        };
        assert!(check("i-1".into(), "a", "1").is_empty());
        assert!(check(Value::Null, "a", "1").is_empty());
        assert_eq!(
            check(Value::UNKNOWN, "b", "2"),
            [
                "id: unknown after apply",
                "name: the new value is not the planned one",
                "rules[0].port: the new value is not the planned one",
            ]
        );
    }
}
