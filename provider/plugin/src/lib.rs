//! A framework for writing Terraform and OpenTofu providers in Rust.
//!
//! It implements plugin protocol 6 (minor version 6.10) and does not depend on Go, `protoc` or any cloud.
//!
//! To write a provider:
//!
//! 1. Declare a struct for each object with [`model!`], and implement [`Resource`] ([`DataSource`], [`Ephemeral`],
//!    [`Function`]) for it.
//! 2. Implement [`Provider`] for the provider block, and list the resources in its [`Registry`].
//! 3. Call [`run`] from `main`, or [`serve`] on an existing runtime.
//!
//! The framework handles schemas, decoding, defaults, unknown values, replacement, validators with attribute paths,
//! private state, identities, state upgrades, cancellation, TLS and logging. `examples/notes.rs` is a complete
//! provider.

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
pub use tf_provider_rs_derive::{Choice, DataSource, Ephemeral, Object, Provider, Resource};
pub use tokio_util::sync::CancellationToken;
pub use types::Type;
pub use value::{Number, Value};

/// Compiles the README's code.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
