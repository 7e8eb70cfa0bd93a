//! List resources: finding existing objects with `terraform query` (Terraform 1.14 or later).

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::context::Context;
use crate::diagnostic::Diagnostics;
use crate::model::{Model, ToValue};
use crate::schema::Schema;
use crate::value::Value;

/// Finds existing objects of a managed resource type.
///
/// The user writes a `list` block with [`ListResource::schema`] as its `config`, and imports what is found. The
/// resource type must be a [`crate::Resource`] of the same provider, with an identity.
///
/// ```
/// use tf_provider_rs::list_resource::{ListRequest, ListResult, ListResults};
/// use tf_provider_rs::{Attr, Context, Diagnostics, ListResource, Resource, Value, async_trait};
///
/// /// Finds notes.
/// #[derive(Clone, Debug, Default, PartialEq, ListResource)]
/// #[list_resource(name = "notes_note")]
/// struct Filter {
///     /// What the name begins with.
///     #[attr(optional)]
///     prefix: Attr<String>,
/// }
///
/// /// Manages a note.
/// #[derive(Clone, Debug, Default, PartialEq, Resource)]
/// #[resource(name = "notes_note")]
/// struct Note {
///     /// Name of the note.
///     #[attr(required, replaces, identity)]
///     name: Attr<String>,
/// }
///
/// struct Notes;
///
/// #[async_trait]
/// impl ListResource for Notes {
///     type Config = Filter;
///     type Model = Note;
///
///     async fn list(
///         &self,
///         _: &Context,
///         request: ListRequest<Filter>,
///         results: &mut ListResults<Note>,
///     ) -> Result<(), Diagnostics> {
///         let prefix = request.config.prefix.into_known().unwrap_or_default();
///         for name in ["shopping", "todo"].into_iter().filter(|name| name.starts_with(&prefix)) {
///             let result = ListResult::new(Value::object([("name", name.into())]), name);
///             results.send(result.resource(Note { name: name.into() })).await?;
///         }
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait ListResource: Send + Sync + 'static {
    /// The typed view of the `config` block.
    type Config: Model;

    /// The typed view of the managed resource.
    type Model: Model;

    /// The full type name of the managed resource: that of the derived model.
    fn type_name(&self) -> &'static str {
        Self::Config::TYPE_NAME
    }

    /// The schema of the `config` block.
    fn schema(&self) -> Schema {
        Self::Config::schema()
    }

    /// Validates a configuration beyond the validators of its attributes. Values may be unknown.
    async fn validate(&self, _config: &Self::Config, _diagnostics: &mut Diagnostics) {}

    /// Finds objects and sends them to `results`. `request.config` contains no unknown values.
    ///
    /// # Errors
    /// Diagnostics for the user. What was sent before stays in the result. [`ListResults::send`] returns an error when
    /// the client needs no more results; `?` then ends the list without a diagnostic.
    async fn list(
        &self,
        ctx: &Context,
        request: ListRequest<Self::Config>,
        results: &mut ListResults<Self::Model>,
    ) -> Result<(), Diagnostics>;
}

/// What to list.
#[derive(Clone, Debug)]
pub struct ListRequest<C> {
    /// The `config` block.
    pub config: C,
    /// Whether the client needs [`ListResult::resource`]. Otherwise it is ignored, so that reading it would be wasted.
    pub include_resource: bool,
    /// The maximum number of results. The framework enforces it.
    pub limit: Option<u64>,
}

/// One object that was found.
#[derive(Clone, Debug)]
pub struct ListResult<M> {
    /// The identity: an object value of [`crate::Resource::identity`]'s type.
    pub identity: Value,
    /// The name for people.
    pub display_name: String,
    /// The whole object, if the request asks for it.
    pub resource: Option<M>,
    /// Warnings about this object.
    pub diagnostics: Diagnostics,
}

impl<M> ListResult<M> {
    /// A result without the whole object.
    pub fn new(identity: Value, display_name: impl Into<String>) -> ListResult<M> {
        ListResult {
            identity,
            display_name: display_name.into(),
            resource: None,
            diagnostics: Diagnostics::default(),
        }
    }

    /// Adds the whole object.
    #[must_use]
    pub fn resource(mut self, resource: M) -> ListResult<M> {
        self.resource = Some(resource);
        self
    }
}

/// The stream that a list sends its results to.
#[derive(Debug)]
pub struct ListResults<M> {
    sender: mpsc::Sender<ListResult<Value>>,
    left: Option<u64>,
    model: std::marker::PhantomData<fn(M)>,
}

impl<M: ToValue> ListResults<M> {
    pub(crate) fn new(sender: mpsc::Sender<ListResult<Value>>, limit: Option<u64>) -> ListResults<M> {
        ListResults { sender, left: limit, model: std::marker::PhantomData }
    }

    /// Sends one result, and waits if the client is slower.
    ///
    /// # Errors
    /// The limit is reached or the client is gone.
    pub async fn send(&mut self, result: ListResult<M>) -> Result<(), Finished> {
        if self.left == Some(0) {
            return Err(Finished);
        }
        let result = ListResult {
            resource: result.resource.map(|resource| resource.to_value()),
            identity: result.identity,
            display_name: result.display_name,
            diagnostics: result.diagnostics,
        };
        self.sender.send(result).await.map_err(|_| Finished)?;
        self.left = self.left.map(|left| left - 1);
        Ok(())
    }
}

/// The client needs no more results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client needs no more results")]
pub struct Finished;

impl From<Finished> for Diagnostics {
    /// No diagnostic: to stop early is no error.
    fn from(_: Finished) -> Self {
        Diagnostics::default()
    }
}
