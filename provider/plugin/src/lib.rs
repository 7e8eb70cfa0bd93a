//! A framework for Terraform and OpenTofu providers.
//!
//! Implement [`Provider`] and [`Resource`], list the resources in a [`Registry`], and call
//! [`serve`] from `main`. See the crate's README and `examples/`.

pub mod codec;
pub mod context;
pub mod data_source;
pub mod diagnostic;
pub mod ephemeral;
mod erased;
pub mod function;
mod handshake;
mod log;
pub mod model;
pub mod path;
mod plan;
pub mod proto;
pub mod provider;
pub mod resource;
pub mod schema;
mod serve;
pub mod server;
mod tls;
pub mod types;
mod validate;
pub mod value;

pub use async_trait::async_trait;
pub use context::{Context, Private, Progress};
pub use data_source::DataSource;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use ephemeral::Ephemeral;
pub use function::{Function, FunctionError};
pub use model::{Attr, Model, Secret};
pub use path::Path;
pub use provider::{Provider, Registry};
pub use resource::{Change, ImportRequest, MoveSource, Planned, Resource};
pub use schema::{Attribute, IdentitySchema, Nesting, Schema};
pub use serve::{run, serve};
pub use tokio_util::sync::CancellationToken;
pub use types::Type;
pub use value::{Number, Value};

/// Compiles the README's code.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
