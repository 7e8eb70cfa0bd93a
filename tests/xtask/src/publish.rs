//! `cargo xtask publish`: the crates that other projects use can be published.
//!
//! Nothing is compiled here: a package's own build would compile all of its dependencies a second time. Lints and tests
//! have compiled the same sources with the same features.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;

use crate::build;

/// The crates that are published, dependencies first.
const PUBLISHED: &[&str] = &["pinned-certificate", "tf-provider-rs-derive", "tf-provider-rs"];

/// What every package contains.
const FILES: &[&str] = &["Cargo.toml", "LICENSE", "README.md", "src/lib.rs"];

/// Packages the crates as for an upload, and checks what is in them.
pub(crate) fn run() -> Result<()> {
    let metadata = metadata()?;
    for name in PUBLISHED {
        let package =
            metadata["packages"].as_array().into_iter().flatten().find(|found| found["name"] == **name);
        dependencies(name, package.with_context(|| format!("the workspace has no package {name}"))?)?;
        let files = files(name)?;
        for file in FILES {
            ensure!(files.contains(*file), "the package of {name} has no {file}");
        }
        println!("{name}: {} files", files.len());
    }
    let mut publish = build::cargo();
    publish.args(["publish", "--dry-run", "--no-verify", "--allow-dirty", "--locked", "--quiet"]);
    for name in PUBLISHED {
        publish.args(["--package", name]);
    }
    build::success(&mut publish, "packaging the crates")
}

/// A published crate depends on crates of the workspace that are published as well. Cargo removes dependencies of
/// tests without a version, so that the tests of the package would not compile.
fn dependencies(name: &str, package: &Json) -> Result<()> {
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let other = dependency["name"].as_str().unwrap_or_default();
        // Tests of a crate may use the crate itself, with more features.
        if dependency["path"].is_null() || other == name {
            continue;
        }
        ensure!(
            PUBLISHED.contains(&other) && dependency["req"] != "*",
            "{name} is published and depends on {other}, which is not"
        );
    }
    Ok(())
}

fn files(name: &str) -> Result<BTreeSet<String>> {
    let listed = build::cargo().args(["package", "--list", "--allow-dirty", "--package", name]).output()?;
    let errors = String::from_utf8_lossy(&listed.stderr);
    ensure!(listed.status.success(), "the files of {name} cannot be listed: {errors}");
    Ok(String::from_utf8(listed.stdout)?.lines().map(str::to_owned).collect())
}

fn metadata() -> Result<Json> {
    let output = build::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crate_that_is_not_published_is_no_dependency() {
        let package =
            |name: &str, req: &str| json!({ "dependencies": [{ "name": name, "req": req, "path": "/x" }] });
        assert!(dependencies("tf-provider-rs", &package("pinned-certificate", "^0.1.0")).is_ok());
        assert!(dependencies("tf-provider-rs", &package("tf-provider-rs", "*")).is_ok());
        assert!(dependencies("tf-provider-rs", &package("pinned-certificate", "*")).is_err());
        let error =
            dependencies("tf-provider-rs", &package("warren-harness", "^0.1.0")).unwrap_err().to_string();
        assert_eq!(error, "tf-provider-rs is published and depends on warren-harness, which is not");
    }
}
