//! The provider: its configuration, resources, data sources and functions.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::erased::{AnyAction, AnyDataSource, AnyEphemeral, AnyListResource, AnyResource};
use crate::function::Function;
use crate::model::Model;
use crate::schema::Schema;

/// A Terraform provider.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The typed view of the provider block.
    type Model: Model;

    /// The schema of the provider block.
    fn schema(&self) -> Schema;

    /// The schema of `provider_meta` blocks, with which modules pass data to the provider; see
    /// [`crate::context::Meta`].
    fn meta_schema(&self) -> Option<Schema> {
        None
    }

    /// The resources, data sources, ephemeral resources and functions of the provider.
    fn registry(&self) -> Registry;

    /// Validates a provider block beyond the validators of its attributes. Values may be unknown.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Configures the provider. Values may be unknown during a plan: [`Context::defer`] then defers all operations on
    /// objects of this provider, if [`crate::context::ClientCapabilities::deferral`] is set.
    async fn configure(
        &self,
        ctx: &Context,
        terraform_version: &str,
        config: Self::Model,
        diagnostics: &mut Diagnostics,
    );
}

/// The explicit list of everything that a provider offers.
#[derive(Clone, Default)]
pub struct Registry {
    pub(crate) resources: Vec<Arc<dyn AnyResource>>,
    pub(crate) data_sources: Vec<Arc<dyn AnyDataSource>>,
    pub(crate) ephemerals: Vec<Arc<dyn AnyEphemeral>>,
    pub(crate) functions: Vec<Arc<dyn Function>>,
    pub(crate) list_resources: Vec<Arc<dyn AnyListResource>>,
    pub(crate) actions: Vec<Arc<dyn AnyAction>>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(mut self, resource: impl crate::Resource) -> Registry {
        self.resources.push(crate::erased::resource(resource));
        self
    }

    /// Adds a data source.
    #[must_use]
    pub fn data_source(mut self, source: impl crate::DataSource) -> Registry {
        self.data_sources.push(crate::erased::data_source(source));
        self
    }

    /// Adds an ephemeral resource.
    #[must_use]
    pub fn ephemeral(mut self, ephemeral: impl crate::Ephemeral) -> Registry {
        self.ephemerals.push(crate::erased::ephemeral(ephemeral));
        self
    }

    /// Adds a function.
    #[must_use]
    pub fn function(mut self, function: impl Function) -> Registry {
        self.functions.push(Arc::new(function));
        self
    }

    /// Adds a list resource. Its type must also be a managed resource with an identity.
    #[must_use]
    pub fn list_resource(mut self, list: impl crate::ListResource) -> Registry {
        self.list_resources.push(crate::erased::list_resource(list));
        self
    }

    /// Adds an action.
    #[must_use]
    pub fn action(mut self, action: impl crate::Action) -> Registry {
        self.actions.push(crate::erased::action(action));
        self
    }

    /// Adds everything in `other`.
    #[must_use]
    pub fn merge(mut self, other: Registry) -> Registry {
        self.resources.extend(other.resources);
        self.data_sources.extend(other.data_sources);
        self.ephemerals.extend(other.ephemerals);
        self.functions.extend(other.functions);
        self.list_resources.extend(other.list_resources);
        self.actions.extend(other.actions);
        self
    }
}
