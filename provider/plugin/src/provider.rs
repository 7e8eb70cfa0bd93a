//! The provider: its configuration, resources, data sources and functions.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::erased::{AnyAction, AnyDataSource, AnyEphemeral, AnyListResource, AnyResource};
use crate::function::Function;
use crate::model::Model;
use crate::registered::{Kind, Names};
use crate::schema::Schema;

/// A Terraform provider.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The typed view of the provider block.
    type Model: Model;

    /// The schema of the provider block.
    fn schema(&self) -> Schema {
        Self::Model::schema()
    }

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
    pub(crate) names: Names,
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
    pub fn resource<R: crate::Resource>(mut self, resource: R) -> Registry {
        self.names.add::<R>(Kind::Resource, resource.type_name());
        self.resources.push(crate::erased::resource(resource));
        self
    }

    /// Adds a data source.
    #[must_use]
    pub fn data_source<D: crate::DataSource>(mut self, source: D) -> Registry {
        self.names.add::<D>(Kind::DataSource, source.type_name());
        self.data_sources.push(crate::erased::data_source(source));
        self
    }

    /// Adds an ephemeral resource.
    #[must_use]
    pub fn ephemeral<E: crate::Ephemeral>(mut self, ephemeral: E) -> Registry {
        self.names.add::<E>(Kind::Ephemeral, ephemeral.type_name());
        self.ephemerals.push(crate::erased::ephemeral(ephemeral));
        self
    }

    /// Adds a function.
    #[must_use]
    pub fn function<F: Function>(mut self, function: F) -> Registry {
        self.names.add::<F>(Kind::Function, function.signature().name);
        self.functions.push(Arc::new(function));
        self
    }

    /// Adds a list resource. Its type must also be a managed resource with an identity.
    #[must_use]
    pub fn list_resource<L: crate::ListResource>(mut self, list: L) -> Registry {
        self.names.add::<L>(Kind::ListResource, list.type_name());
        self.list_resources.push(crate::erased::list_resource(list));
        self
    }

    /// Adds an action.
    #[must_use]
    pub fn action<A: crate::Action>(mut self, action: A) -> Registry {
        self.names.add::<A>(Kind::Action, action.type_name());
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
        self.names.merge(other.names);
        self.list_resources.extend(other.list_resources);
        self.actions.extend(other.actions);
        self
    }
}
