//! The RPCs of the provider block, data sources, ephemeral resources and functions.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::block;
use crate::context::{ClientCapabilities, Context, Meta, Private};
use crate::deferral::DeferReason;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::erased::{AnyDataSource, AnyEphemeral};
use crate::function::{FunctionError, Signature};
use crate::log::{rpc, secrets};
use crate::proto::tfplugin6 as proto;
use crate::required;
use crate::schema::Schema;
use crate::semantic;
use crate::server::panic::caught;
use crate::server::resources::client;
use crate::server::{Service, wire};
use crate::types::Type;
use crate::validate;
use crate::value::Value;

/// A data source with its schema.
pub(crate) struct DataSourceEntry {
    source: Arc<dyn AnyDataSource>,
    pub(crate) schema: Schema,
    ty: Type,
}

impl DataSourceEntry {
    pub(crate) fn new(source: Arc<dyn AnyDataSource>) -> DataSourceEntry {
        let schema = source.schema();
        DataSourceEntry { ty: schema.ty(), source, schema }
    }

    /// The result of a read in the shape of the schema and the spelling of the configuration.
    fn written(&self, config: &Value, state: Value) -> Value {
        let state = block::fill(&self.schema.attributes, state.conform(&self.ty));
        semantic::keep(&self.schema.attributes, config, state)
    }
}

/// An ephemeral resource with its schema.
pub(crate) struct EphemeralEntry {
    ephemeral: Arc<dyn AnyEphemeral>,
    pub(crate) schema: Schema,
    ty: Type,
}

impl EphemeralEntry {
    pub(crate) fn new(ephemeral: Arc<dyn AnyEphemeral>) -> EphemeralEntry {
        let schema = ephemeral.schema();
        EphemeralEntry { ty: schema.ty(), ephemeral, schema }
    }
}

pub(super) fn unknown_type(kind: &str, name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Unknown {kind} {name}"),
        format!("This version of the provider has no such {kind}. Check the name, or upgrade the provider."),
    )
}

/// Decodes a value, whose sensitive parts no log line may contain.
pub(super) fn decoded(
    schema: &Schema,
    ty: &Type,
    value: Option<&proto::DynamicValue>,
) -> Result<Value, Diagnostic> {
    let value = wire::decode(value, ty)?;
    secrets::remember(schema, &value);
    Ok(value)
}

/// Encodes a result, whose sensitive parts no log line may contain.
fn encoded(schema: &Schema, ty: &Type, value: &Value) -> Result<proto::DynamicValue, Diagnostic> {
    secrets::remember(schema, value);
    wire::encode(value, ty)
}

/// Checks required attributes and runs the validators. Nothing is stored here, so write-only attributes are allowed.
pub(super) fn checked(schema: &Schema, config: &Value) -> Diagnostics {
    let mut diagnostics = required::missing(schema, config);
    validate::check_schema(schema, config, true, &mut diagnostics);
    diagnostics
}

/// The time `after` from now.
fn moment(after: Option<Duration>) -> Option<prost_types::Timestamp> {
    after.map(|after| prost_types::Timestamp::from(SystemTime::now() + after))
}

impl Service {
    pub(super) fn plain_context(&self) -> Context {
        self.context(ClientCapabilities::default(), Private::default())
    }

    /// The reason why the provider deferred everything, if the client allows it.
    pub(super) fn deferral(&self, client: ClientCapabilities) -> Option<DeferReason> {
        self.deferred.reason().filter(|_| client.deferral)
    }

    /// The module's `provider_meta` block.
    pub(super) fn meta(&self, value: Option<&proto::DynamicValue>) -> Result<Meta, Diagnostic> {
        match &self.meta {
            Some(schema) => Ok(Meta(wire::decode(value, &schema.ty())?)),
            None => Ok(Meta::default()),
        }
    }

    pub(super) async fn validate_provider(
        &self,
        request: proto::validate_provider_config::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let config = decoded(&self.schema, &self.schema.ty(), request.config.as_ref())?;
        let mut diagnostics = checked(&self.schema, &config);
        diagnostics.extend(caught("validation", self.provider.validate(&config)).await?);
        Ok(diagnostics)
    }

