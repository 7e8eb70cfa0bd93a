//! What the tests of the workspace stand on: emulated clouds, real Terraform, network namespaces.
//!
//! - [`Emulator`] is AWS on loopback: `moto` in a pinned Python environment with a [`Proxy`] in front of it that
//!   records and validates every call, fails on demand and supplies the strictness that `moto` lacks.
//! - [`Inventory`] is what exists in the emulator, asked of its own API, so that a test can prove that nothing is left.
//! - [`Google`] is Google Cloud on loopback: a double of our own, validated against Google's discovery documents.
//! - [`Bucket`] is Google Cloud Storage on loopback: the part of its XML API that claims and `sync` need.
//! - [`RunPod`] is RunPod on loopback: a double of our own, validated against the schema of its REST API.
//! - [`Terraform`] runs the real program against a provider built here.
//! - [`driver::Plugin`] plays Terraform to a provider over gRPC, where starting Terraform would take too long.
//! - [`NetNs`] is a network namespace, as root or in a user namespace of our own.
//!
//! Everything here is synchronous and may be called from inside or outside an async runtime.

mod botocore_model;
mod bucket;
mod emulator;
mod front;
pub mod google;
mod http_client;
mod moto;
mod netns;
mod pattern;
mod proxy;
mod query;
pub mod runpod;
mod terraform;
mod venv;
mod xml;

pub use botocore_model::{
    EXCEPTIONS as AWS_EXCEPTIONS, Exception as AwsException, Models, Problem, Waiver as AwsWaiver,
};
pub use bucket::{Bucket, BucketConfig};
pub use emulator::Emulator;
pub use front::{Call, Effect, Fault, Front, KillSwitch, Phase, Service, Violation};
pub use google::{Google, GoogleConfig, InternalRange};
pub use moto::{Inventory, InventoryDiff, Kind, MotoServer, Object};
pub use netns::NetNs;
pub use proxy::{Consistency, Proxy, ProxyConfig};
pub use query::Params;
pub use runpod::{RunPod, RunPodConfig};
pub use terraform::Terraform;
pub use tf_provider_rs::test as driver;
pub use tf_provider_rs::test::{Killer, Run, Running, write_cli_configuration};
pub use venv::{Venv, cache_dir, workspace_root};
pub use xml::Element;
