//! The RPCs of managed resources.

use std::sync::Arc;

use crate::block;
use crate::codec;
use crate::context::{ClientCapabilities, Context, Private, Progress};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::erased::{AnyResource, ValueChange};
use crate::generate;
use crate::log::{rpc, secrets};
use crate::plan::{self, Prepared};
use crate::plan_modifiers;
use crate::proto::tfplugin6 as proto;
use crate::required;
use crate::resource::{ImportRequest, MoveSource, Planned};
use crate::schema::{IdentitySchema, Schema};
use crate::semantic;
use crate::server::identity::{self, IdentityCopy};
use crate::server::newer;
use crate::server::others::decoded;
use crate::server::panic::caught;
use crate::server::stored::Stored;
use crate::server::{Service, wire};
use crate::types::Type;
use crate::validate;
use crate::value::Value;

/// A resource with values derived from its schema.
pub(crate) struct Entry {
    pub(crate) resource: Arc<dyn AnyResource>,
    pub(crate) schema: Schema,
    pub(crate) identity: Option<IdentitySchema>,
    ty: Type,
}

impl Entry {
    pub(crate) fn ty(&self) -> &Type {
        &self.ty
    }

    pub(crate) fn new(resource: Arc<dyn AnyResource>) -> Entry {
        let (schema, identity) = (resource.schema(), resource.identity());
        Entry { ty: schema.ty(), resource, schema, identity }
    }

    fn decode(&self, value: Option<&proto::DynamicValue>) -> Result<Value, Diagnostic> {
        decoded(&self.schema, &self.ty, value)
    }

    /// Encodes a plan or state for the client, which stores it. Write-only attributes are removed first.
    pub(crate) fn encode(&self, value: &Value) -> Result<proto::DynamicValue, Diagnostic> {
        secrets::remember(&self.schema, value);
        let attributes = &self.schema.attributes;
        wire::encode(&block::fill(attributes, plan::without_write_only(attributes, value.clone())), &self.ty)
    }

    /// `new` in the shape of the schema and, where it means the same, in the spelling of `prior`.
    fn spelled(&self, prior: &Value, new: Value) -> Value {
        semantic::keep(&self.schema.attributes, prior, new.conform(&self.ty))
    }

    /// The identity of the object with this state.
    fn identity_of(&self, state: &Value) -> Option<Value> {
        let identity = self.identity.as_ref().filter(|_| !state.is_null())?;
        Some(self.resource.identity_of(state)?.conform(&identity.ty()))
    }

    fn encode_identity(&self, identity: &Value) -> Result<proto::ResourceIdentityData, Diagnostic> {
        let ty = self.identity.as_ref().map(IdentitySchema::ty).unwrap_or(Type::Dynamic);
        Ok(proto::ResourceIdentityData { identity_data: Some(wire::encode(identity, &ty)?) })
    }
}

pub(super) fn client(capabilities: Option<&proto::ClientCapabilities>) -> ClientCapabilities {
    capabilities.map_or_else(ClientCapabilities::default, |capabilities| ClientCapabilities {
        deferral: capabilities.deferral_allowed,
        write_only: capabilities.write_only_attributes_allowed,
    })
}

impl Service {
    fn entry(&self, type_name: &str) -> Result<&Entry, Diagnostic> {
        rpc::about(rpc::Subject::Resource, type_name);
        self.resources.get(type_name).ok_or_else(|| {
            Diagnostic::error(
                format!("Unknown resource type {type_name}"),
                "This version of the provider has no such resource type. Check the name, or upgrade the provider.",
            )
        })
    }

    pub(super) fn context(&self, client: ClientCapabilities, private: Private) -> Context {
        Context { cancel: self.stop.token(), client, private, ..Context::default() }
    }

    pub(super) async fn validate_resource(
        &self,
        request: proto::validate_resource_config::Request,
    ) -> Result<Diagnostics, Diagnostic> {
        let entry = self.entry(&request.type_name)?;
        let config = entry.decode(request.config.as_ref())?;
        // Clients older than the capability do not send the message at all.
        let write_only = client(request.client_capabilities.as_ref()).write_only;
        let mut diagnostics = required::missing(&entry.schema, &config);
        validate::check_schema(&entry.schema, &config, write_only, &mut diagnostics);
        caught("validation", entry.resource.validate(&config, &mut diagnostics)).await?;
        Ok(diagnostics)
    }

