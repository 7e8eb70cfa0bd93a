//! The calls for managed resources.

use anyhow::{Context as _, Result};
use serde_json::Value as Json;

use super::{Plugin, encode};
use crate::codec;
use crate::proto::tfplugin6 as proto;
use crate::test::answer::{self, Applied, Imported, Planned, Read};
use crate::test::core;
use crate::{Diagnostics, Value};

impl Plugin {
    /// `ValidateResourceConfig`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn validate(&self, type_name: &str, config: &Value) -> Result<Diagnostics> {
        let request = proto::validate_resource_config::Request {
            type_name: type_name.to_owned(),
            config: encode(config, &self.schema()?.resource(type_name)?.ty)?,
            client_capabilities: Some(self.capabilities),
        };
        let answer = self.call(async |mut client| client.validate_resource_config(request).await)?;
        Ok(answer::diagnostics(answer.diagnostics))
    }

    /// `PlanResourceChange` from `prior` (null: create) to `config` (null: destroy).
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn plan(&self, type_name: &str, prior: &Value, config: &Value, private: &[u8]) -> Result<Planned> {
        let schema = self.schema()?.resource(type_name)?;
        let proposed = core::proposed(&schema.attributes, prior, config);
        let request = proto::plan_resource_change::Request {
            type_name: type_name.to_owned(),
            prior_state: encode(prior, &schema.ty)?,
            proposed_new_state: encode(&proposed, &schema.ty)?,
            config: encode(config, &schema.ty)?,
            prior_private: private.to_vec(),
            provider_meta: self.meta.clone(),
            client_capabilities: Some(self.capabilities),
            prior_identity: None,
        };
        let answer = self.call(async |mut client| client.plan_resource_change(request).await)?;
        Planned::read(answer, &schema.ty)
    }

    /// `ApplyResourceChange`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn apply(
        &self,
        type_name: &str,
        prior: &Value,
        planned: &Value,
        config: &Value,
        private: &[u8],
    ) -> Result<Applied> {
        let schema = self.schema()?.resource(type_name)?;
        let request = proto::apply_resource_change::Request {
            type_name: type_name.to_owned(),
            prior_state: encode(prior, &schema.ty)?,
            planned_state: encode(planned, &schema.ty)?,
            config: encode(config, &schema.ty)?,
            planned_private: private.to_vec(),
            provider_meta: self.meta.clone(),
            planned_identity: None,
        };
        let answer = self.call(async |mut client| client.apply_resource_change(request).await)?;
        Applied::read(answer, schema)
    }

    /// `ReadResource`; the state is null when the object is gone.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn read(&self, type_name: &str, state: &Value, private: &[u8]) -> Result<Read> {
        let schema = self.schema()?.resource(type_name)?;
        let request = proto::read_resource::Request {
            type_name: type_name.to_owned(),
            current_state: encode(state, &schema.ty)?,
            private: private.to_vec(),
            provider_meta: self.meta.clone(),
            client_capabilities: Some(self.capabilities),
            current_identity: None,
        };
        let answer = self.call(async |mut client| client.read_resource(request).await)?;
        Read::read(answer, schema)
    }

    /// `ImportResourceState` by id.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn import(&self, type_name: &str, id: &str) -> Result<Imported> {
        self.import_by(type_name, id.to_owned(), None)
    }

    /// `ImportResourceState` by identity, given as JSON.
    ///
    /// # Errors
    /// The type has no identity, or the call fails.
    pub fn import_identity(&self, type_name: &str, identity: &Json) -> Result<Imported> {
        let ty = self.schema()?.resource(type_name)?.identity.as_ref();
        let ty = ty.with_context(|| format!("{type_name} has no identity"))?;
        let data = encode(&codec::json::from_json(identity, ty)?, ty)?;
        self.import_by(type_name, String::new(), Some(proto::ResourceIdentityData { identity_data: data }))
    }

    fn import_by(
        &self,
        type_name: &str,
        id: String,
        identity: Option<proto::ResourceIdentityData>,
    ) -> Result<Imported> {
        let schema = self.schema()?.resource(type_name)?;
        let request = proto::import_resource_state::Request {
            type_name: type_name.to_owned(),
            id,
            client_capabilities: Some(self.capabilities),
            identity,
        };
        let answer = self.call(async |mut client| client.import_resource_state(request).await)?;
        Imported::read(answer, schema)
    }

    /// `UpgradeResourceState` of state stored with schema `version`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer; the value is null then.
    pub fn upgrade(&self, type_name: &str, version: i64, state: &Json) -> Result<(Value, Diagnostics)> {
        let schema = self.schema()?.resource(type_name)?;
        let request = proto::upgrade_resource_state::Request {
            type_name: type_name.to_owned(),
            version,
            raw_state: Some(raw(state)),
        };
        let answer = self.call(async |mut client| client.upgrade_resource_state(request).await)?;
        let value = answer::value(answer.upgraded_state.as_ref(), &schema.ty)?;
        Ok((value, answer::diagnostics(answer.diagnostics)))
    }

    /// `MoveResourceState` to `type_name` from another type of another provider.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer; the value is null then.
    pub fn move_from(
        &self,
        type_name: &str,
        provider: &str,
        source: &str,
        version: i64,
        state: &Json,
    ) -> Result<(Value, Diagnostics)> {
        let schema = self.schema()?.resource(type_name)?;
        let request = proto::move_resource_state::Request {
            source_provider_address: provider.to_owned(),
            source_type_name: source.to_owned(),
            source_schema_version: version,
            source_state: Some(raw(state)),
            target_type_name: type_name.to_owned(),
            ..Default::default()
        };
        let answer = self.call(async |mut client| client.move_resource_state(request).await)?;
        let value = answer::value(answer.target_state.as_ref(), &schema.ty)?;
        Ok((value, answer::diagnostics(answer.diagnostics)))
    }

    /// `GenerateResourceConfig` for a state.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn generate_config(&self, type_name: &str, state: &Value) -> Result<(Value, Diagnostics)> {
        let ty = &self.schema()?.resource(type_name)?.ty;
        let request = proto::generate_resource_config::Request {
            type_name: type_name.to_owned(),
            state: encode(state, ty)?,
        };
        let answer = self.call(async |mut client| client.generate_resource_config(request).await)?;
        Ok((answer::value(answer.config.as_ref(), ty)?, answer::diagnostics(answer.diagnostics)))
    }
}

fn raw(state: &Json) -> proto::RawState {
    proto::RawState { json: state.to_string().into_bytes(), ..Default::default() }
}
