//! What an instance of AWS with a gateway is given: its metadata with the boot script as user data, and its parameters.
//!
//! The files are served in the guest, where they are in the folders `metadata` and `parameters`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, ensure};
use warren_gateways::boot::{Extras, Run, Sources, script};
use warren_wire::fetch::Source;

/// The instance's address for pods, the store of leases, and the group of the example `aws-gateway`.
const CONFIG: &str = r#"fabric = "llm-training"
name = "gw-a"
[listen]
udp = 51820
tls = "0.0.0.0:443"
[keys]
private_key_file = "/run/warren/gateway.key"
certificate_file = "/run/warren/gateway-tls.pem"
certificate_key_file = "/run/warren/gateway-tls.pem"
token_keys = ["SIGNER"]
[pool]
prefixes = ["10.100.0.0/17"]
[store.embedded]
path = "/var/lib/warren/leases.redb"
[[gateways]]
name = "gw-a"
KEY
udp = "10.200.0.2:51820"
tls = "10.200.0.2:443"
PINS
[groups."gpu"]
rate_mbit = 2000
[[groups."gpu".allow]]
to = ["10.0.0.0/16"]
ports = ["443", "8000-8100"]
protocols = ["tcp"]
"#;

/// Paths of the metadata service and what is there. The address is what QEMU gives to its only card.
const METADATA: &[(&str, &str)] = &[
    ("meta-data/instance-id", "i-0123456789abcdef0"),
    ("meta-data/local-hostname", "ip-10-0-0-10.ec2.internal"),
    ("meta-data/placement/region", "us-east-1"),
    ("meta-data/placement/availability-zone", "us-east-1a"),
    ("meta-data/network/interfaces/macs/52:54:00:12:34:56/device-number", "0"),
    ("meta-data/network/interfaces/macs/52:54:00:12:34:56/local-ipv4s", "10.0.2.15"),
    ("meta-data/network/interfaces/macs/52:54:00:12:34:56/mac", "52:54:00:12:34:56"),
    ("dynamic/instance-identity/document", r#"{"region": "us-east-1"}"#),
    (
        "meta-data/iam/security-credentials/gw-a",
        r#"{"Code": "Success", "AccessKeyId": "ASIATEST", "SecretAccessKey": "test", "Token": "test"}"#,
    ),
];

/// Writes the files of a new gateway into `folder`.
pub(crate) fn files(folder: &Path, tunnel: &Path) -> Result<()> {
    let parameters = folder.join("parameters");
    fs::create_dir(&parameters)?;
    let path = |name: &str| parameters.join(name).display().to_string();
    let ours = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(tunnel).args(arguments).output()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{arguments:?}: {text}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let signer = ours(&["token", "keygen", "--out", &folder.join("signing.key").display().to_string()])?;
    let printed = ours(&["gateway", "identity", "--key", &path("wireguard"), "--certificate", &path("tls")])?;
    let line = |name: &str| printed.lines().find(|line| line.starts_with(name)).context("no identity");
    let config = CONFIG.replace("SIGNER", &signer);
    let config = config.replace("KEY\n", &format!("{}\n", line("key = ")?));
    let config = config.replace("PINS\n", &format!("{}\n", line("pins = ")?));
    fs::write(parameters.join("config"), config)?;

    let source = |name: &str| Source::AwsSsm(format!("/warren/gw-a/{name}"));
    let sources =
        Sources { config: source("config"), wireguard_key: source("wireguard"), tls_key: source("tls") };
    let boot = script(Run::CloudInit, None, &sources, &Extras::default())
        .map_err(|diagnostics| anyhow!("no boot script: {diagnostics:?}"))?;
    for (name, text) in METADATA.iter().copied().chain([("user-data", boot.as_str())]) {
        let path = folder.join("metadata").join(name);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}
