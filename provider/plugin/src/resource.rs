//! Managed resources.

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::context::{Context, Progress};
pub use crate::deferral::DeferReason;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::Model;
use crate::path::Path;
use crate::schema::{IdentitySchema, Schema};
use crate::value::Value;

/// A managed resource: one type of object with create, read, update and delete.
///
/// The server handles everything else: decoding by schema, defaults, unknown computed values, replacement,
/// validators, saved progress and panics.
#[async_trait]
pub trait Resource: Send + Sync + 'static {
    /// The typed view of configuration, plan and state. Its fields are the schema's attributes.
    type Model: Model;

    /// The full type name, such as `notes_note`: that of the derived model.
    fn type_name(&self) -> &'static str {
        Self::Model::TYPE_NAME
    }

    /// The schema.
    fn schema(&self) -> Schema {
        Self::Model::schema()
    }

    /// The identity schema, for clients that support resource identity (Terraform 1.12 or later): that of the derived
    /// model.
    fn identity(&self) -> Option<IdentitySchema> {
        Self::Model::identity()
    }

    /// The identity of an existing object: an object value of [`Resource::identity`]'s type.
    fn identity_of(&self, state: &Self::Model) -> Option<Value> {
        state.identity_of()
    }

    /// Upgrades a stored identity of an older [`IdentitySchema::version`] to the current one.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn upgrade_identity(&self, version: i64, _identity: Json) -> Result<Json, Diagnostics> {
        Err(Diagnostic::error(
            "Unable to Upgrade Resource Identity",
            format!(
                "The state contains an identity of {} in version {version}, which this provider version cannot \
                 upgrade. Use the provider version that wrote the state.",
                self.type_name()
            ),
        )
        .into())
    }

    /// Validates a configuration beyond the validators of its attributes. Values may be unknown; do not report
    /// unknown values.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Adjusts the plan of a create or update, after defaults and plan modifiers.
    ///
    /// Errors added to `diagnostics` fail the plan.
    async fn plan(&self, _ctx: &Context, _change: &mut Change<Self::Model>, _diagnostics: &mut Diagnostics) {}

    /// Inspects the plan of a destroy. `prior` is the state of the object to be destroyed.
    async fn plan_destroy(&self, _ctx: &Context, _prior: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Creates the object. `plan` is the planned state, with unknown values for the attributes to be computed.
    ///
    /// Call [`Progress::save`] as soon as the object exists, and again after each further step.
    ///
    /// # Errors
    /// Diagnostics for the user. The last saved progress is kept in the state, tainted.
    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Self::Model>,
        progress: &Progress,
    ) -> Result<Self::Model, Diagnostics>;

    /// Reads the object again. Returns `None` if it no longer exists.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn read(&self, ctx: &Context, state: Self::Model) -> Result<Option<Self::Model>, Diagnostics>;

    /// Updates the object from `prior` to `plan`. Also called to finish a cancelled create or update; the models are
    /// then equal except for unknown computed values.
    ///
    /// # Errors
    /// Diagnostics for the user. The last saved progress, or else `prior`, stays in the state.
    async fn update(
        &self,
        ctx: &Context,
        prior: Self::Model,
        plan: Planned<Self::Model>,
        progress: &Progress,
    ) -> Result<Self::Model, Diagnostics>;

    /// Deletes the object. Succeeds if the object no longer exists.
    ///
    /// # Errors
    /// Diagnostics for the user. The object stays in the state.
    async fn delete(&self, ctx: &Context, state: Self::Model) -> Result<(), Diagnostics>;

    /// Finds an existing object by ID or identity. The model only needs the attributes that [`Resource::read`] uses,
    /// because the client reads the object next.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn import(&self, _ctx: &Context, _request: ImportRequest) -> Result<Self::Model, Diagnostics> {
        Err(Diagnostic::error(
            format!("{} cannot be imported", self.type_name()),
            "This resource type does not support import. Remove the import, and create the resource with an apply.",
        )
        .into())
    }

    /// Upgrades the JSON state of an older schema version to the current one.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn upgrade(&self, version: i64, _state: Json) -> Result<Json, Diagnostics> {
        Err(Diagnostic::error(
            "Unknown schema version in the state",
            format!(
                "The state contains {} in schema version {version}, which this provider version cannot upgrade. Use \
                 the provider version that wrote the state, or a newer one.",
                self.type_name()
            ),
        )
        .into())
    }

    /// Adjusts a configuration that `terraform plan -generate-config-out` writes for an imported object (Terraform 1.14
    /// or later). It contains what the user may set: computed, deprecated and default values are null.
    async fn generate_config(
        &self,
        _ctx: &Context,
        _config: &mut Self::Model,
        _diagnostics: &mut Diagnostics,
    ) {
    }

    /// Converts the state of another resource type (a `moved` block). Returns `None` if this type does not support
    /// the source.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn move_from(
        &self,
        _ctx: &Context,
        _source: MoveSource,
    ) -> Result<Option<Self::Model>, Diagnostics> {
        Ok(None)
    }
}

/// A planned state together with its configuration. Only the configuration contains write-only values.
#[derive(Clone, Debug)]
pub struct Planned<M> {
    /// The planned state.
    pub state: M,
    /// The configuration.
    pub config: M,
}

/// A change that is being planned.
#[derive(Clone, Debug)]
pub struct Change<M> {
    /// The prior state; `None` if the object is to be created.
    pub prior: Option<M>,
    /// The configuration.
    pub config: M,
    /// The planned state. Attributes that are computed and not configured may be changed.
    pub planned: M,
    /// Attributes whose change replaces the object.
    pub requires_replace: Vec<Path>,
    /// Set this to defer the change. Only honoured by clients that support deferral.
    pub deferred: Option<DeferReason>,
}

/// The object to import.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportRequest {
    /// `terraform import ADDRESS ID` or `import { id = .. }`.
    Id(String),
    /// `import { identity = {..} }`.
    Identity(Value),
}

impl ImportRequest {
    /// The ID, or the string attribute `name` of the identity.
    ///
    /// # Errors
    /// A diagnostic that names the missing identity attribute.
    pub fn id_or(&self, name: &str) -> Result<String, Diagnostics> {
        match self {
            ImportRequest::Id(id) => Ok(id.clone()),
            ImportRequest::Identity(identity) => {
                identity.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
                    Diagnostic::error(
                        "Incomplete import identity",
                        format!("The identity has no known `{name}`. Set it in the `import` block."),
                    )
                    .into()
                })
            }
        }
    }
}

/// The source of a `moved` block from another resource type or provider.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveSource {
    /// Such as `registry.terraform.io/hashicorp/aws`.
    pub provider_address: String,
    /// Such as `aws_vpc`.
    pub type_name: String,
    /// Schema version of the source state.
    pub schema_version: i64,
    /// The source state.
    pub state: Json,
    /// The identity of the source, if it has one (Terraform 1.12 or later).
    pub identity: Option<Json>,
    /// Schema version of the source identity.
    pub identity_schema_version: i64,
    /// Private state of the source, as the other provider wrote it.
    pub private: Vec<u8>,
}
