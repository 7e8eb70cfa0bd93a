//! The provider: its configuration, resources, data sources and functions.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::erased::{AnyDataSource, AnyEphemeral, AnyResource};
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

    /// The resources, data sources, ephemeral resources and functions of the provider.
    fn registry(&self) -> Registry;

    /// Validates a provider block beyond the validators of its attributes. Values may be unknown.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Configures the provider. Values may be unknown during a plan.
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

    /// Adds everything in `other`.
    #[must_use]
    pub fn merge(mut self, other: Registry) -> Registry {
        self.resources.extend(other.resources);
        self.data_sources.extend(other.data_sources);
        self.ephemerals.extend(other.ephemerals);
        self.functions.extend(other.functions);
        self
    }
}
