//! The pure crates must not be able to reach a runtime, a socket or a file, and the offline command must build without a
//! cloud SDK.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use crate::build;

/// Crates that take time, randomness and bytes as arguments.
const PURE: &[&str] = &[
    "warren-capacity",
    "warren-cidr",
    "warren-model",
    "warren-planfile",
    "warren-diagram",
    "warren-check",
    "warren-budget",
    "warren-wire",
    "warren-proto",
    "warren-lease",
    "warren-path",
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

/// Checks the normal dependencies of every pure crate, everything that a build of the offline command compiles, and that all
/// builds share one set of features.
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
    offline()?;
    one_set_of_features()
}

/// The offline command must compile no cloud SDK.
fn offline() -> Result<()> {
    let tree = tree(&["--package", OFFLINE, "--edges", "normal,build", "--format", "{p}"])?;
    let names: BTreeSet<&str> = tree.iter().filter_map(|line| line.split(' ').next()).collect();
    ensure!(names.contains("clap"), "cargo tree lists no clap below {OFFLINE}: its output has changed");
    if let Some(banned) = names.iter().find(|name| banned_offline(name)) {
        bail!(
            "{OFFLINE} builds the offline command `warren` and must not depend on {banned}; `cargo tree -p {OFFLINE} -i {banned}` shows the path"
        );
    }
    println!("{OFFLINE}: {} crates, no cloud SDK, async runtime or HTTP client", names.len());
    Ok(())
}

fn banned_offline(name: &str) -> bool {
    OFFLINE_BANNED.contains(&name) || OFFLINE_BANNED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
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
        let provider =
            tree(&["--package", "warren-provider", "--edges", "normal,build", "--format", "{p}"]).unwrap();
        assert!(provider.iter().filter_map(|line| line.split(' ').next()).any(banned_offline));
        offline().unwrap();
    }
}
