//! What Terraform's core computes and checks around a provider's answers.

use std::collections::BTreeMap;

use tf_provider_rs::{Nesting, Path, Value};

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