    pub(super) async fn configure(
        &self,
        request: proto::configure_provider::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let config = decoded(&self.schema, &self.schema.ty(), request.config.as_ref())?;
        let missing = required::missing(&self.schema, &config);
        if missing.has_error() {
            return Ok(missing);
        }
        let mut ctx = self.plain_context();
        ctx.client = client(request.client_capabilities.as_ref());
        let configured = self.provider.configure(&ctx, &request.terraform_version, &config);
        let mut diagnostics = caught("configuration", configured).await?;
        // A process in debug mode is configured once for each run.
        self.deferred.set(ctx.allowed_deferral());
        if ctx.deferral.reason().is_some() && !ctx.client.deferral {
            diagnostics.push(Diagnostic::error(
                "The provider cannot be configured yet",
                "The provider needs values that are unknown during this plan, and this client does not support \
                 deferred changes. Apply the objects that these values depend on first, with `-target`.",
            ));
        }
        Ok(diagnostics)
    }

    pub(super) async fn validate_data(
        &self,
        request: proto::validate_data_resource_config::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let entry = self.data_source(&request.type_name)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let mut diagnostics = checked(&entry.schema, &config);
        caught("validation", entry.source.validate(&config, &mut diagnostics)).await?;
        Ok(diagnostics)
    }

    pub(super) async fn read_data(
        &self,
        request: proto::read_data_source::Request,
    ) -> Result<proto::read_data_source::Response, Diagnostic> {
        let entry = self.data_source(&request.type_name)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let missing = required::missing(&entry.schema, &config);
        if missing.has_error() {
            return Ok(proto::read_data_source::Response {
                diagnostics: wire::diagnostics(missing),
                ..Default::default()
            });
        }
        let client = client(request.client_capabilities.as_ref());
        if let Some(reason) = self.deferral(client) {
            return Ok(proto::read_data_source::Response {
                state: Some(wire::encode(&Value::UNKNOWN, &entry.ty)?),
                deferred: Some(wire::deferred(reason)),
                ..Default::default()
            });
        }
        let mut ctx = self.context(client, Private::default());
        ctx.meta = self.meta(request.provider_meta.as_ref())?;
        match caught("a read", entry.source.read(&ctx, &config)).await? {
            Ok(state) => Ok(proto::read_data_source::Response {
                state: Some(encoded(&entry.schema, &entry.ty, &entry.written(&config, state))?),
                deferred: ctx.allowed_deferral().map(wire::deferred),
                ..Default::default()
            }),
            Err(diagnostics) => Ok(proto::read_data_source::Response {
                diagnostics: wire::diagnostics(diagnostics),
                ..Default::default()
            }),
        }
    }

    fn data_source(&self, name: &str) -> Result<&DataSourceEntry, Diagnostic> {
        rpc::about(rpc::Subject::DataSource, name);
        self.data_sources.get(name).ok_or_else(|| unknown_type("data source", name))
    }

    fn ephemeral(&self, name: &str) -> Result<&EphemeralEntry, Diagnostic> {
        rpc::about(rpc::Subject::Ephemeral, name);
        self.ephemerals.get(name).ok_or_else(|| unknown_type("ephemeral resource", name))
    }

    pub(super) async fn validate_ephemeral(
        &self,
        request: proto::validate_ephemeral_resource_config::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let entry = self.ephemeral(&request.type_name)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let mut diagnostics = checked(&entry.schema, &config);
        caught("validation", entry.ephemeral.validate(&config, &mut diagnostics)).await?;
        Ok(diagnostics)
    }

