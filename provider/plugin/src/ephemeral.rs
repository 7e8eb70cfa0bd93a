//! Ephemeral resources: values that are never stored (Terraform 1.10 or later).

use std::time::Duration;

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::schema::Schema;

/// An opened ephemeral resource.
#[derive(Clone, Debug)]
pub struct Opened<M> {
    /// The result, available to the configuration.
    pub result: M,
    /// Time until the resource must be renewed, if ever.
    pub renew_in: Option<Duration>,
    /// Private data, passed to `renew` and `close`.
    pub private: Option<Vec<u8>>,
}

/// A renewed ephemeral resource.
#[derive(Clone, Debug, Default)]
pub struct Renewed {
    /// Time until the next renewal, if any.
    pub renew_in: Option<Duration>,
    /// Replaces the private data.
    pub private: Option<Vec<u8>>,
}

/// A value that lives for one run and is never stored.
#[async_trait]
pub trait Ephemeral: Send + Sync + 'static {
    /// The typed view of configuration and result.
    type Model: Model;

    /// The full type name: that of the derived model.
    fn type_name(&self) -> &'static str {
        Self::Model::TYPE_NAME
    }

    /// The schema.
    fn schema(&self) -> Schema {
        Self::Model::schema()
    }

    /// Validates a configuration beyond the validators of its attributes. Values may be unknown.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Opens the resource and returns its value.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn open(&self, ctx: &Context, config: Self::Model) -> Result<Opened<Self::Model>, Diagnostics>;

    /// Renews the resource.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn renew(&self, _ctx: &Context, _private: Option<Vec<u8>>) -> Result<Renewed, Diagnostics> {
        Ok(Renewed::default())
    }

    /// Closes the resource at the end of the run.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn close(&self, _ctx: &Context, _private: Option<Vec<u8>>) -> Result<(), Diagnostics> {
        Ok(())
    }
}
