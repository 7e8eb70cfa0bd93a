//! A driver for tests of providers (feature `test`).
//!
//! - [`Plugin`] starts a provider as Terraform does, and has one method for each call of the protocol. A call takes
//!   milliseconds.
//! - [`State`] does what Terraform's core does around these calls for one resource: refresh, plan, replace, apply, and
//!   the checks behind "Provider produced inconsistent result after apply".
//! - [`Terraform`] runs the real `terraform` or `tofu` against a provider that was built locally.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use serde_json::json;
//! use tf_provider_rs::test::{Outcome, Plugin, State};
//!
//! let plugin = Plugin::launch(Path::new("target/debug/terraform-provider-notes"), &[])?;
//! assert!(plugin.configure(&json!({ "directory": "/tmp/notes" }))?.is_empty());
//!
//! let mut note = State::new("notes_note");
//! let config = json!({ "name": "hello", "text": "Hello!" });
//! assert_eq!(note.apply(&plugin, &config)?, Outcome::Created);
//! assert_eq!(note.apply(&plugin, &config)?, Outcome::Unchanged);
//! assert_eq!(note.destroy(&plugin)?, Outcome::Destroyed);
//! # Ok::<(), tf_provider_rs::test::Error>(())
//! ```

mod answer;
mod certificate;
mod core;
mod plugin;
mod process;
mod schema;
mod state;
mod terraform;

pub use anyhow::{Error, Result};

pub use answer::{Applied, Found, Imported, Invoked, List, Listed, Opened, Planned, Read, Renewed};
pub use certificate::ClientCertificate;
pub use plugin::Plugin;
pub use process::{Address, Memory};
pub use schema::{Attribute, FunctionSchema, IdentityAttribute, Nesting, ResourceSchema, Schemas};
pub use state::{Outcome, State};
pub use terraform::{Killer, Run, Running, Terraform, write_cli_configuration};