    pub(super) async fn open_ephemeral(
        &self,
        request: proto::open_ephemeral_resource::Request,
    ) -> Result<proto::open_ephemeral_resource::Response, Diagnostic> {
        let entry = self.ephemeral(&request.type_name)?;
        let config = decoded(&entry.schema, &entry.ty, request.config.as_ref())?;
        let missing = required::missing(&entry.schema, &config);
        if missing.has_error() {
            return Ok(proto::open_ephemeral_resource::Response {
                diagnostics: wire::diagnostics(missing),
                ..Default::default()
            });
        }
        let client = client(request.client_capabilities.as_ref());
        if let Some(reason) = self.deferral(client) {
            return Ok(proto::open_ephemeral_resource::Response {
                result: Some(wire::encode(&Value::UNKNOWN, &entry.ty)?),
                deferred: Some(wire::deferred(reason)),
                ..Default::default()
            });
        }
        let ctx = self.context(client, Private::default());
        match caught("opening", entry.ephemeral.open(&ctx, &config)).await? {
            Ok(opened) => Ok(proto::open_ephemeral_resource::Response {
                deferred: ctx.allowed_deferral().map(wire::deferred),
                result: Some(encoded(&entry.schema, &entry.ty, &opened.result.conform(&entry.ty))?),
                renew_at: moment(opened.renew_in),
                private: opened.private,
                ..Default::default()
            }),
            Err(diagnostics) => Ok(proto::open_ephemeral_resource::Response {
                diagnostics: wire::diagnostics(diagnostics),
                ..Default::default()
            }),
        }
    }

    pub(super) async fn renew_ephemeral(
        &self,
        request: proto::renew_ephemeral_resource::Request,
    ) -> Result<proto::renew_ephemeral_resource::Response, Diagnostic> {
        let entry = self.ephemeral(&request.type_name)?;
        let private = request.private.clone();
        match caught("renewal", entry.ephemeral.renew(&self.plain_context(), request.private)).await? {
            Ok(renewed) => Ok(proto::renew_ephemeral_resource::Response {
                renew_at: moment(renewed.renew_in),
                private: renewed.private.or(private),
                diagnostics: Vec::new(),
            }),
            Err(diagnostics) => Ok(proto::renew_ephemeral_resource::Response {
                diagnostics: wire::diagnostics(diagnostics),
                ..Default::default()
            }),
        }
    }

    pub(super) async fn close_ephemeral(
        &self,
        request: proto::close_ephemeral_resource::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let entry = self.ephemeral(&request.type_name)?;
        let closed = caught("closing", entry.ephemeral.close(&self.plain_context(), request.private)).await?;
        Ok(closed.err().unwrap_or_default())
    }

    pub(super) async fn call(
        &self,
        request: proto::call_function::Request,
    ) -> proto::call_function::Response {
        match self.called(&request).await {
            Ok(result) => proto::call_function::Response { result: Some(result), error: None },
            Err(error) => proto::call_function::Response {
                result: None,
                error: Some(proto::FunctionError { text: error.text, function_argument: error.argument }),
            },
        }
    }

    async fn called(
        &self,
        request: &proto::call_function::Request,
    ) -> Result<proto::DynamicValue, FunctionError> {
        let told = |diagnostic: Diagnostic| FunctionError {
            text: format!("{}: {}", diagnostic.summary, diagnostic.detail),
            argument: None,
        };
        rpc::about(rpc::Subject::Function, &request.name);
        let (signature, function) =
            self.functions.get(&request.name).ok_or_else(|| told(unknown_type("function", &request.name)))?;
        let mut arguments = Vec::with_capacity(request.arguments.len());
        for (position, argument) in request.arguments.iter().enumerate() {
            let ty = argument_type(signature, position)?;
            arguments.push(wire::decode(Some(argument), ty).map_err(told)?);
        }
        let called = caught("a function call", async { function.call(&arguments) });
        let result = called.await.map_err(told)??;
        wire::encode(&result.conform(&signature.result), &signature.result).map_err(told)
    }
}

fn argument_type(signature: &Signature, position: usize) -> Result<&Type, FunctionError> {
    signature
        .parameters
        .get(position)
        .or(signature.variadic.as_ref())
        .map(|parameter| &parameter.ty)
        .ok_or_else(|| {
            FunctionError::argument(
                i64::try_from(position).unwrap_or(i64::MAX),
                format!("{} takes {} arguments", signature.name, signature.parameters.len()),
            )
        })
}
