//! The pure crates must not be able to reach a runtime, a socket or a file.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use crate::build;

/// Crates that take time, randomness and bytes as arguments.
const PURE: &[&str] = &[
    "warren-cidr",
    "warren-model",
    "warren-planfile",
    "warren-diagram",
    "warren-check",
    "warren-wire",
    "warren-proto",
    "warren-netstack",
];

/// What a pure crate has no use for.
const BANNED: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "mio",
    "hyper",
    "reqwest",
    "socket2",
    "tonic",
    "rustls",
    "tempfile",
    "rand",
];

/// Checks the normal dependencies of every pure crate, and that all builds share one set of features.
pub(crate) fn run() -> Result<()> {
    for package in PURE {
        let tree = tree(&["--package", package, "--edges", "normal", "--format", "{lib}"])?;
        if let Some(banned) = BANNED.iter().find(|banned| tree.contains(**banned)) {
            bail!(
                "{package} is pure and must not depend on {banned}; `cargo tree -p {package} -i {banned}` shows the path"
            );
        }
        println!("{package}: {} crates, no runtime, socket or file among them", tree.len());
    }
    one_set_of_features()
}

/// A build of binaries must resolve the features that a build of tests resolves; see `docs/decisions/005`.
fn one_set_of_features() -> Result<()> {
    let format = ["--workspace", "--format", "{p} [{f}]", "--edges"];
    // Procedural macros and build scripts resolve features of their own, in every build the same.
    let tests = tree(&[&format[..], &["normal,dev,no-proc-macro"]].concat())?;
    let binaries = tree(&[&format[..], &["normal,no-proc-macro"]].concat())?;
    let compiled_twice: Vec<_> = binaries.difference(&tests).collect();
    ensure!(
        compiled_twice.is_empty(),
        "tests need other features of these crates than binaries do, so they compile twice: {compiled_twice:#?}; \
         add the missing features to the dependencies of tests/tunnel"
    );
    println!("one set of features: {} crates, none compiles twice", binaries.len());
    Ok(())
}

/// The lines of a dependency tree.
fn tree(arguments: &[&str]) -> Result<BTreeSet<String>> {
    let output = build::cargo().args(["tree", "--prefix", "none", "--locked"]).args(arguments).output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect())
}
