#![doc = include_str!("../README.md")]
//! # A complete provider
//!
//! ```no_run
#![doc = include_str!("../examples/todo.rs")]
//! ```

pub mod action;
mod block;
pub mod codec;
pub mod context;
pub mod data_source;
pub mod deferral;
pub mod diagnostic;
pub mod ephemeral;
mod erased;
pub mod function;
mod generate;
mod handshake;
pub mod list_resource;
mod log;
pub mod model;
pub mod path;
mod plan;
pub mod plan_modifiers;
pub mod proto;
pub mod provider;
mod registered;
mod replace;
mod required;
pub mod resource;
pub mod schema;
pub mod semantic;
mod serve;
pub mod server;
#[cfg(all(feature = "test", unix))]
pub mod test;
mod tls;
pub mod types;
mod validate;
pub mod validators;
pub mod value;

pub use action::{Action, InvokeProgress};
pub use async_trait::async_trait;
pub use context::{Context, Private, Progress};
pub use data_source::DataSource;
pub use deferral::DeferReason;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use ephemeral::Ephemeral;
pub use function::{Function, FunctionError};
pub use list_resource::ListResource;
pub use model::{Attr, Model, NotKnown, Secret};
pub use path::Path;
pub use provider::{Provider, Registry};
pub use resource::{Change, ImportRequest, MoveSource, Planned, Resource};
pub use schema::{Attribute, IdentitySchema, Nesting, Schema};
pub use serve::{run, serve};
pub use tf_provider_rs_derive::{
    Action, Choice, DataSource, Ephemeral, ListResource, Object, Provider, Resource,
};
pub use tokio_util::sync::CancellationToken;
pub use types::Type;
pub use value::{Number, Value};
