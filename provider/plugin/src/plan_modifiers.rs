//! Plan modifiers: how a single attribute is planned (terraform-plugin-framework: package `planmodifier`).
//!
//! ```
//! use tf_provider_rs::{Attribute, plan_modifiers};
//!
//! Attribute::string("engine_version").required().modify(plan_modifiers::requires_replace_if(|request, response| {
//!     let major = |value: &tf_provider_rs::Value| value.as_str()?.split('.').next().map(str::to_owned);
//!     major(request.prior) != major(&response.planned)
//! }));
//! ```
//!
//! [`Attribute::keeps`] and [`Attribute::replaces`] are shorthands for the two most frequent ones.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::Path;
use crate::schema::{Attribute, Nesting, Shape};
use crate::value::Value;

/// Changes how an attribute is planned in a create or update.
pub type PlanModifier = Arc<dyn Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync>;

/// What a plan modifier decides on.
#[derive(Clone, Copy, Debug)]
pub struct ModifyRequest<'a> {
    /// Path of the attribute.
    pub path: &'a Path,
    /// Whether the object is to be created.
    pub create: bool,
    /// The value in the state; null if there is none. Elements of sets have no prior value, unless they are equal to
    /// an element in the state.
    pub prior: &'a Value,
    /// The value in the configuration.
    pub config: &'a Value,
}

/// The plan of an attribute.
#[derive(Clone, Debug)]
pub struct ModifyResponse {
    /// The planned value.
    pub planned: Value,
    /// Whether the object must be replaced.
    pub requires_replace: bool,
    /// Errors and warnings. Errors fail the plan.
    pub diagnostics: Diagnostics,
}

/// Plans the prior value of a computed attribute (framework: `UseStateForUnknown`).
pub fn use_state_for_unknown() -> impl Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync {
    |request, response| {
        if !request.create && response.planned.is_unknown() && request.config.is_null() {
            response.planned = request.prior.clone();
        }
    }
}

/// Same as [`use_state_for_unknown`], but a null value stays unknown (framework: `UseNonNullStateForUnknown`).
pub fn use_non_null_state_for_unknown() -> impl Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync {
    let keep = use_state_for_unknown();
    move |request, response| {
        if !request.prior.is_null() {
            keep(request, response);
        }
    }
}

/// Replaces the object if the value changes (framework: `RequiresReplace`).
pub fn requires_replace() -> impl Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync {
    requires_replace_if(|_, _| true)
}

/// Replaces the object if the value changes and `condition` holds (framework: `RequiresReplaceIf`).
pub fn requires_replace_if(
    condition: impl Fn(&ModifyRequest<'_>, &ModifyResponse) -> bool + Send + Sync,
) -> impl Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync {
    move |request, response| {
        if !request.create && *request.prior != response.planned && condition(request, response) {
            response.requires_replace = true;
        }
    }
}

/// Replaces the object if the user sets another value (framework: `RequiresReplaceIfConfigured`).
pub fn requires_replace_if_configured() -> impl Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync {
    requires_replace_if(|request, _| !request.config.is_null())
}

/// Runs the modifiers of all attributes, outer ones first. `prior` is `None` for a create.
pub(crate) fn run(
    attributes: &[Attribute],
    prior: Option<&Value>,
    config: &Value,
    planned: Value,
    requires_replace: &mut Vec<Path>,
    diagnostics: &mut Diagnostics,
) -> Value {
    let mut run = Run { create: prior.is_none(), set: None, requires_replace, diagnostics };
    run.object(attributes, prior.unwrap_or(&Value::Null), config, planned, &Path::root())
}

struct Run<'a> {
    create: bool,
    /// The set around the element that is being planned: the protocol cannot address its elements.
    set: Option<Path>,
    requires_replace: &'a mut Vec<Path>,
    diagnostics: &'a mut Diagnostics,
}

