//! The gRPC service: translates every RPC of the plugin protocol to the framework's traits.

mod actions;
mod identity;
mod list_resources;
mod newer;
mod others;
mod panic;
mod resources;
mod stop;
mod stored;
mod wire;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use tonic::{Request, Response, Status};

use crate::context::Context;
use crate::deferral::Deferral;
use crate::diagnostic::Diagnostics;
use crate::function::{Function, Signature};
use crate::model::Model;
use crate::path::Path;
use crate::proto::tfplugin6 as proto;
use crate::provider::Provider;
use crate::schema::Schema;
use crate::server::stop::Stop;
use crate::value::Value;

/// A future that borrows the service.
type Operation<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The provider without its model type.
trait AnyProvider: Send + Sync {
    fn validate<'a>(&'a self, config: &'a Value) -> Operation<'a, Diagnostics>;
    fn configure<'a>(
        &'a self,
        ctx: &'a Context,
        version: &'a str,
        config: &'a Value,
    ) -> Operation<'a, Diagnostics>;
}

impl<P: Provider> AnyProvider for P {
    fn validate<'a>(&'a self, config: &'a Value) -> Operation<'a, Diagnostics> {
        Box::pin(async move {
            let mut diagnostics = Diagnostics::default();
            match typed(config) {
                Ok(config) => Provider::validate(self, &config, &mut diagnostics).await,
                Err(error) => diagnostics.extend(error),
            }
            diagnostics
        })
    }

    fn configure<'a>(
        &'a self,
        ctx: &'a Context,
        version: &'a str,
        config: &'a Value,
    ) -> Operation<'a, Diagnostics> {
        Box::pin(async move {
            let mut diagnostics = Diagnostics::default();
            match typed(config) {
                Ok(config) => Provider::configure(self, ctx, version, config, &mut diagnostics).await,
                Err(error) => diagnostics.extend(error),
            }
            diagnostics
        })
    }
}

fn typed<M: Model>(config: &Value) -> Result<M, Diagnostics> {
    Ok(M::from_value(config, &Path::root())?)
}

/// The gRPC service of one provider.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

impl std::ops::Deref for Service {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// The state of the service, created once at start.
pub struct Inner {
    provider: Box<dyn AnyProvider>,
    schema: Schema,
    resources: BTreeMap<&'static str, resources::Entry>,
    data_sources: BTreeMap<&'static str, others::DataSourceEntry>,
    ephemerals: BTreeMap<&'static str, others::EphemeralEntry>,
    functions: BTreeMap<String, (Signature, Arc<dyn Function>)>,
    list_resources: BTreeMap<&'static str, list_resources::ListEntry>,
    actions: BTreeMap<&'static str, actions::ActionEntry>,
    /// The schema of `provider_meta` blocks.
    meta: Option<Schema>,
    /// Whether the provider deferred everything when it was configured.
    deferred: Deferral,
    /// Errors that concern everything the provider offers.
    flaws: Diagnostics,
    stop: Stop,
}

impl Service {
    /// Collects everything that `provider` offers.
    pub fn new(provider: impl Provider) -> Service {
        let registry = provider.registry();
        let (schema, meta) = (provider.schema(), provider.meta_schema());
        Service(Arc::new(Inner {
            provider: Box::new(provider),
            schema,
            resources: registry
                .resources
                .into_iter()
                .map(|r| (r.type_name(), resources::Entry::new(r)))
                .collect(),
            data_sources: registry
                .data_sources
                .into_iter()
                .map(|source| (source.type_name(), others::DataSourceEntry::new(source)))
                .collect(),
            ephemerals: registry
                .ephemerals
                .into_iter()
                .map(|ephemeral| (ephemeral.type_name(), others::EphemeralEntry::new(ephemeral)))
                .collect(),
            functions: registry
                .functions
                .into_iter()
                .map(|function| {
                    let signature = function.signature();
                    (signature.name.clone(), (signature, function))
                })
                .collect(),
            list_resources: registry
                .list_resources
                .into_iter()
                .map(|list| (list.type_name(), list_resources::ListEntry::new(list)))
                .collect(),
            actions: registry
                .actions
                .into_iter()
                .map(|action| (action.type_name(), actions::ActionEntry::new(action)))
                .collect(),
            meta,
            deferred: Deferral::default(),
            flaws: registry.names.duplicates(),
            stop: Stop::default(),
        }))
    }

