//! A list resource without its model types.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::{read, read_config};
use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::list_resource::{ListRequest, ListResource, ListResult, ListResults};
use crate::schema::Schema;
use crate::value::Value;

#[async_trait]
pub(crate) trait AnyListResource: Send + Sync {
    fn type_name(&self) -> &'static str;
    fn schema(&self) -> Schema;
    async fn validate(&self, config: &Value, diagnostics: &mut Diagnostics);
    async fn list(
        &self,
        ctx: &Context,
        request: ListRequest<Value>,
        results: mpsc::Sender<ListResult<Value>>,
    ) -> Result<(), Diagnostics>;
}

/// Erases a list resource's model types.
pub(crate) fn list_resource(list: impl ListResource) -> Arc<dyn AnyListResource> {
    Arc::new(Erased(list))
}

struct Erased<L>(L);

#[async_trait]
impl<L: ListResource> AnyListResource for Erased<L> {
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

    async fn list(
        &self,
        ctx: &Context,
        request: ListRequest<Value>,
        results: mpsc::Sender<ListResult<Value>>,
    ) -> Result<(), Diagnostics> {
        let ListRequest { config, include_resource, limit } = request;
        let request = ListRequest { config: read(&config)?, include_resource, limit };
        self.0.list(ctx, request, &mut ListResults::new(results, limit)).await
    }
}