impl Run<'_> {
    /// The path that Terraform can find the attribute at `path` at.
    fn place<'p>(&'p self, path: &'p Path) -> &'p Path {
        self.set.as_ref().unwrap_or(path)
    }

    fn object(
        &mut self,
        attributes: &[Attribute],
        prior: &Value,
        config: &Value,
        planned: Value,
        path: &Path,
    ) -> Value {
        let (Value::Object(mut items) | Value::Map(mut items)) = planned else { return planned };
        for attribute in attributes {
            let Some(slot) = items.get_mut(&attribute.name) else { continue };
            let prior = prior.get(&attribute.name).unwrap_or(&Value::Null);
            let config = config.get(&attribute.name).unwrap_or(&Value::Null);
            let path = path.attribute(&attribute.name);
            let planned = self.attribute(attribute, prior, config, std::mem::take(slot), &path);
            *slot = self.nested(attribute, prior, config, planned, &path);
        }
        Value::Object(items)
    }

    fn attribute(
        &mut self,
        attribute: &Attribute,
        prior: &Value,
        config: &Value,
        planned: Value,
        path: &Path,
    ) -> Value {
        let mut planned = planned;
        for modifier in &attribute.modifiers {
            let request = ModifyRequest { path, create: self.create, prior, config };
            let mut response =
                ModifyResponse { planned, requires_replace: false, diagnostics: Diagnostics::default() };
            modifier(&request, &mut response);
            let at = |diagnostic: Diagnostic| match diagnostic.path {
                Some(_) => diagnostic,
                None => diagnostic.at(path.clone()),
            };
            self.diagnostics.0.extend(response.diagnostics.0.into_iter().map(at));
            let place = self.place(path).clone();
            if response.requires_replace && !self.requires_replace.contains(&place) {
                self.requires_replace.push(place);
            }
            planned = response.planned.conform(&attribute.ty());
        }
        planned
    }

    fn nested(
        &mut self,
        attribute: &Attribute,
        prior: &Value,
        config: &Value,
        planned: Value,
        path: &Path,
    ) -> Value {
        let Shape::Nested(nesting, nested) = &attribute.shape else { return planned };
        let null = Value::Null;
        match (nesting, planned) {
            (Nesting::Single, object) => self.object(nested, prior, config, object, path),
            (Nesting::List, Value::List(items)) => {
                let at = |value: &Value, index: usize| {
                    value.as_slice().and_then(|items| items.get(index)).cloned().unwrap_or_default()
                };
                let items = items.into_iter().enumerate().map(|(index, item)| {
                    let (prior, config) = (at(prior, index), at(config, index));
                    self.object(nested, &prior, &config, item, &path.index(index))
                });
                Value::List(items.collect())
            }
            (Nesting::Map, Value::Map(items)) => {
                let items = items.into_iter().map(|(key, item)| {
                    let (prior, config) =
                        (prior.get(&key).unwrap_or(&null), config.get(&key).unwrap_or(&null));
                    let item = self.object(nested, prior, config, item, &path.key(&key));
                    (key, item)
                });
                Value::Map(items.collect())
            }
            (Nesting::Set, Value::Set(items)) => {
                let known = prior.as_slice().unwrap_or_default();
                let outer = self.set.is_none();
                self.set.get_or_insert_with(|| path.clone());
                let items = items.into_iter().map(|item| {
                    let prior = known.iter().find(|known| **known == item).unwrap_or(&null);
                    self.object(nested, prior, &item.clone(), item, path)
                });
                let items = Value::set(items.collect());
                if outer {
                    self.set = None;
                }
                items
            }
            (_, other) => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    fn run_on(
        schema: &Schema,
        prior: Option<Value>,
        config: Value,
        planned: Value,
    ) -> (Value, Vec<String>, Diagnostics) {
        let ty = schema.ty();
        let (mut replace, mut diagnostics) = (Vec::new(), Diagnostics::default());
        let prior = prior.map(|prior| prior.conform(&ty));
        let planned = run(
            &schema.attributes,
            prior.as_ref(),
            &config.conform(&ty),
            planned.conform(&ty),
            &mut replace,
            &mut diagnostics,
        );
        (planned, replace.iter().map(ToString::to_string).collect(), diagnostics)
    }

    #[test]
    fn a_change_replaces_where_the_condition_holds() {
        let rule = Attribute::string("port").required().modify(requires_replace());
        let schema = Schema::new("").attributes([
            Attribute::string("version").required().modify(requires_replace_if(|request, response| {
                request.prior.as_str().map(str::len) != response.planned.as_str().map(str::len)
            })),
            Attribute::nested("rules", Nesting::Map, [rule.clone()]).optional(),
            Attribute::nested("peers", Nesting::Set, [rule]).optional(),
        ]);
        let port = |port: &str| Value::object([("port", port.into())]);
        let object = |version: &str, rule: &str, peers: &[&str]| {
            Value::object([
                ("version", version.into()),
                ("rules", Value::Map([("a".to_owned(), port(rule))].into())),
                ("peers", Value::set(peers.iter().map(|peer| port(peer)).collect())),
            ])
        };
        let before = object("1", "80", &["1", "2"]);
        let change = |after: Value| run_on(&schema, Some(before.clone()), after.clone(), after).1;
        assert!(change(object("2", "80", &["2", "1"])).is_empty());
        assert_eq!(change(object("10", "80", &["1", "2"])), ["version"]);
        assert_eq!(change(object("1", "81", &["1", "2"])), ["rules[\"a\"].port"]);
        assert_eq!(change(object("1", "80", &["1", "3"])), ["peers"]);
        let after = object("10", "81", &["3"]);
        assert!(run_on(&schema, None, after.clone(), after).1.is_empty());
    }

    #[test]
    fn a_computed_value_is_kept_through_updates() {
        let schema = Schema::new("").attributes([
            Attribute::string("id").computed().modify(use_state_for_unknown()),
            Attribute::string("note").computed().modify(use_non_null_state_for_unknown()),
        ]);
        let before = Value::object([("id", "i-1".into()), ("note", Value::Null)]);
        let unknown = Value::object([("id", Value::UNKNOWN), ("note", Value::UNKNOWN)]);
        let (planned, ..) = run_on(&schema, Some(before), Value::object([]), unknown.clone());
        assert_eq!(planned, Value::object([("id", "i-1".into()), ("note", Value::UNKNOWN)]));
        let (planned, ..) = run_on(&schema, None, Value::object([]), unknown.clone());
        assert_eq!(planned, unknown);
    }

    #[test]
    fn a_modifier_changes_the_plan_and_warns_at_its_path() {
        let schema = Schema::new("").attribute(Attribute::string("name").optional().computed().modify(
            |request: &ModifyRequest<'_>, response: &mut ModifyResponse| {
                if request.config.is_null() {
                    response.planned = "generated".into();
                    response.diagnostics.push(Diagnostic::warning("Generated name", "Set one."));
                }
            },
        ));
        let unknown = Value::object([("name", Value::UNKNOWN)]);
        let (planned, _, diagnostics) = run_on(&schema, None, Value::object([]), unknown);
        assert_eq!(planned.get("name"), Some(&"generated".into()));
        assert_eq!(diagnostics.0[0].path, Some(Path::of("name")));
    }
}