    /// Cancels every operation that runs or begins later; the process ends.
    pub fn cancel(&self) {
        self.stop.end();
    }

    fn capabilities() -> proto::ServerCapabilities {
        proto::ServerCapabilities {
            plan_destroy: true,
            get_provider_schema_optional: true,
            move_resource_state: true,
            generate_resource_config: true,
        }
    }

    fn signatures(&self) -> impl Iterator<Item = (String, proto::Function)> {
        self.functions.iter().map(|(name, (signature, _))| (name.clone(), wire::function(signature)))
    }
}

type Answer<T> = Result<Response<T>, Status>;

/// Returns a response that consists of diagnostics only.
macro_rules! messages {
    ($module:ident, $outcome:expr) => {{
        let diagnostics = match $outcome {
            Ok(diagnostics) => diagnostics,
            Err(diagnostic) => Diagnostics::from(diagnostic),
        };
        Ok(Response::new(proto::$module::Response { diagnostics: wire::diagnostics(diagnostics) }))
    }};
}

/// Returns `outcome`. A failure becomes a response with its diagnostics and the given fields.
macro_rules! answer {
    ($module:ident { $($field:ident: $kept:expr),* }, $outcome:expr) => {{
        let outcome: Result<proto::$module::Response, Diagnostics> = $outcome.map_err(Into::into);
        Ok(Response::new(outcome.unwrap_or_else(|diagnostics| {
            let mut response = proto::$module::Response::default();
            response.diagnostics = wire::diagnostics(diagnostics);
            $(response.$field = $kept;)*
            response
        })))
    }};
}

#[async_trait]
impl proto::provider_server::Provider for Service {
    async fn get_metadata(
        &self,
        _: Request<proto::get_metadata::Request>,
    ) -> Answer<proto::get_metadata::Response> {
        use proto::get_metadata::{
            ActionMetadata, DataSourceMetadata, EphemeralMetadata, FunctionMetadata, ListResourceMetadata,
            ResourceMetadata, Response as Metadata,
        };
        let owned = |name: &&'static str| (*name).to_owned();
        Ok(Response::new(Metadata {
            server_capabilities: Some(Service::capabilities()),
            resources: self.resources.keys().map(|n| ResourceMetadata { type_name: owned(n) }).collect(),
            data_sources: self
                .data_sources
                .keys()
                .map(|n| DataSourceMetadata { type_name: owned(n) })
                .collect(),
            ephemeral_resources: self
                .ephemerals
                .keys()
                .map(|n| EphemeralMetadata { type_name: owned(n) })
                .collect(),
            functions: self.functions.keys().map(|name| FunctionMetadata { name: name.clone() }).collect(),
            diagnostics: wire::diagnostics(self.flaws.clone()),
            list_resources: self
                .list_resources
                .keys()
                .map(|n| ListResourceMetadata { type_name: owned(n) })
                .collect(),
            actions: self.actions.keys().map(|n| ActionMetadata { type_name: owned(n) }).collect(),
        }))
    }

