//! The shared credentials and config files of AWS
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>): static keys and the region of one profile.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::stores::Variables;
use crate::runtime::problem::{Problem, Result};

/// What a profile says. No `Debug`: it holds a secret.
#[derive(Default)]
pub(super) struct Profile {
    pub(super) key_id: Option<Zeroizing<String>>,
    pub(super) secret: Option<Zeroizing<String>>,
    pub(super) token: Option<Zeroizing<String>>,
    pub(super) region: Option<String>,
    /// A setting that gets credentials from elsewhere.
    pub(super) indirect: Option<&'static str>,
}

const INDIRECT: [&str; 5] =
    ["role_arn", "sso_session", "sso_start_url", "credential_process", "web_identity_token_file"];

/// Reads the profile named by `AWS_PROFILE`, else `default`. Without files it is empty.
///
/// # Errors
/// A profile that was asked for does not exist.
pub(super) fn read(get: Variables<'_>) -> Result<Profile> {
    let named = get("AWS_PROFILE").filter(|name| !name.is_empty());
    let name = named.as_deref().unwrap_or("default");
    let file = |variable: &str, below: &str| {
        let path = get(variable).map(PathBuf::from);
        let path = path.or_else(|| get("HOME").map(|home| PathBuf::from(home).join(below)));
        Zeroizing::new(path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default())
    };
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    let config = file("AWS_CONFIG_FILE", ".aws/config");
    let mut profile = Profile::default();
    let in_config = if name == "default" { name.to_owned() } else { format!("profile {name}") };
    // The credentials file wins.
    let mut found = apply(&config, &in_config, &mut profile);
    found |= apply(&credentials, name, &mut profile);
    match named {
        Some(name) if !found => {
            Err(Problem::new(format!("AWS_PROFILE: there is no profile `{}`", name.escape_debug()))
                .hint("list the profiles with `aws configure list-profiles`"))
        }
        _ => Ok(profile),
    }
}

fn apply(text: &str, section: &str, profile: &mut Profile) -> bool {
    let (mut within, mut found) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            within = name.split_whitespace().eq(section.split_whitespace());
            found |= within;
            continue;
        }
        // Indented lines belong to a nested setting.
        if !within || line.starts_with([' ', '\t']) || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        let secret = || Some(Zeroizing::new(value.to_owned()));
        match key {
            "aws_access_key_id" => profile.key_id = secret(),
            "aws_secret_access_key" => profile.secret = secret(),
            "aws_session_token" => profile.token = secret(),
            "region" => profile.region = Some(value.to_owned()),
            _ => {
                if let Some(setting) = INDIRECT.iter().find(|setting| **setting == key) {
                    profile.indirect = Some(setting);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_in_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let (credentials, config) = (folder.path().join("credentials"), folder.path().join("config"));
        std::fs::write(
            &credentials,
            "[default]\naws_access_key_id = A\n# x\n[ml]\naws_access_key_id=B\naws_secret_access_key = s=\n",
        )
        .unwrap();
        std::fs::write(&config, "[default]\nregion = eu-west-1\n[profile ml]\nregion=eu-north-1\ns3 =\n  region = x\n[profile sso]\nsso_session = y\n")
            .unwrap();
        let get = |profile: Option<&'static str>| {
            let (credentials, config) = (credentials.clone(), config.clone());
            move |name: &str| match name {
                "AWS_PROFILE" => profile.map(str::to_owned),
                "AWS_SHARED_CREDENTIALS_FILE" => Some(credentials.display().to_string()),
                "AWS_CONFIG_FILE" => Some(config.display().to_string()),
                _ => None,
            }
        };
        let ml = read(&get(Some("ml"))).unwrap();
        assert_eq!(ml.key_id.unwrap().as_str(), "B");
        assert_eq!(ml.secret.unwrap().as_str(), "s=");
        assert_eq!(ml.region.as_deref(), Some("eu-north-1"));
        let default = read(&get(None)).unwrap();
        assert_eq!((default.key_id.unwrap().as_str(), default.secret.is_none()), ("A", true));
        assert_eq!(read(&get(Some("sso"))).unwrap().indirect, Some("sso_session"));
        let missing = read(&get(Some("other"))).err().unwrap();
        assert_eq!(missing.what(), "AWS_PROFILE: there is no profile `other`");
        assert!(read(&|_| None).unwrap().key_id.is_none());
    }
}
