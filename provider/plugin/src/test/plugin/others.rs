//! The calls for data sources, functions, ephemeral resources, list resources and actions.

use anyhow::{Context as _, Result};
use serde_json::Value as Json;

use super::{Plugin, encode};
use crate::codec;
use crate::proto::tfplugin6 as proto;
use crate::test::answer::{self, Invoked, List, Listed, Opened, Renewed};
use crate::{Diagnostics, FunctionError, Value};

impl Plugin {
    /// `ValidateDataResourceConfig`, then `ReadDataSource`; the value is null when that fails.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn read_data(&self, type_name: &str, config: &Json) -> Result<(Value, Diagnostics)> {
        let schema = self.schema()?.data_sources.get(type_name);
        let ty = &schema.with_context(|| format!("no data source {type_name}"))?.ty;
        let config = encode(&codec::json::from_json(config, ty)?, ty)?;
        let request = proto::validate_data_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
        };
        let answer = self.call(async |mut client| client.validate_data_resource_config(request).await)?;
        let mut diagnostics = answer::diagnostics(answer.diagnostics);
        if diagnostics.has_error() {
            return Ok((Value::Null, diagnostics));
        }
        let request = proto::read_data_source::Request {
            type_name: type_name.to_owned(),
            config,
            provider_meta: self.meta.clone(),
            client_capabilities: Some(self.capabilities),
        };
        let answer = self.call(async |mut client| client.read_data_source(request).await)?;
        diagnostics.extend(answer::diagnostics(answer.diagnostics));
        Ok((answer::value(answer.state.as_ref(), ty)?, diagnostics))
    }

    /// `CallFunction`.
    ///
    /// # Errors
    /// The call fails; the inner error is the function's own.
    pub fn call_function(&self, name: &str, arguments: &[Value]) -> Result<Result<Value, FunctionError>> {
        let signature = self.schema()?.function(name)?;
        let arguments = arguments
            .iter()
            .enumerate()
            .map(|(position, argument)| Ok(codec::encode(argument, signature.parameter(position)?)?))
            .collect::<Result<_>>()?;
        let request = proto::call_function::Request { name: name.to_owned(), arguments };
        let answer = self.call(async |mut client| client.call_function(request).await)?;
        Ok(match answer.error {
            Some(error) => Err(FunctionError { text: error.text, argument: error.function_argument }),
            None => Ok(answer::value(answer.result.as_ref(), &signature.result)?),
        })
    }

    /// `ValidateEphemeralResourceConfig`, then `OpenEphemeralResource`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn open(&self, type_name: &str, config: &Json) -> Result<Opened> {
        let schema = self.schema()?.ephemerals.get(type_name);
        let ty = &schema.with_context(|| format!("no ephemeral resource {type_name}"))?.ty;
        let config = encode(&codec::json::from_json(config, ty)?, ty)?;
        let request = proto::validate_ephemeral_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
        };
        let answer =
            self.call(async |mut client| client.validate_ephemeral_resource_config(request).await)?;
        let diagnostics = answer::diagnostics(answer.diagnostics);
        if diagnostics.has_error() {
            return Ok(Opened { diagnostics, ..Opened::default() });
        }
        let request = proto::open_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            config,
            client_capabilities: Some(self.capabilities),
        };
        let answer = self.call(async |mut client| client.open_ephemeral_resource(request).await)?;
        Opened::read(answer, ty)
    }

    /// `RenewEphemeralResource`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn renew(&self, type_name: &str, private: Option<Vec<u8>>) -> Result<Renewed> {
        let request = proto::renew_ephemeral_resource::Request { type_name: type_name.to_owned(), private };
        let answer = self.call(async |mut client| client.renew_ephemeral_resource(request).await)?;
        Ok(Renewed::read(answer))
    }

    /// `CloseEphemeralResource`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn close(&self, type_name: &str, private: Option<Vec<u8>>) -> Result<Diagnostics> {
        let request = proto::close_ephemeral_resource::Request { type_name: type_name.to_owned(), private };
        let answer = self.call(async |mut client| client.close_ephemeral_resource(request).await)?;
        Ok(answer::diagnostics(answer.diagnostics))
    }

    /// `ValidateListResourceConfig`, then `ListResource` to the end of its stream.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn list(&self, type_name: &str, config: &Json, request: List) -> Result<Listed> {
        let schemas = self.schema()?;
        let schema = schemas.list_resources.get(type_name);
        let ty = &schema.with_context(|| format!("no list resource {type_name}"))?.ty;
        let config = encode(&codec::json::from_json(config, ty)?, ty)?;
        let validate = proto::validate_list_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
            ..Default::default()
        };
        let answer = self.call(async |mut client| client.validate_list_resource_config(validate).await)?;
        let diagnostics = answer::diagnostics(answer.diagnostics);
        if diagnostics.has_error() {
            return Ok(Listed { diagnostics, ..Listed::default() });
        }
        let request = proto::list_resource::Request {
            type_name: type_name.to_owned(),
            config,
            include_resource_object: request.include_resource,
            limit: request.limit,
        };
        let events = self.events(async |mut client| client.list_resource(request).await)?;
        Listed::read(events, schemas.resource(type_name)?)
    }

    /// `ValidateActionConfig`, `PlanAction`, then `InvokeAction` to the end of its stream.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn invoke(&self, action: &str, config: &Json) -> Result<Invoked> {
        let schema = self.schema()?.actions.get(action);
        let ty = &schema.with_context(|| format!("no action {action}"))?.ty;
        let config = encode(&codec::json::from_json(config, ty)?, ty)?;
        let validate =
            proto::validate_action_config::Request { action_type: action.to_owned(), config: config.clone() };
        let answer = self.call(async |mut client| client.validate_action_config(validate).await)?;
        let diagnostics = answer::diagnostics(answer.diagnostics);
        if diagnostics.has_error() {
            return Ok(Invoked { diagnostics, ..Invoked::default() });
        }
        let plan = proto::plan_action::Request {
            action_type: action.to_owned(),
            config: config.clone(),
            client_capabilities: Some(self.capabilities),
        };
        let answer = self.call(async |mut client| client.plan_action(plan).await)?;
        let diagnostics = answer::diagnostics(answer.diagnostics);
        if diagnostics.has_error() || answer.deferred.is_some() {
            return Ok(Invoked { diagnostics, deferred: answer.deferred.is_some(), ..Invoked::default() });
        }
        let invoke = proto::invoke_action::Request {
            action_type: action.to_owned(),
            config,
            client_capabilities: Some(self.capabilities),
        };
        Ok(Invoked::read(self.events(async |mut client| client.invoke_action(invoke).await)?))
    }
}