    async fn get_provider_schema(
        &self,
        _: Request<proto::get_provider_schema::Request>,
    ) -> Answer<proto::get_provider_schema::Response> {
        Ok(Response::new(proto::get_provider_schema::Response {
            provider: Some(wire::schema(&self.schema)),
            resource_schemas: self
                .resources
                .iter()
                .map(|(name, entry)| ((*name).to_owned(), wire::schema(&entry.schema)))
                .collect(),
            data_source_schemas: self
                .data_sources
                .iter()
                .map(|(name, entry)| ((*name).to_owned(), wire::schema(&entry.schema)))
                .collect(),
            ephemeral_resource_schemas: self
                .ephemerals
                .iter()
                .map(|(name, entry)| ((*name).to_owned(), wire::schema(&entry.schema)))
                .collect(),
            list_resource_schemas: self
                .list_resources
                .iter()
                .map(|(name, entry)| ((*name).to_owned(), wire::schema(&entry.schema)))
                .collect(),
            action_schemas: self
                .actions
                .iter()
                .map(|(name, entry)| ((*name).to_owned(), wire::action_schema(&entry.schema)))
                .collect(),
            provider_meta: self.meta.as_ref().map(wire::schema),
            functions: self.signatures().collect(),
            server_capabilities: Some(Service::capabilities()),
            diagnostics: wire::diagnostics(self.flaws.clone()),
        }))
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<proto::get_resource_identity_schemas::Request>,
    ) -> Answer<proto::get_resource_identity_schemas::Response> {
        let identity_schemas = self
            .resources
            .iter()
            .filter_map(|(name, entry)| {
                entry.identity.as_ref().map(|identity| ((*name).to_owned(), wire::identity_schema(identity)))
            })
            .collect();
        Ok(Response::new(proto::get_resource_identity_schemas::Response {
            identity_schemas,
            diagnostics: Vec::new(),
        }))
    }

    async fn get_functions(
        &self,
        _: Request<proto::get_functions::Request>,
    ) -> Answer<proto::get_functions::Response> {
        let functions = self.signatures().collect();
        Ok(Response::new(proto::get_functions::Response { functions, diagnostics: Vec::new() }))
    }

    async fn validate_provider_config(
        &self,
        request: Request<proto::validate_provider_config::Request>,
    ) -> Answer<proto::validate_provider_config::Response> {
        messages!(validate_provider_config, self.validate_provider(request.into_inner()).await)
    }

    async fn configure_provider(
        &self,
        request: Request<proto::configure_provider::Request>,
    ) -> Answer<proto::configure_provider::Response> {
        messages!(configure_provider, self.configure(request.into_inner()).await)
    }

    async fn validate_resource_config(
        &self,
        request: Request<proto::validate_resource_config::Request>,
    ) -> Answer<proto::validate_resource_config::Response> {
        messages!(validate_resource_config, self.validate_resource(request.into_inner()).await)
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<proto::validate_data_resource_config::Request>,
    ) -> Answer<proto::validate_data_resource_config::Response> {
        messages!(validate_data_resource_config, self.validate_data(request.into_inner()).await)
    }

    async fn validate_ephemeral_resource_config(
        &self,
        request: Request<proto::validate_ephemeral_resource_config::Request>,
    ) -> Answer<proto::validate_ephemeral_resource_config::Response> {
        messages!(validate_ephemeral_resource_config, self.validate_ephemeral(request.into_inner()).await)
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<proto::upgrade_resource_state::Request>,
    ) -> Answer<proto::upgrade_resource_state::Response> {
        answer!(upgrade_resource_state {}, self.upgrade_resource(request.into_inner()).await)
    }

    async fn upgrade_resource_identity(
        &self,
        request: Request<proto::upgrade_resource_identity::Request>,
    ) -> Answer<proto::upgrade_resource_identity::Response> {
        answer!(upgrade_resource_identity {}, self.upgrade_identity(request.into_inner()).await)
    }

    async fn read_resource(
        &self,
        request: Request<proto::read_resource::Request>,
    ) -> Answer<proto::read_resource::Response> {
        let request = request.into_inner();
        let (state, private) = (request.current_state.clone(), request.private.clone());
        let identity = request.current_identity.clone();
        answer!(
            read_resource { new_state: state, new_identity: identity, private: private },
            self.read_one(request).await
        )
    }

    async fn plan_resource_change(
        &self,
        request: Request<proto::plan_resource_change::Request>,
    ) -> Answer<proto::plan_resource_change::Response> {
        let request = request.into_inner();
        let (state, private) = (request.proposed_new_state.clone(), request.prior_private.clone());
        let identity = request.prior_identity.clone();
        answer!(
            plan_resource_change {
                planned_state: state,
                planned_identity: identity,
                planned_private: private
            },
            self.plan_resource(request).await
        )
    }

