//! Which files a gateway fetches from a secret store: TOML without secrets.
//!
//! ```toml
//! folder = "/run/warren"
//!
//! [[files]]
//! name = "gateway.key"
//! from = "aws-ssm:/warren/gw-a/wireguard"
//! holds = "wireguard-key"
//! ```

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::ParseError;
use crate::gateway::GatewayConfig;
use crate::key::PrivateKey;
use crate::text::serde_as_text;
use crate::token::SigningKey;

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchConfig {
    /// The folder of the fetched files.
    pub folder: PathBuf,
    /// The AWS region; defaults to the machine's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The files to fetch, at least one.
    pub files: Vec<File>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its name in the folder.
    pub name: FileName,
    /// The source of its value.
    pub from: Source,
    /// The type of its value; any other value is refused.
    #[serde(default, skip_serializing_if = "Content::is_text")]
    pub holds: Content,
}

/// A name without folders, of `a-z A-Z 0-9 . _ -`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(String);

serde_as_text!(FileName);

/// The error for a text that is not a file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a file name; write 1 to 64 of a-z A-Z 0-9 . _ -, not a dot first")]
pub struct FileNameError;

/// A value of a secret store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A parameter of AWS Systems Manager, by name or ARN: `aws-ssm:/warren/gw-a/wireguard`.
    AwsSsm(String),
    /// The latest version of a secret of Google's Secret Manager: `gcp-secret:projects/acme/secrets/gw-a`.
    GcpSecret(String),
}

serde_as_text!(Source);

/// The error for a text that is not a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a source; write aws-ssm:/NAME or gcp-secret:projects/PROJECT/secrets/NAME")]
pub struct SourceError;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Anything.
    #[default]
    Text,
    /// A WireGuard private key in base64.
    WireguardKey,
    /// An enrolment signing key, `k4.secret.…`.
    SigningKey,
    /// A private key and its certificate in PEM.
    TlsKey,
    /// The gateway's configuration file.
    GatewayConfig,
}

impl FetchConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// What the TOML reader or the types refuse, and a list without files.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let config: Self = crate::gateway::from_toml(text)?;
        let refuse =
            |what: String, hint: &str| Err(ParseError { line: 1, column: 1, what, hint: hint.to_owned() });
        if config.files.is_empty() {
            return refuse("there are no files".to_owned(), "add a [[files]] table");
        }
        let mut names: Vec<&FileName> = config.files.iter().map(|file| &file.name).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(format!("{} is listed twice", twice[0]), "give each file its own name");
        }
        Ok(config)
    }

    /// The file as TOML.
    ///
    /// # Errors
    /// The folder's path is no text.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

impl Content {
    /// The reason why `value` is not of this type; `None` if it is. It never contains the value, which may be a secret.
    #[must_use]
    pub fn refuses(self, value: &str) -> Option<String> {
        match self {
            Self::Text => value.is_empty().then(|| "it is empty".to_owned()),
            Self::WireguardKey => PrivateKey::from_base64(value.trim_end())
                .err()
                .map(|error| format!("it is not a WireGuard private key: {error}")),
            Self::SigningKey => SigningKey::parse(value.trim_end())
                .err()
                .map(|error| format!("it is not an enrolment signing key: {error}")),
            Self::TlsKey => ["PRIVATE KEY-----", "BEGIN CERTIFICATE-----"]
                .iter()
                .any(|part| !value.contains(part))
                .then(|| "it is not a private key and a certificate in PEM".to_owned()),
            Self::GatewayConfig => GatewayConfig::parse(value)
                .err()
                .map(|error| format!("it is not a gateway configuration: {error}")),
        }
    }

    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

impl FileName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FileName {
    type Err = FileNameError;

    fn from_str(text: &str) -> Result<Self, FileNameError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let fits = (1..=64).contains(&text.len()) && !text.starts_with('.') && text.chars().all(allowed);
        if fits { Ok(Self(text.to_owned())) } else { Err(FileNameError) }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let plain = |text: &str| {
            (1..=2048).contains(&text.len())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:".contains(c))
        };
        match text.split_once(':') {
            Some(("aws-ssm", name)) if plain(name) => Ok(Self::AwsSsm(name.to_owned())),
            Some(("gcp-secret", name)) if plain(name) => match name.split('/').collect::<Vec<_>>()[..] {
                ["projects", project, "secrets", secret] if !project.is_empty() && !secret.is_empty() => {
                    Ok(Self::GcpSecret(name.to_owned()))
                }
                _ => Err(SourceError),
            },
            _ => Err(SourceError),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AwsSsm(name) => write!(f, "aws-ssm:{name}"),
            Self::GcpSecret(name) => write!(f, "gcp-secret:{name}"),
        }
    }
}
