//! The plugin process and its protocol, driven over gRPC as Terraform drives it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod identity;
mod life;
mod lifecycle;
mod newest;
mod trust;

use serde_json::json;
use tf_provider_rs::test::Plugin;

/// The provider that misbehaves when asked to.
fn proving() -> Plugin {
    let plugin = Plugin::launch(&common::example("proving"), &[]).unwrap();
    assert!(plugin.configure(&json!({})).unwrap().is_empty());
    plugin
}