    async fn apply_resource_change(
        &self,
        request: Request<proto::apply_resource_change::Request>,
    ) -> Answer<proto::apply_resource_change::Response> {
        let request = request.into_inner();
        // What the request cannot be read into must not cost the state.
        let (state, private) = (request.prior_state.clone(), request.planned_private.clone());
        let identity = request.planned_identity.clone();
        answer!(
            apply_resource_change { new_state: state, new_identity: identity, private: private },
            self.apply_resource(request).await
        )
    }

    async fn import_resource_state(
        &self,
        request: Request<proto::import_resource_state::Request>,
    ) -> Answer<proto::import_resource_state::Response> {
        answer!(import_resource_state {}, self.import_resource(request.into_inner()).await)
    }

    async fn generate_resource_config(
        &self,
        request: Request<proto::generate_resource_config::Request>,
    ) -> Answer<proto::generate_resource_config::Response> {
        answer!(generate_resource_config {}, self.generate_resource(request.into_inner()).await)
    }

    async fn validate_list_resource_config(
        &self,
        request: Request<proto::validate_list_resource_config::Request>,
    ) -> Answer<proto::validate_list_resource_config::Response> {
        messages!(validate_list_resource_config, self.validate_list(request.into_inner()).await)
    }

    type ListResourceStream = list_resources::Events<proto::list_resource::Event>;

    async fn list_resource(
        &self,
        request: Request<proto::list_resource::Request>,
    ) -> Answer<Self::ListResourceStream> {
        Ok(Response::new(self.list(request.into_inner())))
    }

    async fn validate_action_config(
        &self,
        request: Request<proto::validate_action_config::Request>,
    ) -> Answer<proto::validate_action_config::Response> {
        messages!(validate_action_config, self.validate_action(request.into_inner()).await)
    }

    async fn plan_action(
        &self,
        request: Request<proto::plan_action::Request>,
    ) -> Answer<proto::plan_action::Response> {
        answer!(plan_action {}, self.plan_action_call(request.into_inner()).await)
    }

    type InvokeActionStream = list_resources::Events<proto::invoke_action::Event>;

    async fn invoke_action(
        &self,
        request: Request<proto::invoke_action::Request>,
    ) -> Answer<Self::InvokeActionStream> {
        Ok(Response::new(self.invoke(request.into_inner())))
    }

    async fn move_resource_state(
        &self,
        request: Request<proto::move_resource_state::Request>,
    ) -> Answer<proto::move_resource_state::Response> {
        answer!(move_resource_state {}, self.move_resource(request.into_inner()).await)
    }

    async fn read_data_source(
        &self,
        request: Request<proto::read_data_source::Request>,
    ) -> Answer<proto::read_data_source::Response> {
        answer!(read_data_source {}, self.read_data(request.into_inner()).await)
    }

    async fn open_ephemeral_resource(
        &self,
        request: Request<proto::open_ephemeral_resource::Request>,
    ) -> Answer<proto::open_ephemeral_resource::Response> {
        answer!(open_ephemeral_resource {}, self.open_ephemeral(request.into_inner()).await)
    }

    async fn renew_ephemeral_resource(
        &self,
        request: Request<proto::renew_ephemeral_resource::Request>,
    ) -> Answer<proto::renew_ephemeral_resource::Response> {
        answer!(renew_ephemeral_resource {}, self.renew_ephemeral(request.into_inner()).await)
    }

    async fn close_ephemeral_resource(
        &self,
        request: Request<proto::close_ephemeral_resource::Request>,
    ) -> Answer<proto::close_ephemeral_resource::Response> {
        messages!(close_ephemeral_resource, self.close_ephemeral(request.into_inner()).await)
    }

    async fn call_function(
        &self,
        request: Request<proto::call_function::Request>,
    ) -> Answer<proto::call_function::Response> {
        Ok(Response::new(self.call(request.into_inner()).await))
    }

    async fn stop_provider(
        &self,
        _: Request<proto::stop_provider::Request>,
    ) -> Answer<proto::stop_provider::Response> {
        self.stop.stop();
        Ok(Response::new(proto::stop_provider::Response::default()))
    }
}
