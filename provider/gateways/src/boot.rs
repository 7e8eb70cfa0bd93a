//! The script that sets up a gateway at every boot.
//!
//! It writes systemd units and the names of secrets. Everything that may fail is left to systemd, which
//! retries: download and verify the binary, fetch keys and configuration (`warren-tunnel fetch`), run the
//! gateway.
//!
//! ```text
//! warren-install -> warren-fetch -> warren-gateway
//!                -> warren-refresh, every minute -> other configuration -> warren-reload (refused: warren-restart)
//!                                                -> other keys          -> warren-restart
//!                -> warren-disk, which mounts the volume with the leases before warren-gateway, if there is one
//!                -> warren-logs, which sends the journal to the log group, if there is one
//! ```

use serde::Serialize;
use tera::{Context, Tera};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Object, Path, Value};

use crate::architecture::Architecture;
use warren_wire::fetch::{Content, FetchConfig, File, Source};

/// The folder of the files of a gateway, as in its configuration.
pub const FOLDER: &str = "/run/warren";
/// The configuration of the gateway.
pub const CONFIG_FILE: &str = "gateway.toml";
/// The WireGuard private key.
pub const KEY_FILE: &str = "gateway.key";
/// The TLS key and its certificate.
pub const TLS_FILE: &str = "gateway-tls.pem";

/// The sources of the files of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The configuration.
    pub config: Source,
    /// The WireGuard private key.
    pub wireguard_key: Source,
    /// The TLS key and its certificate.
    pub tls_key: Source,
}

/// The download location of the binary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Release {
    /// An `https` URL.
    pub url: String,
    /// The SHA-256 digest of the file in hexadecimal.
    pub sha256: String,
}

/// The download location of the binary in a configuration.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct ReleaseBlock {
    /// URL of the static binary `warren-tunnel`.
    #[attr(required, validate = check_url)]
    pub url: Attr<String>,
    /// SHA-256 digest of the binary in hexadecimal.
    #[attr(required, validate = check_sha256)]
    pub sha256: Attr<String>,
    /// CPU architecture of the binary, `x86_64` or `arm64`. If set, a plan with an instance type or image of another
    /// architecture is an error.
    #[attr(optional)]
    pub architecture: Attr<Architecture>,
}

/// The mechanism that runs the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// cloud-init runs it at every boot only if it is a boothook.
    CloudInit,
    /// Google's guest agent runs a startup script at every boot.
    GuestAgent,
}

/// Where a gateway sends its logs besides the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logs {
    /// A CloudWatch Logs log group.
    CloudWatch(String),
    /// The serial console, which Compute Engine copies to Cloud Logging.
    Console,
}

/// The volume with the leases, which the instance mounts at boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// An EBS volume with this ID, which the instance first attaches.
    Ebs(String),
    /// A block device with this path, which is attached before the instance boots.
    Device(String),
}

/// What a gateway has besides its keys and configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Where it sends its logs.
    pub logs: Option<Logs>,
    /// Where its leases are stored if they outlive the instance.
    pub volume: Option<Volume>,
}

impl Extras {
    /// The extras of a planned gateway; unknown while one of them is.
    pub fn planned(logs: &Attr<Logs>, volume: &Attr<Volume>) -> Attr<Extras> {
        if logs.is_unknown() || volume.is_unknown() {
            return Attr::Unknown;
        }
        Attr::Known(Extras { logs: logs.known().cloned(), volume: volume.known().cloned() })
    }
}