    pub(super) async fn plan_resource(
        &self,
        request: proto::plan_resource_change::Request,
    ) -> Result<proto::plan_resource_change::Response, Diagnostics> {
        let entry = self.entry(&request.type_name)?;
        let prior = entry.decode(request.prior_state.as_ref())?;
        let proposed = entry.decode(request.proposed_new_state.as_ref())?;
        let config = entry.decode(request.config.as_ref())?;
        let stored = Stored::read(&request.prior_private)?;
        let capabilities = client(request.client_capabilities.as_ref());
        let mut ctx = self.context(capabilities, Private::new(stored.resource));
        ctx.meta = self.meta(request.provider_meta.as_ref())?;
        // A client passes on the private state of an object that is replaced, and its identity is not the new one's.
        let copy = stored.identity.filter(|_| !prior.is_null());
        ctx.identity = identity::stored(entry, request.prior_identity.as_ref(), copy.clone()).await?;
        let mut diagnostics = Diagnostics::default();

        if let Some(reason) = self.deferral(capabilities) {
            return Ok(proto::plan_resource_change::Response {
                planned_state: request.proposed_new_state,
                planned_private: request.prior_private,
                planned_identity: request.prior_identity,
                deferred: Some(wire::deferred(reason)),
                ..Default::default()
            });
        }
        if proposed.is_null() {
            let destroy = entry.resource.plan_destroy(&ctx, &prior, &mut diagnostics);
            caught("the plan of a destroy", destroy).await?;
            return Ok(proto::plan_resource_change::Response {
                planned_state: request.proposed_new_state,
                planned_private: request.prior_private,
                planned_identity: request.prior_identity,
                diagnostics: wire::diagnostics(diagnostics),
                deferred: ctx.allowed_deferral().map(wire::deferred),
                ..Default::default()
            });
        }

        let prior = Some(prior).filter(|prior| !prior.is_null());
        let proposed = match &prior {
            Some(prior) => entry.spelled(prior, proposed),
            None => proposed,
        };
        let Prepared { planned, mut requires_replace } =
            plan::prepare(&entry.schema, prior.as_ref(), &config, proposed, stored.unfinished);
        let planned = plan_modifiers::run(
            &entry.schema.attributes,
            prior.as_ref(),
            &config,
            planned,
            &mut requires_replace,
            &mut diagnostics,
        );
        let change = ValueChange { prior, config, planned, requires_replace, deferred: None };
        let change =
            caught("the plan of a change", entry.resource.plan(&ctx, change, &mut diagnostics)).await?;
        let planned = change.planned.conform(&entry.ty);
        let deferred =
            change.deferred.filter(|_| capabilities.deferral).or(ctx.allowed_deferral()).map(wire::deferred);
        Ok(proto::plan_resource_change::Response {
            planned_state: Some(entry.encode(&planned)?),
            requires_replace: change.requires_replace.iter().map(wire::path).collect(),
            planned_private: Stored::bytes(&ctx.private, stored.unfinished, copy),
            planned_identity: request.prior_identity,
            diagnostics: wire::diagnostics(diagnostics),
            deferred,
        })
    }

