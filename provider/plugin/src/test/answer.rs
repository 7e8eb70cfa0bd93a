//! What the provider answers, read by type.

use crate::path::Step;
use crate::proto::tfplugin6 as proto;
use crate::{Diagnostic, Diagnostics, Path, Severity, Type, Value, codec};
use anyhow::{Context as _, Result};

use super::schema::ResourceSchema;

/// A plan.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The planned state; null for a destroy.
    pub state: Value,
    /// Attributes that make it a replacement.
    pub requires_replace: Vec<Path>,
    /// Handed to apply.
    pub private: Vec<u8>,
    /// Whether the provider put the change off.
    pub deferred: bool,
    /// What the provider said.
    pub diagnostics: Diagnostics,
}

/// The result of an apply.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The new state; null when nothing exists.
    pub state: Value,
    /// Stored beside it.
    pub private: Vec<u8>,
    /// The identity, where the type has one.
    pub identity: Option<Value>,
    /// Whether the provider deferred it.
    pub deferred: bool,
    /// What the provider said.
    pub diagnostics: Diagnostics,
}

/// The result of a read.
pub type Read = Applied;

/// The result of an import.
pub type Imported = Applied;

/// An opened ephemeral resource.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Its values.
    pub result: Value,
    /// Handed back on renew and close.
    pub private: Option<Vec<u8>>,
    /// When it must be renewed, in seconds since 1970.
    pub renew_at: Option<i64>,
    /// What the provider said.
    pub diagnostics: Diagnostics,
}

/// A renewed ephemeral resource.
#[derive(Clone, Debug, Default)]
pub struct Renewed {
    /// Handed back on the next renew and on close.
    pub private: Option<Vec<u8>>,
    /// When it must be renewed again, in seconds since 1970.
    pub renew_at: Option<i64>,
    /// What the provider said.
    pub diagnostics: Diagnostics,
}

/// What to ask of a list resource.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    /// Whether whole objects are needed.
    pub include_resource: bool,
    /// The maximum number of results; 0 is no limit.
    pub limit: i64,
}

/// The result of a list.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// What was found.
    pub results: Vec<Found>,
    /// What the provider said.
    pub diagnostics: Diagnostics,
}

/// An object that a list found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The identity.
    pub identity: Value,
    /// The name for people.
    pub display_name: String,
    /// The whole object.
    pub resource: Option<Value>,
}

/// The result of an action.
#[derive(Clone, Debug, Default)]
pub struct Invoked {
    /// What was reported while it ran.
    pub progress: Vec<String>,
    /// Whether its last event was a completion.
    pub completed: bool,
    /// Whether the provider deferred it in the plan.
    pub deferred: bool,
    /// What the provider said.
    pub diagnostics: Diagnostics,
}

impl Listed {
    pub(super) fn read(events: Vec<proto::list_resource::Event>, schema: &ResourceSchema) -> Result<Listed> {
        let ty = schema.identity.as_ref().context("a list of a type without identity")?;
        let mut listed = Listed::default();
        for event in events {
            listed.diagnostics.extend(diagnostics(event.diagnostic));
            let Some(identity) = event.identity.and_then(|identity| identity.identity_data) else { continue };
            let resource = event.resource_object.as_ref().map(|object| codec::decode(object, &schema.ty));
            listed.results.push(Found {
                identity: codec::decode(&identity, ty).context("the identity")?,
                display_name: event.display_name,
                resource: resource.transpose().context("the resource object")?,
            });
        }
        Ok(listed)
    }
}

impl Invoked {
    pub(super) fn read(events: Vec<proto::invoke_action::Event>) -> Invoked {
        use proto::invoke_action::event::Type;
        let mut invoked = Invoked::default();
        for event in events {
            invoked.completed = false;
            match event.r#type {
                Some(Type::Progress(progress)) => invoked.progress.push(progress.message),
                Some(Type::Completed(completed)) => {
                    invoked.completed = true;
                    invoked.diagnostics.extend(diagnostics(completed.diagnostics));
                }
                None => {}
            }
        }
        invoked
    }
}

