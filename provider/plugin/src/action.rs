//! Actions: operations that change no state, such as a reboot (Terraform 1.14 or later).

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::schema::Schema;

/// An operation that the user runs with `terraform apply -invoke`, or that a resource triggers in its lifecycle.
#[async_trait]
pub trait Action: Send + Sync + 'static {
    /// The typed view of the `config` block.
    type Model: Model;

    /// The full type name: that of the derived model.
    fn type_name(&self) -> &'static str {
        Self::Model::TYPE_NAME
    }

    /// The schema of the `config` block. Computed attributes are not possible.
    fn schema(&self) -> Schema {
        Self::Model::schema()
    }

    /// Validates a configuration beyond the validators of its attributes. Values may be unknown.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Checks the action during a plan. Values may be unknown. Errors added to `diagnostics` fail the plan;
    /// [`Context::defer`] defers the action.
    async fn plan(&self, _ctx: &Context, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Runs the action. `config` contains no unknown values.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn invoke(
        &self,
        ctx: &Context,
        config: Self::Model,
        progress: &InvokeProgress,
    ) -> Result<(), Diagnostics>;
}

/// Reports the progress of an action while it runs.
#[derive(Clone, Debug)]
pub struct InvokeProgress(mpsc::Sender<String>);

impl InvokeProgress {
    pub(crate) fn new(sender: mpsc::Sender<String>) -> InvokeProgress {
        InvokeProgress(sender)
    }

    /// Shows `message` to the user.
    pub async fn send(&self, message: impl Into<String>) {
        // The action continues without a client: it may be halfway through.
        let _sent = self.0.send(message.into()).await;
    }
}