    pub(super) async fn apply_resource(
        &self,
        request: proto::apply_resource_change::Request,
    ) -> Result<proto::apply_resource_change::Response, Diagnostics> {
        let entry = self.entry(&request.type_name)?;
        let prior = entry.decode(request.prior_state.as_ref())?;
        let planned = entry.decode(request.planned_state.as_ref())?;
        let config = entry.decode(request.config.as_ref())?;
        let stored = Stored::read(&request.planned_private)?;
        let mut ctx = self.context(ClientCapabilities::default(), Private::new(stored.resource));
        ctx.meta = self.meta(request.provider_meta.as_ref())?;
        ctx.identity = identity::stored(entry, request.planned_identity.as_ref(), stored.identity).await?;

        let creates = prior.is_null();
        let applied = if planned.is_null() {
            delete(entry, &ctx, prior).await
        } else {
            let plan = Planned { state: planned, config };
            let prior = Some(prior).filter(|prior| !prior.is_null());
            change(entry, &ctx, prior, plan, stored.unfinished).await
        };
        let state = applied.state.conform(&entry.ty);
        // A failed change may have been refused because the provider is configured for another account.
        let identity = if creates {
            entry.identity_of(&state)
        } else if !applied.diagnostics.has_error() {
            identity::kept(ctx.identity.as_ref(), entry.identity_of(&state))
        } else {
            ctx.identity.clone()
        };
        Ok(proto::apply_resource_change::Response {
            new_identity: identity.as_ref().map(|identity| entry.encode_identity(identity)).transpose()?,
            new_state: Some(entry.encode(&state)?),
            private: Stored::bytes(
                &ctx.private,
                applied.unfinished,
                IdentityCopy::of(entry, identity.as_ref()),
            ),
            diagnostics: wire::diagnostics(applied.diagnostics),
        })
    }

    pub(super) async fn read_one(
        &self,
        request: proto::read_resource::Request,
    ) -> Result<proto::read_resource::Response, Diagnostics> {
        let entry = self.entry(&request.type_name)?;
        let client = client(request.client_capabilities.as_ref());
        if let Some(reason) = self.deferral(client) {
            return Ok(proto::read_resource::Response {
                new_state: request.current_state,
                private: request.private,
                new_identity: request.current_identity,
                deferred: Some(wire::deferred(reason)),
                ..Default::default()
            });
        }
        let state = entry.decode(request.current_state.as_ref())?;
        let stored = Stored::read(&request.private)?;
        let mut ctx = self.context(client, Private::new(stored.resource));
        ctx.meta = self.meta(request.provider_meta.as_ref())?;
        ctx.identity = identity::stored(entry, request.current_identity.as_ref(), stored.identity).await?;
        let found = caught("a read", entry.resource.read(&ctx, &state)).await??;
        let state = entry.spelled(&state, found.unwrap_or_default());
        let identity = identity::kept(ctx.identity.as_ref(), entry.identity_of(&state));
        Ok(proto::read_resource::Response {
            new_identity: identity.as_ref().map(|identity| entry.encode_identity(identity)).transpose()?,
            new_state: Some(entry.encode(&state)?),
            diagnostics: Vec::new(),
            private: Stored::bytes(
                &ctx.private,
                stored.unfinished,
                IdentityCopy::of(entry, identity.as_ref()),
            ),
            deferred: ctx.allowed_deferral().map(wire::deferred),
        })
    }

    pub(super) async fn import_resource(
        &self,
        request: proto::import_resource_state::Request,
    ) -> Result<proto::import_resource_state::Response, Diagnostic> {
        let entry = self.entry(&request.type_name)?;
        let import = match (&entry.identity, &request.identity) {
            (Some(identity), Some(data)) => {
                ImportRequest::Identity(wire::decode(data.identity_data.as_ref(), &identity.ty())?)
            }
            _ => ImportRequest::Id(request.id),
        };
        let client = client(request.client_capabilities.as_ref());
        if let Some(reason) = self.deferral(client) {
            let imported = proto::import_resource_state::ImportedResource {
                type_name: request.type_name,
                state: Some(wire::encode(&Value::UNKNOWN, &entry.ty)?),
                identity: request.identity,
                private: Vec::new(),
            };
            return Ok(proto::import_resource_state::Response {
                imported_resources: vec![imported],
                deferred: Some(wire::deferred(reason)),
                ..Default::default()
            });
        }
        let mut ctx = self.context(client, Private::default());
        if let ImportRequest::Identity(identity) = &import {
            ctx.identity = Some(identity.clone());
        }
        match caught("an import", entry.resource.import(&ctx, import)).await? {
            Ok(state) => {
                let state = plan::known_only(state).conform(&entry.ty);
                let identity = entry.identity_of(&state);
                let imported = proto::import_resource_state::ImportedResource {
                    type_name: request.type_name,
                    identity: identity
                        .as_ref()
                        .map(|identity| entry.encode_identity(identity))
                        .transpose()?,
                    state: Some(entry.encode(&state)?),
                    private: Stored::bytes(&ctx.private, false, IdentityCopy::of(entry, identity.as_ref())),
                };
                Ok(proto::import_resource_state::Response {
                    imported_resources: vec![imported],
                    deferred: ctx.allowed_deferral().map(wire::deferred),
                    ..Default::default()
                })
            }
            Err(diagnostics) => Ok(proto::import_resource_state::Response {
                diagnostics: wire::diagnostics(diagnostics),
                ..Default::default()
            }),
        }
    }

