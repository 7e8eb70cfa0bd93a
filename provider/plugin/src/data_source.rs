//! Data sources.

use async_trait::async_trait;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::schema::Schema;

/// A data source, which reads information without managing it.
#[async_trait]
pub trait DataSource: Send + Sync + 'static {
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

    /// Reads the data. `config` contains no unknown values.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn read(&self, ctx: &Context, config: Self::Model) -> Result<Self::Model, Diagnostics>;
}
