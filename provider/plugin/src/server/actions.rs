//! The RPCs of actions.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tracing::Instrument as _;

use crate::action::InvokeProgress;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::erased::AnyAction;
use crate::log::rpc;
use crate::proto::tfplugin6 as proto;
use crate::proto::tfplugin6::invoke_action::event::{Completed, Progress, Type as Event};
use crate::schema::Schema;
use crate::server::list_resources::Events;
use crate::server::others::{checked, decoded, unknown_type};
use crate::server::panic::caught;
use crate::server::resources::client;
use crate::server::{Service, wire};
use crate::types::Type;

/// Events that a client has not read yet.
const BUFFER: usize = 16;

/// An action with its schema.
pub(crate) struct ActionEntry {
    action: Arc<dyn AnyAction>,
    pub(crate) schema: Schema,
    ty: Type,
}

impl ActionEntry {
    pub(crate) fn new(action: Arc<dyn AnyAction>) -> ActionEntry {
        let schema = action.schema();
        ActionEntry { ty: schema.ty(), action, schema }
    }
}

impl Service {
    fn action(&self, name: &str) -> Result<&ActionEntry, Diagnostic> {
        rpc::about(rpc::Subject::Action, name);
        self.actions.get(name).ok_or_else(|| unknown_type("action", name))
    }

    pub(super) async fn validate_action(
        &self,
        request: proto::validate_action_config::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let entry = self.action(&request.action_type)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let mut diagnostics = checked(&entry.schema, &config);
        caught("validation", entry.action.validate(&config, &mut diagnostics)).await?;
        Ok(diagnostics)
    }

    pub(super) async fn plan_action_call(
        &self,
        request: proto::plan_action::Request,
    ) -> Result<proto::plan_action::Response, Diagnostic> {
        let entry = self.action(&request.action_type)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let client = client(request.client_capabilities.as_ref());
        if let Some(reason) = self.deferral(client) {
            return Ok(proto::plan_action::Response {
                deferred: Some(wire::deferred(reason)),
                ..Default::default()
            });
        }
        let mut ctx = self.plain_context();
        ctx.client = client;
        let mut diagnostics = Diagnostics::default();
        caught("the plan of an action", entry.action.plan(&ctx, &config, &mut diagnostics)).await?;
        Ok(proto::plan_action::Response {
            diagnostics: wire::diagnostics(diagnostics),
            deferred: ctx.allowed_deferral().map(wire::deferred),
        })
    }

    /// Runs an action in the background. The last event of the stream is its completion.
    pub(super) fn invoke(
        &self,
        request: proto::invoke_action::Request,
    ) -> Events<proto::invoke_action::Event> {
        let (events, stream) = mpsc::channel(BUFFER);
        let service = self.clone();
        tokio::spawn(
            async move {
                let diagnostics = service.invoked(request, &events).await.err().unwrap_or_default();
                let completed = Completed { diagnostics: wire::diagnostics(diagnostics) };
                // The client may be gone.
                let _sent = events.send(event(Event::Completed(completed))).await;
            }
            .in_current_span(),
        );
        Box::pin(ReceiverStream::new(stream))
    }

    async fn invoked(
        &self,
        request: proto::invoke_action::Request,
        events: &mpsc::Sender<Result<proto::invoke_action::Event, Status>>,
    ) -> Result<(), Diagnostics> {
        let entry = self.action(&request.action_type)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let mut ctx = self.plain_context();
        ctx.client = client(request.client_capabilities.as_ref());
        let (progress, mut messages) = mpsc::channel(1);
        let ctx = &ctx;
        let invoking = async move {
            let progress = InvokeProgress::new(progress);
            caught("an action", entry.action.invoke(ctx, &config, &progress)).await
        };
        let forwarding = async move {
            while let Some(message) = messages.recv().await {
                if events.send(event(Event::Progress(Progress { message }))).await.is_err() {
                    break;
                }
            }
        };
        let running = async { tokio::join!(invoking, forwarding).0 };
        tokio::pin!(running);
        tokio::select! {
            outcome = &mut running => return outcome?,
            () = events.closed() => ctx.cancel.cancel(),
        }
        // It may be halfway through, so it is cancelled, not dropped.
        running.await?
    }
}

fn event(event: Event) -> Result<proto::invoke_action::Event, Status> {
    Ok(proto::invoke_action::Event { r#type: Some(event) })
}
