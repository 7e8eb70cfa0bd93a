//! The RPCs of list resources.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tracing::Instrument as _;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::erased::AnyListResource;
use crate::list_resource::{ListRequest, ListResult};
use crate::log::rpc;
use crate::plan;
use crate::proto::tfplugin6 as proto;
use crate::schema::Schema;
use crate::server::others::{checked, decoded, unknown_type};
use crate::server::panic::caught;
use crate::server::{Service, resources, wire};
use crate::types::Type;
use crate::value::Value;

/// Events that a client has not read yet.
const BUFFER: usize = 16;

pub(super) type Events<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// A list resource with its schema.
pub(crate) struct ListEntry {
    list: Arc<dyn AnyListResource>,
    pub(crate) schema: Schema,
    ty: Type,
}

impl ListEntry {
    pub(crate) fn new(list: Arc<dyn AnyListResource>) -> ListEntry {
        let schema = list.schema();
        ListEntry { ty: schema.ty(), list, schema }
    }
}

impl Service {
    /// The list resource, and the managed resource that it finds.
    fn list_entry(&self, name: &str) -> Result<(&ListEntry, &resources::Entry), Diagnostic> {
        rpc::about(rpc::Subject::ListResource, name);
        let entry = self.list_resources.get(name).ok_or_else(|| unknown_type("list resource", name))?;
        match self.resources.get(name) {
            Some(resource) if resource.identity.is_some() => Ok((entry, resource)),
            _ => Err(Diagnostic::error(
                format!("{name} cannot be listed"),
                "The provider has no managed resource of this type with an identity. This is a bug in the provider.",
            )),
        }
    }

    pub(super) async fn validate_list(
        &self,
        request: proto::validate_list_resource_config::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let (entry, _) = self.list_entry(&request.type_name)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let mut diagnostics = checked(&entry.schema, &config);
        caught("validation", entry.list.validate(&config, &mut diagnostics)).await?;
        Ok(diagnostics)
    }

    /// Runs a list in the background. The stream ends with it.
    pub(super) fn list(&self, request: proto::list_resource::Request) -> Events<proto::list_resource::Event> {
        let (events, stream) = mpsc::channel(BUFFER);
        let service = self.clone();
        tokio::spawn(
            async move {
                if let Err(diagnostics) = service.send_list(request, &events).await
                    && !diagnostics.is_empty()
                {
                    let event = proto::list_resource::Event {
                        diagnostic: wire::diagnostics(diagnostics),
                        ..Default::default()
                    };
                    // The client may be gone.
                    let _sent = events.send(Ok(event)).await;
                }
            }
            .in_current_span(),
        );
        Box::pin(ReceiverStream::new(stream))
    }

    async fn send_list(
        &self,
        request: proto::list_resource::Request,
        events: &mpsc::Sender<Result<proto::list_resource::Event, Status>>,
    ) -> Result<(), Diagnostics> {
        let (entry, resource) = self.list_entry(&request.type_name)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let limit = u64::try_from(request.limit).ok().filter(|limit| *limit > 0);
        let include_resource = request.include_resource_object;
        let ctx = self.plain_context();
        let (results, mut found) = mpsc::channel(1);
        let request = ListRequest { config, include_resource, limit };
        let listing = caught("a list", entry.list.list(&ctx, request, results));
        let forwarding = async {
            while let Some(result) = found.recv().await {
                let event = event(resource, result, include_resource)?;
                if events.send(Ok(event)).await.is_err() {
                    break;
                }
            }
            // Tells the list to stop, if it has not.
            drop(found);
            Ok::<(), Diagnostic>(())
        };
        tokio::select! {
            (listed, forwarded) = async { tokio::join!(listing, forwarding) } => {
                forwarded?;
                listed?
            }
            // A list changes nothing, so it is dropped where it is.
            () = events.closed() => Ok(()),
        }
    }
}

fn event(
    entry: &resources::Entry,
    result: ListResult<Value>,
    include_resource: bool,
) -> Result<proto::list_resource::Event, Diagnostic> {
    let identity = entry.identity.as_ref().map(crate::schema::IdentitySchema::ty).unwrap_or(Type::Dynamic);
    let identity = wire::encode(&result.identity.conform(&identity), &identity)?;
    let resource_object = match result.resource.filter(|_| include_resource) {
        Some(resource) => Some(entry.encode(&plan::known_only(resource.conform(entry.ty())))?),
        None => None,
    };
    Ok(proto::list_resource::Event {
        identity: Some(proto::ResourceIdentityData { identity_data: Some(identity) }),
        display_name: result.display_name,
        resource_object,
        diagnostic: wire::diagnostics(result.diagnostics),
    })
}
