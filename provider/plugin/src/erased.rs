//! Object-safe forms of the typed traits, which accept and return values. The server only uses these.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::context::{Context, Progress};
use crate::data_source::DataSource;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ephemeral::{Ephemeral, Opened, Renewed};
use crate::model::{Model, ShapeError, ToValue};
use crate::path::Path;
use crate::resource::{Change, ImportRequest, MoveSource, Planned, Resource};
use crate::schema::{IdentitySchema, Schema};
use crate::value::Value;

impl From<ShapeError> for Diagnostics {
    fn from(error: ShapeError) -> Self {
        let path = error.path.clone();
        Diagnostic::error("Value has an unexpected shape", format!("{error}. This is a bug in the provider."))
            .at(path)
            .into()
    }
}

fn read<M: Model>(value: &Value) -> Result<M, Diagnostics> {
    Ok(M::from_value(value, &Path::root())?)
}

/// Applies a resource's changes in its model to the value that the model came from. A model loses refinements and may
/// be unable to represent unknown parts, so unchanged parts keep their original value.
fn keep_untouched(original: Value, untouched: &Value, touched: Value) -> Value {
    if *untouched == touched {
        return original;
    }
    match (original, touched) {
        (Value::Object(mut original), Value::Object(touched)) => Value::Object(
            touched
                .into_iter()
                .map(|(name, touched)| {
                    let before = untouched.get(&name).unwrap_or(&Value::Null);
                    let value = keep_untouched(original.remove(&name).unwrap_or_default(), before, touched);
                    (name, value)
                })
                .collect(),
        ),
        (_, touched) => touched,
    }
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
        self.inner.identity_of(&read(state).ok()?)
    }

    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        match read(config) {
            Ok(config) => self.inner.validate(&config, diagnostics).await,
            Err(error) => diagnostics.extend(error),
        }
    }

    async fn plan(&self, ctx: &Context, change: ValueChange, diagnostics: &mut Diagnostics) -> ValueChange {
        let typed = (|| {
            Ok(Change::<R::Model> {
                prior: change.prior.as_ref().map(read).transpose()?,
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
        match read(prior) {
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
        Ok(self.inner.create(ctx, planned(&plan)?, progress).await?.to_value())
    }

    async fn read(&self, ctx: &Context, state: &Value) -> Result<Option<Value>, Diagnostics> {
        Ok(self.inner.read(ctx, read(state)?).await?.map(|state| state.to_value()))
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: &Value,
        plan: Planned<Value>,
        progress: &Progress,
    ) -> Result<Value, Diagnostics> {
        Ok(self.inner.update(ctx, read(prior)?, planned(&plan)?, progress).await?.to_value())
    }

    async fn delete(&self, ctx: &Context, state: &Value) -> Result<(), Diagnostics> {
        self.inner.delete(ctx, read(state)?).await
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
        match read(config) {
            Ok(config) => self.inner.validate(&config, diagnostics).await,
            Err(error) => diagnostics.extend(error),
        }
    }

    async fn read(&self, ctx: &Context, config: &Value) -> Result<Value, Diagnostics> {
        Ok(self.inner.read(ctx, read(config)?).await?.to_value())
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
        match read(config) {
            Ok(config) => self.inner.validate(&config, diagnostics).await,
            Err(error) => diagnostics.extend(error),
        }
    }

    async fn open(&self, ctx: &Context, config: &Value) -> Result<Opened<Value>, Diagnostics> {
        let opened = self.inner.open(ctx, read(config)?).await?;
        Ok(Opened { result: opened.result.to_value(), renew_in: opened.renew_in, private: opened.private })
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
}
