//! The pure crates must not be able to reach a runtime, a socket or a file.

use anyhow::{Result, bail, ensure};

use crate::build;

/// Crates that take time, randomness and bytes as arguments.
const PURE: &[&str] = &["warren-cidr", "warren-model", "warren-planfile", "warren-check", "warren-netstack"];

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

/// Looks through the normal dependencies of every pure crate.
pub(crate) fn run() -> Result<()> {
    for package in PURE {
        let output = build::cargo()
            .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--locked"])
            .args(["--format", "{lib}"])
            .output()?;
        ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout)?;
        if let Some(banned) = BANNED.iter().find(|banned| tree.lines().any(|line| line == **banned)) {
            bail!(
                "{package} is pure and must not depend on {banned}; `cargo tree -p {package} -i {banned}` shows why it does"
            );
        }
        let crates = tree.lines().collect::<std::collections::BTreeSet<_>>().len();
        println!("{package}: {crates} crates, none of them reaches a runtime, socket or file");
    }
    Ok(())
}
