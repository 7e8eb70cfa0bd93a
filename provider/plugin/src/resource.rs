//! Managed resources.

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::context::{Context, Progress};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::Model;
use crate::path::Path;
use crate::schema::{IdentitySchema, Schema};
use crate::value::Value;

/// A managed resource: one kind of object with create, read, update and delete.
///
/// The server does the rest: decoding by schema, defaults, unknown computed values, replacement,
/// validators, saving progress, panics.
#[async_trait]
pub trait Resource: Send + Sync + 'static {
    /// The typed view of configuration, plan and state. Its fields are the schema's attributes.
    type Model: Model;

    /// The full type name, such as `warren_aws_vpc`.
    fn type_name(&self) -> &'static str;

    /// The schema.
    fn schema(&self) -> Schema;

    /// The identity, for clients that know it (Terraform >= 1.12).
    fn identity(&self) -> Option<IdentitySchema> {
        None
    }

    /// The identity of an existing object: an object value of [`Resource::identity`]'s type.
    fn identity_of(&self, _state: &Self::Model) -> Option<Value> {
        None
    }

    /// Checks a configuration beyond what its attributes' validators do. Values may be unknown:
    /// say nothing about those.
    async fn validate(&self, _config: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Adjusts the plan of a create or update, after defaults and plan modifiers.
    ///
    /// Errors put into `diagnostics` fail the plan.
    async fn plan(&self, _ctx: &Context, _change: &mut Change<Self::Model>, _diagnostics: &mut Diagnostics) {}

    /// Looks at the plan of a destroy (`prior` is what will go).
    async fn plan_destroy(&self, _ctx: &Context, _prior: &Self::Model, _diagnostics: &mut Diagnostics) {}

    /// Makes the object. `plan` is the planned state with unknowns for what is to be found out.
    ///
    /// Call [`Progress::save`] as soon as the object exists and whenever more of it does.
    ///
    /// # Errors
    /// Diagnostics for the user; what was saved is kept in state, tainted.
    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Self::Model>,
        progress: &Progress,
    ) -> Result<Self::Model, Diagnostics>;

    /// Looks at the object again; `None` when it is gone.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn read(&self, ctx: &Context, state: Self::Model) -> Result<Option<Self::Model>, Diagnostics>;

    /// Changes the object from `prior` to `plan`. Also called, with equal models but for unknown
    /// computed values, to finish what a cancelled create or update had left unfinished.
    ///
    /// # Errors
    /// Diagnostics for the user; what was saved last (or else `prior`) stays in state.
    async fn update(
        &self,
        ctx: &Context,
        prior: Self::Model,
        plan: Planned<Self::Model>,
        progress: &Progress,
    ) -> Result<Self::Model, Diagnostics>;

    /// Removes the object. An object that is gone already is success.
    ///
    /// # Errors
    /// Diagnostics for the user; the object stays in state.
    async fn delete(&self, ctx: &Context, state: Self::Model) -> Result<(), Diagnostics>;

    /// Finds an existing object by id or identity. A model with just enough in it for
    /// [`Resource::read`] will do: the client reads next.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn import(&self, _ctx: &Context, _request: ImportRequest) -> Result<Self::Model, Diagnostics> {
        Err(Diagnostic::error(
            format!("{} cannot be imported", self.type_name()),
            "This resource type has no object that could be found again.",
        )
        .into())
    }

    /// Turns the JSON state of an older schema version into that of the current one.
    ///
    /// # Errors
    /// Diagnostics for the user.
    async fn upgrade(&self, version: i64, _state: Json) -> Result<Json, Diagnostics> {
        Err(Diagnostic::error(
            "State of an unknown schema version",
            format!(
                "The state holds {} in schema version {version}, which this provider version cannot \
                 upgrade. Use the provider version that wrote it, or a newer one.",
                self.type_name()
            ),
        )
        .into())
    }

    /// Takes over the state of another resource type (a `moved` block); `None` when this type
    /// does not know the source.
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

/// A planned state together with the configuration it came from (write-only values are found only
/// in the configuration).
#[derive(Clone, Debug)]
pub struct Planned<M> {
    /// The planned state.
    pub state: M,
    /// The configuration.
    pub config: M,
}

/// A change under planning.
#[derive(Clone, Debug)]
pub struct Change<M> {
    /// What exists; `None` when the object is to be created.
    pub prior: Option<M>,
    /// What the user wrote.
    pub config: M,
    /// What is planned; may be changed where the attribute is computed and not configured.
    pub planned: M,
    /// Attributes whose change replaces the object.
    pub requires_replace: Vec<Path>,
    /// Set to put the change off; only clients that allow it honour it.
    pub deferred: Option<DeferReason>,
}

impl<M> Change<M> {
    /// Whether the object is to be created.
    pub fn is_create(&self) -> bool {
        self.prior.is_none()
    }
}

/// Why a plan is put off (`Deferred.Reason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferReason {
    /// The resource's configuration is not known enough.
    ResourceConfigUnknown,
    /// The provider's configuration is not known enough.
    ProviderConfigUnknown,
    /// Something that must exist first does not.
    AbsentPrerequisite,
}

/// What the user names to import.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportRequest {
    /// `terraform import ADDRESS ID` or `import { id = .. }`.
    Id(String),
    /// `import { identity = {..} }`.
    Identity(Value),
}

impl ImportRequest {
    /// The id, or the identity's string attribute `name`.
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
                        format!("The identity needs a known `{name}`."),
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
}
