//! What an instance with a gateway is given: its metadata with the boot script, and its secrets.
//!
//! The files are served in the guest: those of EC2 are in the folder `metadata`, the tree of Google's service is `metadata.json`, and
//! the secrets are in `parameters`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::json;
use warren_gateways::boot::{Extras, Release, Run, Sources, script};
use warren_wire::fetch::Source;

/// Whose instance it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cloud {
    /// cloud-init runs the user data.
    Aws,
    /// Google's guest agent runs the startup script.
    Google,
}

impl Cloud {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Cloud::Aws => "aws",
            Cloud::Google => "google",
        }
    }

    /// System information (SMBIOS), by which programs recognize the cloud.
    pub(crate) fn smbios(self) -> &'static str {
        match self {
            Cloud::Aws => {
                "type=1,uuid=ec2a1b2c-3d4e-5f60-7182-93a4b5c6d7e8,serial=ec2a1b2c-3d4e-5f60-7182-93a4b5c6d7e8"
            }
            Cloud::Google => "type=1,manufacturer=Google,product=Google Compute Engine",
        }
    }
}

/// Where the guest downloads the binary.
const RELEASE: &str = "http://169.254.169.254/release/warren-tunnel";

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

/// Writes the files of a new gateway into `folder`, whose `warren-tunnel` is what it installs.
pub(crate) fn files(cloud: Cloud, folder: &Path, tunnel: &Path) -> Result<()> {
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

    let source = |name: &str| match cloud {
        Cloud::Aws => Source::AwsSsm(format!("/warren/gw-a/{name}")),
        Cloud::Google => Source::GcpSecret(format!("projects/acme-ml/secrets/gw-a-{name}")),
    };
    let run = match cloud {
        Cloud::Aws => Run::CloudInit,
        Cloud::Google => Run::GuestAgent,
    };
    let sources =
        Sources { config: source("config"), wireguard_key: source("wireguard"), tls_key: source("tls") };
    let digest = Command::new("sha256sum").arg(folder.join("warren-tunnel")).output().context("sha256sum")?;
    let digest = String::from_utf8(digest.stdout)?;
    let sha256 = digest.split(' ').next().unwrap_or_default().to_owned();
    let release = Release { url: RELEASE.to_owned(), sha256 };
    let boot = script(run, Some(&release), &sources, &Extras::default())
        .map_err(|diagnostics| anyhow!("no boot script: {diagnostics:?}"))?;
    match cloud {
        Cloud::Aws => {
            for (name, text) in METADATA.iter().copied().chain([("user-data", boot.as_str())]) {
                let path = folder.join("metadata").join(name);
                fs::create_dir_all(path.parent().context("no folder")?)?;
                fs::write(path, text)?;
            }
        }
        Cloud::Google => fs::write(folder.join("metadata.json"), google(&boot).to_string())?,
    }
    Ok(())
}

/// The tree of Google's metadata service, with the attributes that the provider sets.
fn google(boot: &str) -> serde_json::Value {
    json!({
        "instance": {
            "attributes": {
                "block-project-ssh-keys": "TRUE",
                "enable-oslogin": "TRUE",
                "serial-port-enable": "FALSE",
                "startup-script": boot,
                "warren-image": "projects/debian-cloud/global/images/family/debian-13",
            },
            "hostname": "gw-a.us-central1-a.c.acme-ml.internal",
            "id": 4_520_031_799_277_581_759_u64,
            "machineType": "projects/1234567890/machineTypes/e2-small",
            "name": "gw-a",
            "networkInterfaces": [{ "ip": "10.0.2.15", "mac": "52:54:00:12:34:56", "mtu": 1460 }],
            "serviceAccounts": {
                "default": { "aliases": ["default"], "email": "gw-a@acme-ml.iam.gserviceaccount.com" },
            },
            "zone": "projects/1234567890/zones/us-central1-a",
        },
        "project": { "attributes": {}, "numericProjectId": 1_234_567_890, "projectId": "acme-ml" },
    })
}
