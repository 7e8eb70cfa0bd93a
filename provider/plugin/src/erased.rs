//! Object-safe forms of the typed traits, which accept and return values. The server only uses these.

mod action;
mod list_resource;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::context::{Context, Progress};
use crate::data_source::DataSource;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ephemeral::{Ephemeral, Opened, Renewed};
use crate::model::{Model, ToValue, ValueError};
use crate::path::Path;
use crate::resource::{Change, ImportRequest, MoveSource, Planned, Resource};
use crate::schema::{IdentitySchema, Schema};
use crate::value::Value;

pub(crate) use action::{AnyAction, action};
pub(crate) use list_resource::{AnyListResource, list_resource};

fn read<M: Model>(value: &Value) -> Result<M, Diagnostics> {
    Ok(M::from_value(value, &Path::root())?)
}

/// Reads a configuration to be validated. Values that are not allowed are reported, and then count as unknown, so that
/// the rest is validated in the same run.
fn read_config<M: Model>(value: &Value, diagnostics: &mut Diagnostics) -> Option<M> {
    let (model, _, invalid) = lenient(value, &Value::UNKNOWN);
    let reported: Vec<Path> = diagnostics.0.iter().filter_map(|diagnostic| diagnostic.path.clone()).collect();
    for error in invalid {
        let diagnostic = Diagnostic::from(error);
        // A validator has already explained the mistake.
        if !diagnostic.path.as_ref().is_some_and(|path| reported.contains(path)) {
            diagnostics.push(diagnostic);
        }
    }
    model
}

/// Reads a stored state. A value that is no longer allowed counts as null: refresh reads it again from the API.
fn read_state<M: Model>(value: &Value) -> Result<M, Diagnostics> {
    Ok(read_stored(value)?.0)
}

/// Like [`read_state`], with the value that was read.
fn read_stored<M: Model>(value: &Value) -> Result<(M, Value), Diagnostics> {
    match lenient(value, &Value::Null) {
        (Some(model), value, _) => Ok((model, value)),
        (None, ..) => Ok((read(value)?, value.clone())),
    }
}

/// Reads `value`, with `replacement` in the place of each part that is not allowed. Returns no model if that does not
/// help.
fn lenient<M: Model>(value: &Value, replacement: &Value) -> (Option<M>, Value, Vec<ValueError>) {
    let (mut value, mut invalid) = (value.clone(), Vec::new());
    loop {
        match M::from_value(&value, &Path::root()) {
            Ok(model) => return (Some(model), value, invalid),
            Err(error) => {
                let ValueError::Invalid { path, .. } = &error else {
                    invalid.push(error);
                    return (None, value, invalid);
                };
                let replaced = value.replace(path, replacement.clone());
                let again = invalid.contains(&error);
                if !again {
                    invalid.push(error);
                }
                if again || !replaced {
                    return (None, value, invalid);
                }
            }
        }
    }
}

/// Applies a resource's changes in its model to the value that the model came from. A model loses refinements, may be
/// unable to represent unknown parts, and has one notation for values that have several, such as `2001:DB8::/32`. So
/// unchanged parts keep their original value.
fn keep_untouched(original: Value, untouched: &Value, touched: Value) -> Value {
    if *untouched == touched {
        return original;
    }
    match (original, untouched, touched) {
        (Value::Object(original), _, Value::Object(touched)) => {
            Value::Object(keep_untouched_items(original, untouched, touched))
        }
        (Value::Map(original), _, Value::Map(touched)) => {
            Value::Map(keep_untouched_items(original, untouched, touched))
        }
        (Value::List(original), Value::List(untouched), Value::List(touched))
            if original.len() == untouched.len() =>
        {
            let mut before = original.into_iter().zip(untouched);
            let items = touched.into_iter().map(|touched| match before.next() {
                Some((original, untouched)) => keep_untouched(original, untouched, touched),
                None => touched,
            });
            Value::List(items.collect())
        }
        (.., touched) => touched,
    }
}

fn keep_untouched_items(
    mut original: BTreeMap<String, Value>,
    untouched: &Value,
    touched: BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let items = touched.into_iter().map(|(name, touched)| {
        let value = match untouched.get(&name) {
            Some(before) => keep_untouched(original.remove(&name).unwrap_or_default(), before, touched),
            None => touched,
        };
        (name, value)
    });
    items.collect()
}

/// A value-level plan: the erased [`Change`].
pub(crate) type ValueChange = Change<Value>;

