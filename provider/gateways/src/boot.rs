//! The script that sets a gateway up, at its first boot and at every other.
//!
//! It writes units and names of secrets, and leaves all that may fail to systemd, which tries again: download the
//! binary and check it, fetch keys and configuration (`warren-tunnel fetch`), run the gateway.
//!
//! ```text
//! warren-install -> warren-fetch -> warren-gateway
//!                -> warren-refresh, every minute -> other configuration -> warren-reload (refused: warren-restart)
//!                                                -> other keys          -> warren-restart
//! ```

use serde::Serialize;
use tera::{Context, Tera};
use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Value, model};
use warren_wire::fetch::{Content, FetchConfig, File, Source};

/// Where a gateway's files are; its configuration names them there.
pub const FOLDER: &str = "/run/warren";
/// The gateway's configuration.
pub const CONFIG_FILE: &str = "gateway.toml";
/// The WireGuard private key.
pub const KEY_FILE: &str = "gateway.key";
/// The TLS key and its certificate.
pub const TLS_FILE: &str = "gateway-tls.pem";

/// Where a gateway's files come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The configuration.
    pub config: Source,
    /// The WireGuard private key.
    pub wireguard_key: Source,
    /// The TLS key and its certificate.
    pub tls_key: Source,
}

/// Where the binary comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Release {
    /// An `https` URL.
    pub url: String,
    /// What the file's SHA-256 is, in hexadecimal.
    pub sha256: String,
}

model! {
    /// Where the binary comes from, as a configuration says it.
    pub struct ReleaseBlock {
        /// Address.
        pub url: Attr<String>,
        /// Digest.
        pub sha256: Attr<String>,
    }
}

/// The attribute `release`.
pub fn release() -> Attribute {
    Attribute::nested(
        "release",
        Nesting::Single,
        [
            Attribute::string("url")
                .required()
                .validate(check_url)
                .describe("Address of the static binary `warren-tunnel`."),
            Attribute::string("sha256")
                .required()
                .validate(check_sha256)
                .describe("SHA-256 of the binary in hexadecimal."),
        ],
    )
    .optional()
    .describe(
        "Where the binary is downloaded from; without it the image has it in /usr/local/bin. A change replaces the gateway.",
    )
}

/// When the machine runs its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// cloud-init runs it at every boot only if it is a boot hook.
    CloudInit,
    /// Google's guest agent runs a startup script at every boot.
    GuestAgent,
}

/// The script of a planned gateway; unknown while a part of it is. `source` makes sources of the names that the
/// configuration has.
///
/// # Errors
/// As [`script`].
pub fn planned(
    run: Run,
    release: &Attr<ReleaseBlock>,
    [config, wireguard_key, tls_key]: [&Attr<String>; 3],
    source: fn(String) -> Source,
) -> Result<Attr<String>, Diagnostics> {
    let named = |name: &Attr<String>| name.known().cloned().map(source);
    let (Some(config), Some(wireguard_key), Some(tls_key)) =
        (named(config), named(wireguard_key), named(tls_key))
    else {
        return Ok(Attr::Unknown);
    };
    let release = match release {
        Attr::Null => None,
        Attr::Unknown => return Ok(Attr::Unknown),
        Attr::Known(ReleaseBlock { url: Attr::Known(url), sha256: Attr::Known(sha256) }) => {
            Some(Release { url: url.clone(), sha256: sha256.clone() })
        }
        Attr::Known(_) => return Ok(Attr::Unknown),
    };
    script(run, release.as_ref(), &Sources { config, wireguard_key, tls_key }).map(Attr::Known)
}

/// The script of a gateway. The same arguments give the same bytes.
///
/// # Errors
/// A source's name is too long, or the template is wrong.
pub fn script(run: Run, release: Option<&Release>, sources: &Sources) -> Result<String, Diagnostics> {
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
    context.insert("sandbox", include_str!("../templates/sandbox.conf").trim_end());
    let mut tera = Tera::default();
    tera.autoescape_on(Vec::new());
    tera.add_raw_template("boot.sh", include_str!("../templates/boot.sh")).map_err(failed)?;
    tera.render("boot.sh", &context).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Diagnostics {
    Diagnostic::error("No boot script", format!("The gateway's boot script cannot be made: {error}.")).into()
}

/// A check of the URL of a release.
fn check_url(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let url = value.as_str().unwrap_or_default();
    // It stands in a shell script between single quotes.
    let plain = url.chars().all(|c| c.is_ascii_graphic() && !"'\"\\`$<>{}".contains(c));
    let scheme = url.starts_with("https://") || url.starts_with("http://127.0.0.1:");
    if !plain || !scheme || url.len() > 1024 {
        diagnostics.error_at(
            path.clone(),
            "Address not possible",
            "It is an address `https://..` of up to 1024 characters, without quotes, braces, `$`, `<`, `>` and `\\`.",
        );
    }
}

/// A check of a SHA-256 digest.
fn check_sha256(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        diagnostics.error_at(
            path.clone(),
            "Digest not possible",
            "It is a SHA-256 digest: 64 characters of `0-9` and `a-f`, as `sha256sum` prints it.",
        );
    }
}

#[cfg(test)]
mod tests;