    pub(super) async fn generate_resource(
        &self,
        request: proto::generate_resource_config::Request,
    ) -> Result<proto::generate_resource_config::Response, Diagnostic> {
        let entry = self.entry(&request.type_name)?;
        let state = entry.decode(request.state.as_ref())?;
        let config = generate::config(&entry.schema.attributes, state);
        let ctx = self.plain_context();
        let mut diagnostics = Diagnostics::default();
        let generated = entry.resource.generate_config(&ctx, config.clone(), &mut diagnostics);
        let config = caught("the generation of a configuration", generated).await?.unwrap_or_else(|error| {
            diagnostics.extend(error);
            config
        });
        Ok(proto::generate_resource_config::Response {
            config: Some(entry.encode(&plan::known_only(config.conform(&entry.ty)))?),
            diagnostics: wire::diagnostics(diagnostics),
        })
    }

    pub(super) async fn upgrade_resource(
        &self,
        request: proto::upgrade_resource_state::Request,
    ) -> Result<proto::upgrade_resource_state::Response, Diagnostic> {
        let entry = self.entry(&request.type_name)?;
        let mut stored = parse_state(&request.raw_state.map(|raw| raw.json).unwrap_or_default())?;
        if request.version != entry.schema.version {
            match caught("a state upgrade", entry.resource.upgrade(request.version, stored)).await? {
                Ok(upgraded) => stored = upgraded,
                Err(diagnostics) => {
                    return Ok(proto::upgrade_resource_state::Response {
                        upgraded_state: None,
                        diagnostics: wire::diagnostics(diagnostics),
                    });
                }
            }
        }
        let state = newer::add_defaults(&mut stored, &entry.schema.attributes)
            .and_then(|()| codec::json::from_json(&stored, &entry.ty))
            .map_err(|error| wire::unreadable(&error))?;
        Ok(proto::upgrade_resource_state::Response {
            upgraded_state: Some(entry.encode(&state)?),
            diagnostics: Vec::new(),
        })
    }

    pub(super) async fn upgrade_identity(
        &self,
        request: proto::upgrade_resource_identity::Request,
    ) -> Result<proto::upgrade_resource_identity::Response, Diagnostics> {
        let entry = self.entry(&request.type_name)?;
        let json = request.raw_identity.map(|raw| raw.json).unwrap_or_default();
        let identity = identity::upgrade(entry, request.version, parse_state(&json)?).await?;
        Ok(proto::upgrade_resource_identity::Response {
            upgraded_identity: Some(entry.encode_identity(&identity)?),
            diagnostics: Vec::new(),
        })
    }

    pub(super) async fn move_resource(
        &self,
        request: proto::move_resource_state::Request,
    ) -> Result<proto::move_resource_state::Response, Diagnostic> {
        let entry = self.entry(&request.target_type_name)?;
        let ctx = self.context(ClientCapabilities::default(), Private::default());
        let source = MoveSource {
            provider_address: request.source_provider_address,
            type_name: request.source_type_name,
            schema_version: request.source_schema_version,
            state: parse_state(&request.source_state.map(|raw| raw.json).unwrap_or_default())?,
            identity: match request.source_identity {
                Some(identity) if !identity.json.is_empty() => Some(parse_state(&identity.json)?),
                _ => None,
            },
            identity_schema_version: request.source_identity_schema_version,
            private: request.source_private,
        };
        let told = format!("{} of {}", source.type_name, source.provider_address);
        match caught("a move", entry.resource.move_from(&ctx, source)).await? {
            Ok(Some(state)) => {
                let state = plan::known_only(state).conform(&entry.ty);
                let identity = entry.identity_of(&state);
                Ok(proto::move_resource_state::Response {
                    target_identity: identity
                        .as_ref()
                        .map(|identity| entry.encode_identity(identity))
                        .transpose()?,
                    target_state: Some(entry.encode(&state)?),
                    // Where the moved object is, the next read finds out.
                    target_private: Stored::bytes(&ctx.private, false, None),
                    diagnostics: Vec::new(),
                })
            }
            Ok(None) => Err(Diagnostic::error(
                format!("Cannot move state to {}", request.target_type_name),
                format!("The resource type does not support moves from {told}. Import the object instead."),
            )),
            Err(diagnostics) => Ok(proto::move_resource_state::Response {
                diagnostics: wire::diagnostics(diagnostics),
                ..Default::default()
            }),
        }
    }
}

