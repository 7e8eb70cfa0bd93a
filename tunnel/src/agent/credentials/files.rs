//! The files by which programs find the credentials: a folder that only this user reads.
//!
//! | file | contents |
//! |---|---|
//! | `token` | the secret of requests |
//! | `env` | variables for a shell or a service manager |
//! | `google.json` | the credentials file for clients of Google Cloud |

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use warren_wire::enrolment::CredentialService;
use warren_wire::gateway::{AWS_PATH, GOOGLE_PATH, TRANSFERS_PATH};
use zeroize::Zeroizing;

use crate::runtime::host::{InterfaceName, folders, secret};
use crate::runtime::problem::{Context as _, Result};

const TOKEN: &str = "token";
const ENVIRONMENT: &str = "env";
const GOOGLE: &str = "google.json";
const GOOGLE_INSIDE: &str = "google-inside.json";
/// The variables that it sets.
const VARIABLES: [&str; 5] = [
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    TRANSFERS_URL,
    TRANSFERS_TOKEN_FILE,
];
/// Where `sync` reports its transfer.
pub(crate) const TRANSFERS_URL: &str = "WARREN_TRANSFERS_URL";
/// The file with the secret of these reports.
pub(crate) const TRANSFERS_TOKEN_FILE: &str = "WARREN_TRANSFERS_TOKEN_FILE";

/// The folder with its files; dropping it removes them.
pub(super) struct Files {
    folder: PathBuf,
    programs: Programs,
}

/// Variables for programs: those of the machine, and those in the tunnel's own network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    pub(crate) outside: Vec<(String, String)>,
    pub(crate) inside: Vec<(String, String)>,
}

/// A token of 256 bits, in hexadecimal.
pub(super) fn token(bytes: &[u8; 32]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(64));
    for byte in bytes {
        _ = write!(*text, "{byte:02x}");
    }
    text
}

fn folder(base: &Path, interface: &InterfaceName) -> PathBuf {
    base.join(format!("{interface}.credentials"))
}

impl Files {
    /// Writes them. Those of an agent that was killed are replaced.
    ///
    /// # Errors
    /// One cannot be written.
    pub(super) fn write(
        base: &Path,
        interface: &InterfaceName,
        token: &str,
        at: SocketAddr,
        inside: Option<SocketAddr>,
        service: &CredentialService,
    ) -> Result<Self> {
        let folder = folder(base, interface);
        _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .while_doing(|| format!("folder {}", folder.display()))?;
        let mut files = Self { folder, programs: Programs::default() };
        // Some clients send the file as it is, so it has no end of line.
        secret::write_new(&files.folder.join(TOKEN), token)?;
        files.programs.outside = files.variables(at, service, GOOGLE)?;
        if let Some(inside) = inside {
            files.programs.inside = files.variables(inside, service, GOOGLE_INSIDE)?;
        }
        let lines: String =
            files.programs.outside.iter().map(|(name, value)| format!("{name}='{value}'\n")).collect();
        secret::write_new(&files.environment(), &lines)?;
        Ok(files)
    }

    fn variables(
        &self,
        at: SocketAddr,
        service: &CredentialService,
        google: &str,
    ) -> Result<Vec<(String, String)>> {
        let token = self.folder.join(TOKEN).display().to_string();
        let mut variables = Vec::new();
        let [aws_url, aws_token, google_file, transfers_url, transfers_token] = VARIABLES;
        variables.push((transfers_url, format!("http://{at}{TRANSFERS_PATH}")));
        variables.push((transfers_token, token.clone()));
        if service.aws {
            variables.push((aws_url, format!("http://{at}{AWS_PATH}")));
            variables.push((aws_token, token.clone()));
        }
        if service.google {
            let file = self.folder.join(google);
            let account = serde_json::json!({
                "type": "external_account",
                "audience": "warren",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "token_url": format!("http://{at}{GOOGLE_PATH}"),
                "credential_source": { "file": token },
            });
            secret::write_new(&file, &account.to_string())?;
            variables.push((google_file, file.display().to_string()));
        }
        Ok(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The file with the variables.
    pub(super) fn environment(&self) -> PathBuf {
        self.folder.join(ENVIRONMENT)
    }

    pub(super) fn programs(&self) -> Programs {
        self.programs.clone()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the files of an agent that was killed.
pub(in crate::agent) fn forget(base: &Path, interface: &InterfaceName) {
    // It may never have had any.
    _ = fs::remove_dir_all(folder(base, interface));
}

/// The variables of a running agent of this user.
pub(crate) fn of_interface(interface: &InterfaceName) -> Option<Vec<(String, String)>> {
    let text = folders::existing()
        .iter()
        .find_map(|base| fs::read_to_string(folder(base, interface).join(ENVIRONMENT)).ok())?;
    let line = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), value.trim_matches('\'').to_owned()))
    };
    Some(text.lines().filter_map(line).filter(|(name, _)| VARIABLES.contains(&name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_files_are_their_owners_and_end_with_the_agent() {
        let base = tempfile::tempdir().unwrap();
        let interface: InterfaceName = "warren0".parse().unwrap();
        let service = CredentialService { servers: Vec::new(), aws: true, google: true };
        let at = "127.0.0.1:9588".parse().unwrap();
        let write = || Files::write(base.path(), &interface, &token(&[0xa5; 32]), at, None, &service);
        std::mem::forget(write().unwrap());
        let files = write().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&files.folder), 0o700);
        for name in [TOKEN, ENVIRONMENT, GOOGLE] {
            assert_eq!(mode(&files.folder.join(name)), 0o600, "{name}");
        }
        assert_eq!(fs::read_to_string(files.folder.join(TOKEN)).unwrap(), "a5".repeat(32));
        let text = [ENVIRONMENT, GOOGLE].map(|name| fs::read_to_string(files.folder.join(name)).unwrap());
        insta::assert_snapshot!(text.join("\n").replace(base.path().to_str().unwrap(), "DIR"));
        let folder = files.folder.clone();
        drop(files);
        assert!(!folder.exists());
        std::mem::forget(write().unwrap());
        forget(base.path(), &interface);
        assert!(!folder.exists());
    }
}