/// A resource without its model type.
#[async_trait]
pub(crate) trait AnyResource: Send + Sync {
    fn type_name(&self) -> &'static str;
    fn schema(&self) -> Schema;
    fn identity(&self) -> Option<IdentitySchema>;
    fn identity_of(&self, state: &Value) -> Option<Value>;
    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics);
    async fn plan(&self, ctx: &Context, change: ValueChange, diagnostics: &mut Diagnostics) -> ValueChange;
    async fn plan_destroy(&self, ctx: &Context, prior: &Value, diagnostics: &mut Diagnostics);
    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Value>,
        progress: &Progress,
    ) -> Result<Value, Diagnostics>;
    async fn read(&self, ctx: &Context, state: &Value) -> Result<Option<Value>, Diagnostics>;
    async fn update(
        &self,
        ctx: &Context,
        prior: &Value,
        plan: Planned<Value>,
        progress: &Progress,
    ) -> Result<Value, Diagnostics>;
    async fn delete(&self, ctx: &Context, state: &Value) -> Result<(), Diagnostics>;
    async fn import(&self, ctx: &Context, request: ImportRequest) -> Result<Value, Diagnostics>;
    async fn upgrade(&self, version: i64, state: Json) -> Result<Json, Diagnostics>;
    async fn upgrade_identity(&self, version: i64, identity: Json) -> Result<Json, Diagnostics>;
    async fn generate_config(
        &self,
        ctx: &Context,
        config: Value,
        diagnostics: &mut Diagnostics,
    ) -> Result<Value, Diagnostics>;
    async fn move_from(&self, ctx: &Context, source: MoveSource) -> Result<Option<Value>, Diagnostics>;
}

/// Erases a resource's model type.
pub(crate) fn resource(resource: impl Resource) -> Arc<dyn AnyResource> {
    Arc::new(Erased { inner: resource })
}

/// Erases a data source's model type.
pub(crate) fn data_source(source: impl DataSource) -> Arc<dyn AnyDataSource> {
    Arc::new(ErasedData { inner: source })
}

/// Erases an ephemeral resource's model type.
pub(crate) fn ephemeral(ephemeral: impl Ephemeral) -> Arc<dyn AnyEphemeral> {
    Arc::new(ErasedEphemeral { inner: ephemeral })
}

struct Erased<R> {
    inner: R,
}

fn planned<M: Model>(plan: &Planned<Value>) -> Result<Planned<M>, Diagnostics> {
    Ok(Planned { state: read(&plan.state)?, config: read(&plan.config)? })
}

#[async_trait]
impl<R: Resource> AnyResource for Erased<R> {
    fn type_name(&self) -> &'static str {
        self.inner.type_name()
    }

    fn schema(&self) -> Schema {
        self.inner.schema()
    }

    fn identity(&self) -> Option<IdentitySchema> {
        self.inner.identity()
    }

    fn identity_of(&self, state: &Value) -> Option<Value> {
        self.inner.identity_of(&read_state(state).ok()?)
    }

    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if let Some(config) = read_config(config, diagnostics) {
            self.inner.validate(&config, diagnostics).await;
        }
    }

    async fn plan(&self, ctx: &Context, change: ValueChange, diagnostics: &mut Diagnostics) -> ValueChange {
        let typed = (|| {
            Ok(Change::<R::Model> {
                prior: change.prior.as_ref().map(read_state).transpose()?,
                config: read(&change.config)?,
                planned: read(&change.planned)?,
                requires_replace: change.requires_replace.clone(),
                deferred: change.deferred,
            })
        })();
        let mut typed = match typed {
            Ok(typed) => typed,
            Err(error) => {
                diagnostics.extend(error);
                return change;
            }
        };
        let untouched = typed.planned.to_value();
        self.inner.plan(ctx, &mut typed, diagnostics).await;
        let touched = typed.planned.to_value();
        let planned = keep_untouched(change.planned, &untouched, touched);
        Change {
            planned,
            requires_replace: typed.requires_replace,
            deferred: typed.deferred,
            prior: change.prior,
            config: change.config,
        }
    }

    async fn plan_destroy(&self, ctx: &Context, prior: &Value, diagnostics: &mut Diagnostics) {
        match read_state(prior) {
            Ok(prior) => self.inner.plan_destroy(ctx, &prior, diagnostics).await,
            Err(error) => diagnostics.extend(error),
        }
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Value>,
        progress: &Progress,
    ) -> Result<Value, Diagnostics> {
        let typed = planned::<R::Model>(&plan)?;
        let untouched = typed.state.to_value();
        let created = self.inner.create(ctx, typed, progress).await?.to_value();
        Ok(keep_untouched(plan.state, &untouched, created))
    }

    async fn read(&self, ctx: &Context, state: &Value) -> Result<Option<Value>, Diagnostics> {
        let (typed, state) = read_stored::<R::Model>(state)?;
        let untouched = typed.to_value();
        let found = self.inner.read(ctx, typed).await?;
        Ok(found.map(|found| keep_untouched(state, &untouched, found.to_value())))
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: &Value,
        plan: Planned<Value>,
        progress: &Progress,
    ) -> Result<Value, Diagnostics> {
        let typed = planned::<R::Model>(&plan)?;
        let untouched = typed.state.to_value();
        let updated = self.inner.update(ctx, read_state(prior)?, typed, progress).await?.to_value();
        Ok(keep_untouched(plan.state, &untouched, updated))
    }

    async fn delete(&self, ctx: &Context, state: &Value) -> Result<(), Diagnostics> {
        self.inner.delete(ctx, read_state(state)?).await
    }

    async fn import(&self, ctx: &Context, request: ImportRequest) -> Result<Value, Diagnostics> {
        Ok(self.inner.import(ctx, request).await?.to_value())
    }

    async fn upgrade(&self, version: i64, state: Json) -> Result<Json, Diagnostics> {
        self.inner.upgrade(version, state).await
    }

    async fn upgrade_identity(&self, version: i64, identity: Json) -> Result<Json, Diagnostics> {
        self.inner.upgrade_identity(version, identity).await
    }

    async fn generate_config(
        &self,
        ctx: &Context,
        config: Value,
        diagnostics: &mut Diagnostics,
    ) -> Result<Value, Diagnostics> {
        let mut typed = read_state(&config)?;
        self.inner.generate_config(ctx, &mut typed, diagnostics).await;
        Ok(typed.to_value())
    }

    async fn move_from(&self, ctx: &Context, source: MoveSource) -> Result<Option<Value>, Diagnostics> {
        Ok(self.inner.move_from(ctx, source).await?.map(|state| state.to_value()))
    }
}