fn parse_state(json: &[u8]) -> Result<serde_json::Value, Diagnostic> {
    serde_json::from_slice(json).map_err(|error| {
        Diagnostic::error(
            "Stored state cannot be read",
            format!(
                "The state is not valid JSON: {error}. Restore an \
                           earlier version of the state."
            ),
        )
    })
}

/// The outcome of an apply.
struct Applied {
    state: Value,
    unfinished: bool,
    diagnostics: Diagnostics,
}

async fn delete(entry: &Entry, ctx: &Context, prior: Value) -> Applied {
    let outcome = caught("a delete", entry.resource.delete(ctx, &prior)).await;
    match outcome.map_err(Diagnostics::from).and_then(|result| result) {
        Ok(()) => Applied { state: Value::Null, unfinished: false, diagnostics: Diagnostics::default() },
        Err(diagnostics) => Applied { state: prior, unfinished: false, diagnostics },
    }
}

/// Creates or updates an object. If it fails, the state contains what exists:
///
/// ```text
/// ok                  -> the new state
/// create cancelled    -> the saved progress, marked unfinished, with a warning: the next apply continues
/// create failed       -> the saved progress (Terraform taints it), or nothing
/// update failed       -> the last saved progress, or else the prior state
/// ```
async fn change(
    entry: &Entry,
    ctx: &Context,
    prior: Option<Value>,
    plan: Planned<Value>,
    unfinished: bool,
) -> Applied {
    // The client validates before a plan; a value may have been unknown then.
    let missing = required::missing(&entry.schema, &plan.config);
    if missing.has_error() {
        return Applied { state: prior.unwrap_or_default(), unfinished, diagnostics: missing };
    }
    let progress = Progress::default();
    let planned = plan.state.clone();
    let outcome = match &prior {
        None => caught("a create", entry.resource.create(ctx, plan, &progress)).await,
        Some(prior) => caught("an update", entry.resource.update(ctx, prior, plan, &progress)).await,
    };
    let mut diagnostics = match outcome.map_err(Diagnostics::from).and_then(|result| result) {
        Ok(state) => return applied(entry, entry.spelled(&planned, state)),
        Err(diagnostics) => diagnostics,
    };
    let saved = progress.saved().map(|saved| saved.conform(&entry.ty));
    let resumable = prior.is_none() || unfinished;
    if let (true, true, Some(kept)) = (resumable, ctx.cancelled(), saved.as_ref().or(prior.as_ref())) {
        diagnostics = Diagnostic::warning(
            "Interrupted",
            "The object exists and is in the state, but is incomplete. Apply again to complete it.",
        )
        .into();
        let state = plan::merge_saved(planned, Some(kept));
        return Applied { state, unfinished: true, diagnostics };
    }
    let state = saved.map(plan::known_only).or(prior).unwrap_or_default();
    Applied { state, unfinished, diagnostics }
}

fn applied(entry: &Entry, state: Value) -> Applied {
    let state = state.conform(&entry.ty);
    if state.is_wholly_known() {
        return Applied { state, unfinished: false, diagnostics: Diagnostics::default() };
    }
    let detail = "A value was still unknown after the apply. This is a bug in the provider. The object exists and \
                  is in the state.";
    Applied {
        state: plan::known_only(state),
        unfinished: false,
        diagnostics: Diagnostic::error("Unknown value after apply", detail).into(),
    }
}
