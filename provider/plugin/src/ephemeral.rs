//! Ephemeral resources: values that are never stored (Terraform >= 1.10).

use std::time::Duration;

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::schema::Schema;

/// An opened ephemeral resource.
#[derive(Clone, Debug)]
pub struct Opened<M> {
    /// What the configuration may use.
    pub result: M,
    /// How long from now until it must be renewed, if ever.
    pub renew_in: Option<Duration>,
    /// Handed back on renew and close.
    pub private: Option<Vec<u8>>,
}

/// A renewed ephemeral resource.
#[derive(Clone, Debug, Default)]
pub struct Renewed {
    /// How long from now until the next renewal, if any.
    pub renew_in: Option<Duration>,
    /// Replaces the private data.
    pub private: Option<Vec<u8>>,
}

/// A value that lives for one run and is never stored.
#[async_trait]
pub trait Ephemeral: Send + Sync + 'static {
    /// The typed view of configuration and result.
    type Model: Model;

    /// The full type name.
    fn type_name(&self) -> &'static str;

    /// The schema.
    fn schema(&self) -> Schema;

    /// Checks a configuration beyond its attributes' validators; values may be unknown.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Makes the value.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn open(&self, ctx: &Context, config: Self::Model) -> Result<Opened<Self::Model>, Diagnostics>;

    /// Prolongs it.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn renew(&self, _ctx: &Context, _private: Option<Vec<u8>>) -> Result<Renewed, Diagnostics> {
        Ok(Renewed::default())
    }

    /// Ends it.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn close(&self, _ctx: &Context, _private: Option<Vec<u8>>) -> Result<(), Diagnostics> {
        Ok(())
    }
}