impl Planned {
    pub(super) fn read(answer: proto::plan_resource_change::Response, ty: &Type) -> Result<Planned> {
        Ok(Planned {
            state: value(answer.planned_state.as_ref(), ty).context("the planned state")?,
            requires_replace: answer.requires_replace.into_iter().map(path).collect(),
            private: answer.planned_private,
            deferred: answer.deferred.is_some(),
            diagnostics: diagnostics(answer.diagnostics),
        })
    }
}

impl Applied {
    pub(super) fn read<A: Into<Applying>>(answer: A, schema: &ResourceSchema) -> Result<Applied> {
        let answer = answer.into();
        let identity = answer.identity.and_then(|identity| identity.identity_data);
        Ok(Applied {
            state: value(answer.state.as_ref(), &schema.ty).context("the new state")?,
            private: answer.private,
            identity: match (identity, &schema.identity) {
                (Some(data), Some(ty)) => Some(codec::decode(&data, ty).context("the identity")?),
                _ => None,
            },
            deferred: answer.deferred,
            diagnostics: diagnostics(answer.diagnostics),
        })
    }
}

/// The common parts of the answers that hold a state.
pub(super) struct Applying {
    state: Option<proto::DynamicValue>,
    private: Vec<u8>,
    identity: Option<proto::ResourceIdentityData>,
    deferred: bool,
    diagnostics: Vec<proto::Diagnostic>,
}

impl From<proto::apply_resource_change::Response> for Applying {
    fn from(answer: proto::apply_resource_change::Response) -> Self {
        Applying {
            state: answer.new_state,
            private: answer.private,
            identity: answer.new_identity,
            deferred: false,
            diagnostics: answer.diagnostics,
        }
    }
}

impl From<proto::read_resource::Response> for Applying {
    fn from(answer: proto::read_resource::Response) -> Self {
        Applying {
            state: answer.new_state,
            private: answer.private,
            identity: answer.new_identity,
            deferred: answer.deferred.is_some(),
            diagnostics: answer.diagnostics,
        }
    }
}

impl From<proto::import_resource_state::Response> for Applying {
    fn from(mut answer: proto::import_resource_state::Response) -> Self {
        let imported = answer.imported_resources.pop().unwrap_or_default();
        Applying {
            state: imported.state,
            private: imported.private,
            identity: imported.identity,
            deferred: answer.deferred.is_some(),
            diagnostics: answer.diagnostics,
        }
    }
}

impl Opened {
    pub(super) fn read(answer: proto::open_ephemeral_resource::Response, ty: &Type) -> Result<Opened> {
        Ok(Opened {
            result: value(answer.result.as_ref(), ty).context("the result")?,
            private: answer.private,
            renew_at: answer.renew_at.map(|at| at.seconds),
            diagnostics: diagnostics(answer.diagnostics),
        })
    }
}

impl Renewed {
    pub(super) fn read(answer: proto::renew_ephemeral_resource::Response) -> Renewed {
        Renewed {
            private: answer.private,
            renew_at: answer.renew_at.map(|at| at.seconds),
            diagnostics: diagnostics(answer.diagnostics),
        }
    }
}

/// Reads a value; a message that holds none, as failed calls answer, is null.
pub(super) fn value(value: Option<&proto::DynamicValue>, ty: &Type) -> Result<Value> {
    match value {
        Some(value) if !value.msgpack.is_empty() || !value.json.is_empty() => Ok(codec::decode(value, ty)?),
        _ => Ok(Value::Null),
    }
}

pub(super) fn diagnostics(messages: Vec<proto::Diagnostic>) -> Diagnostics {
    let read = |message: proto::Diagnostic| Diagnostic {
        severity: if message.severity() == proto::diagnostic::Severity::Warning {
            Severity::Warning
        } else {
            Severity::Error
        },
        path: message.attribute.map(path),
        summary: message.summary,
        detail: message.detail,
    };
    Diagnostics(messages.into_iter().map(read).collect())
}

fn path(path: proto::AttributePath) -> Path {
    use proto::attribute_path::step::Selector;
    let steps = path.steps.into_iter().filter_map(|step| step.selector);
    Path(
        steps
            .map(|selector| match selector {
                Selector::AttributeName(name) => Step::Attribute(name),
                Selector::ElementKeyString(key) => Step::Key(key),
                Selector::ElementKeyInt(index) => Step::Index(index),
            })
            .collect(),
    )
}
