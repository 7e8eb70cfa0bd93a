//! `terraform-provider-warren`: started by Terraform or OpenTofu.

mod config;
mod registry;

use std::process::ExitCode;

fn main() -> ExitCode {
    tf_provider_rs::run(
        registry::Warren::default(),
        "registry.terraform.io/warren-net/warren",
        env!("CARGO_PKG_VERSION"),
    )
}
