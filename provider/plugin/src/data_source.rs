//! Data sources.

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::schema::Schema;

/// A data source: looks something up.
#[async_trait]
pub trait DataSource: Send + Sync + 'static {
    /// The typed view of configuration and result.
    type Model: Model;

    /// The full type name.
    fn type_name(&self) -> &'static str;

    /// The schema.
    fn schema(&self) -> Schema;

    /// Checks a configuration beyond its attributes' validators; values may be unknown.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Looks it up; `config` is wholly known.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn read(&self, ctx: &Context, config: Self::Model) -> Result<Self::Model, Diagnostics>;
}
