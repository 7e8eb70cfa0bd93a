//! An action without its model type.

use std::sync::Arc;

use async_trait::async_trait;

use super::{read, read_config};
use crate::action::{Action, InvokeProgress};
use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::schema::Schema;
use crate::value::Value;

#[async_trait]
pub(crate) trait AnyAction: Send + Sync {
    fn type_name(&self) -> &'static str;
    fn schema(&self) -> Schema;
    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics);
    async fn plan(&self, ctx: &Context, config: &Value, diagnostics: &mut Diagnostics);
    async fn invoke(
        &self,
        ctx: &Context,
        config: &Value,
        progress: &InvokeProgress,
    ) -> Result<(), Diagnostics>;
}

/// Erases an action's model type.
pub(crate) fn action(action: impl Action) -> Arc<dyn AnyAction> {
    Arc::new(Erased(action))
}

struct Erased<A>(A);

#[async_trait]
impl<A: Action> AnyAction for Erased<A> {
    fn type_name(&self) -> &'static str {
        self.0.type_name()
    }

    fn schema(&self) -> Schema {
        self.0.schema()
    }

    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if let Some(config) = read_config(config, diagnostics) {
            self.0.validate(&config, diagnostics).await;
        }
    }

    async fn plan(&self, ctx: &Context, config: &Value, diagnostics: &mut Diagnostics) {
        match read(config) {
            Ok(config) => self.0.plan(ctx, &config, diagnostics).await,
            Err(error) => diagnostics.extend(error),
        }
    }

    async fn invoke(
        &self,
        ctx: &Context,
        config: &Value,
        progress: &InvokeProgress,
    ) -> Result<(), Diagnostics> {
        self.0.invoke(ctx, read(config)?, progress).await
    }
}