/// A data source without its model type.
#[async_trait]
pub(crate) trait AnyDataSource: Send + Sync {
    fn type_name(&self) -> &'static str;
    fn schema(&self) -> Schema;
    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics);
    async fn read(&self, ctx: &Context, config: &Value) -> Result<Value, Diagnostics>;
}

struct ErasedData<D> {
    inner: D,
}

#[async_trait]
impl<D: DataSource> AnyDataSource for ErasedData<D> {
    fn type_name(&self) -> &'static str {
        self.inner.type_name()
    }

    fn schema(&self) -> Schema {
        self.inner.schema()
    }

    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if let Some(config) = read_config(config, diagnostics) {
            self.inner.validate(&config, diagnostics).await;
        }
    }

    async fn read(&self, ctx: &Context, config: &Value) -> Result<Value, Diagnostics> {
        let typed: D::Model = read(config)?;
        let untouched = typed.to_value();
        let found = self.inner.read(ctx, typed).await?.to_value();
        Ok(keep_untouched(config.clone(), &untouched, found))
    }
}

/// An ephemeral resource without its model type.
#[async_trait]
pub(crate) trait AnyEphemeral: Send + Sync {
    fn type_name(&self) -> &'static str;
    fn schema(&self) -> Schema;
    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics);
    async fn open(&self, ctx: &Context, config: &Value) -> Result<Opened<Value>, Diagnostics>;
    async fn renew(&self, ctx: &Context, private: Option<Vec<u8>>) -> Result<Renewed, Diagnostics>;
    async fn close(&self, ctx: &Context, private: Option<Vec<u8>>) -> Result<(), Diagnostics>;
}

struct ErasedEphemeral<E> {
    inner: E,
}

#[async_trait]
impl<E: Ephemeral> AnyEphemeral for ErasedEphemeral<E> {
    fn type_name(&self) -> &'static str {
        self.inner.type_name()
    }

    fn schema(&self) -> Schema {
        self.inner.schema()
    }

    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if let Some(config) = read_config(config, diagnostics) {
            self.inner.validate(&config, diagnostics).await;
        }
    }

    async fn open(&self, ctx: &Context, config: &Value) -> Result<Opened<Value>, Diagnostics> {
        let typed: E::Model = read(config)?;
        let untouched = typed.to_value();
        let opened = self.inner.open(ctx, typed).await?;
        let result = keep_untouched(config.clone(), &untouched, opened.result.to_value());
        Ok(Opened { result, renew_in: opened.renew_in, private: opened.private })
    }

    async fn renew(&self, ctx: &Context, private: Option<Vec<u8>>) -> Result<Renewed, Diagnostics> {
        self.inner.renew(ctx, private).await
    }

    async fn close(&self, ctx: &Context, private: Option<Vec<u8>>) -> Result<(), Diagnostics> {
        self.inner.close(ctx, private).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_resource_did_not_touch_keeps_what_its_model_has_no_place_for() {
        let names = Value::Set(vec![Value::UNKNOWN, "x".into()]);
        let object = |names: Value, size: i64| Value::object([("names", names), ("size", size.into())]);
        // The model saw the half-known set as unknown, and the resource changed the size.
        let kept =
            keep_untouched(object(names.clone(), 1), &object(Value::UNKNOWN, 1), object(Value::UNKNOWN, 2));
        assert_eq!(kept, object(names.clone(), 2));
        let changed = keep_untouched(
            object(names, 1),
            &object(Value::UNKNOWN, 1),
            object(Value::List(vec!["y".into()]), 1),
        );
        assert_eq!(changed, object(Value::List(vec!["y".into()]), 1));
    }

    #[test]
    fn an_equal_value_keeps_its_notation() {
        let range = |text: &str, size: i64| {
            let range = Value::object([("range", text.into()), ("size", size.into())]);
            Value::object([
                ("one", range.clone()),
                ("list", Value::List(vec![range.clone()])),
                ("map", Value::Map([("a".to_owned(), range)].into())),
            ])
        };
        let kept =
            keep_untouched(range("2001:DB8::/32", 1), &range("2001:db8::/32", 1), range("2001:db8::/32", 2));
        assert_eq!(kept, range("2001:DB8::/32", 2));
    }
}
