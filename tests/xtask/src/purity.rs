//! The pure crates must not be able to reach a runtime, a socket or a file, and the offline command must build without a
//! cloud SDK.

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

/// The package of the offline command `warren`.
const OFFLINE: &str = "warren-cli";

/// Libraries that a pure crate must not depend on.
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

/// Packages that the offline command must not compile: async runtimes, network stacks and TLS. The cloud SDKs need
/// several of them, and are banned by the prefix of their names as well.
const OFFLINE_BANNED: &[&str] = &[
    "async-std",
    "aws-lc-rs",
    "curl",
    "h2",
    "hyper",
    "hyper-util",
    "mio",
    "native-tls",
    "object_store",
    "openssl",
    "quinn",
    "reqwest",
    "ring",
    "rustls",
    "smol",
    "socket2",
    "tf-provider-rs",
    "tokio",
    "tonic",
    "ureq",
];

/// Prefixes of package names that the offline command must not compile: the cloud SDKs.
const OFFLINE_BANNED_PREFIXES: &[&str] = &["aws-", "google-cloud-", "azure_"];

/// Checks the normal dependencies of every pure crate, and everything that a build of the offline command compiles.
pub(crate) fn run() -> Result<()> {
    for package in PURE {
        let tree = tree(package, "normal", "{lib}")?;
        if let Some(banned) = BANNED.iter().find(|banned| tree.contains(**banned)) {
            bail!(
                "{package} is pure and must not depend on {banned}; `cargo tree -p {package} -i {banned}` shows why it does"
            );
        }
        println!("{package}: {} crates, none of them reaches a runtime, socket or file", tree.len());
    }
    let tree = tree(OFFLINE, "normal,build", "{p}")?;
    let names: BTreeSet<&str> = tree.iter().filter_map(|line| line.split(' ').next()).collect();
    ensure!(names.contains("clap"), "cargo tree lists no clap below {OFFLINE}: its output has changed");
    if let Some(banned) = names.iter().find(|name| banned_offline(name)) {
        bail!(
            "{OFFLINE} builds the offline command `warren` and must not depend on {banned}; `cargo tree -p {OFFLINE} -i {banned}` shows why it does"
        );
    }
    println!("{OFFLINE}: {} crates, no cloud SDK, async runtime or HTTP client", names.len());
    Ok(())
}

fn banned_offline(name: &str) -> bool {
    OFFLINE_BANNED.contains(&name) || OFFLINE_BANNED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The lines of `cargo tree` for a package, without duplicates.
fn tree(package: &str, edges: &str, format: &str) -> Result<BTreeSet<String>> {
    let output = build::cargo()
        .args(["tree", "--package", package, "--edges", edges, "--prefix", "none", "--locked"])
        .args(["--format", format])
        .output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offline_command_compiles_no_cloud_sdk() {
        for banned in ["aws-sdk-ec2", "google-cloud-auth", "tokio", "reqwest", "hyper"] {
            assert!(banned_offline(banned), "{banned}");
        }
        for allowed in ["clap", "resvg", "serde_json", "warren-check"] {
            assert!(!banned_offline(allowed), "{allowed}");
        }
        // The provider's tree shows that the check can fail.
        let provider = tree("warren-provider", "normal,build", "{p}").unwrap();
        assert!(provider.iter().filter_map(|line| line.split(' ').next()).any(banned_offline));
        run().unwrap();
    }
}