/// The script of a planned gateway; unknown while part of it is unknown. `source` converts the names in the
/// configuration to sources.
///
/// # Errors
/// As [`script`].
pub fn planned(
    run: Run,
    release: &Attr<ReleaseBlock>,
    [config, wireguard_key, tls_key]: [&Attr<String>; 3],
    source: fn(String) -> Source,
    extras: &Attr<Extras>,
) -> Result<Attr<String>, Diagnostics> {
    let Some(extras) = extras.known() else { return Ok(Attr::Unknown) };
    let named = |name: &Attr<String>| name.known().cloned().map(source);
    let (Some(config), Some(wireguard_key), Some(tls_key)) =
        (named(config), named(wireguard_key), named(tls_key))
    else {
        return Ok(Attr::Unknown);
    };
    let release = match release {
        Attr::Null => None,
        Attr::Unknown => return Ok(Attr::Unknown),
        Attr::Known(ReleaseBlock { url: Attr::Known(url), sha256: Attr::Known(sha256), .. }) => {
            Some(Release { url: url.clone(), sha256: sha256.clone() })
        }
        Attr::Known(_) => return Ok(Attr::Unknown),
    };
    let sources = Sources { config, wireguard_key, tls_key };
    script(run, release.as_ref(), &sources, extras).map(Attr::Known)
}

/// The script of a gateway. It is deterministic.
///
/// # Errors
/// The name of a source is too long, or the template is invalid.
pub fn script(
    run: Run,
    release: Option<&Release>,
    sources: &Sources,
    extras: &Extras,
) -> Result<String, Diagnostics> {
    let files = [
        (CONFIG_FILE, &sources.config, Content::GatewayConfig),
        (KEY_FILE, &sources.wireguard_key, Content::WireguardKey),
        (TLS_FILE, &sources.tls_key, Content::TlsKey),
    ];
    let files = files
        .into_iter()
        .map(|(name, from, holds)| {
            Ok(File { name: name.parse().map_err(failed)?, from: from.clone(), holds })
        })
        .collect::<Result<_, Diagnostics>>()?;
    let fetch = FetchConfig { folder: FOLDER.into(), region: None, files }.to_toml().map_err(failed)?;
    let mut context = Context::new();
    context.insert("boothook", &(run == Run::CloudInit));
    context.insert("release", &release);
    context.insert("fetch", fetch.trim_end());
    context.insert("folder", FOLDER);
    context.insert("config", CONFIG_FILE);
    context.insert("keys", &[KEY_FILE, TLS_FILE]);
    let group = match &extras.logs {
        Some(Logs::CloudWatch(group)) => Some(group),
        _ => None,
    };
    context.insert("log_group", &group);
    context.insert("console", &(extras.logs == Some(Logs::Console)));
    let (volume, is_attached) = match &extras.volume {
        Some(Volume::Ebs(id)) => (Some(id), false),
        Some(Volume::Device(path)) => (Some(path), true),
        None => (None, false),
    };
    context.insert("volume", &volume);
    context.insert("is_attached", &is_attached);
    context.insert("sandbox", include_str!("../templates/sandbox.conf").trim_end());
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::new());
    tera.add_raw_template("boot.sh", include_str!("../templates/boot.sh")).map_err(failed)?;
    tera.render("boot.sh", &context).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Diagnostics {
    Diagnostic::error(
        "Cannot create the boot script",
        format!("The boot script of the gateway cannot be created: {error}."),
    )
    .into()
}

/// Validates the URL of a release.
fn check_url(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let url = value.as_str().unwrap_or_default();
    // The script contains it in single quotes.
    let plain = url.chars().all(|c| c.is_ascii_graphic() && !"'\"\\`$<>{}".contains(c));
    let scheme = url.starts_with("https://") || url.starts_with("http://127.0.0.1:");
    if !plain || !scheme || url.len() > 1024 {
        diagnostics.error_at(
            path.clone(),
            "Invalid URL",
            "The value is not a supported URL. Use an `https://` URL of up to 1024 characters without \
             quotes, braces, `$`, `<`, `>` and `\\`.",
        );
    }
}

/// Validates a SHA-256 digest.
fn check_sha256(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        diagnostics.error_at(
            path.clone(),
            "Invalid SHA-256 digest",
            "The value is not a SHA-256 digest. Use the 64 characters of `0-9` and `a-f` that `sha256sum` \
             prints.",
        );
    }
}

#[cfg(test)]
mod tests;
