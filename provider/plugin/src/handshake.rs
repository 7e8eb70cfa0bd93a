//! How Terraform starts a plugin: an environment in, one line on standard output back.
//!
//! Source: HashiCorp's go-plugin, core protocol version 1, with automatic mutual TLS.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::json;
use tempfile::TempDir;
use thiserror::Error;

/// Name and value that tell a plugin that it was started by Terraform, not by a person.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The one protocol version served.
const PROTOCOL: &str = "6";

/// Longest path of a Unix socket on the systems that Terraform runs on, less the final NUL.
const MAX_SOCKET_PATH: usize = 103;

/// What the process was started for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// By Terraform, with its certificate (PEM).
    Plugin { client_certificate: String },
    /// By a developer, to attach Terraform to a running process.
    Debug,
}

/// Why the process does not serve. The text goes to standard error, with exit code 1.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Started by a person.
    #[error(
        "{name} {version}\n\n\
         This is a provider for Terraform and OpenTofu ({address}), not a program to run by hand.\n\
         Terraform starts it by itself when a configuration names it:\n\n\
         {indent}terraform {{\n\
         {indent}  required_providers {{\n\
         {indent}    {local} = {{ source = \"{source_address}\" }}\n\
         {indent}  }}\n\
         {indent}}}\n\n\
         To run it in a debugger, start it with --debug and follow what it prints.",
        indent = "    "
    )]
    ByHand {
        /// Of the executable.
        name: String,
        /// Of the provider.
        version: String,
        /// Such as `registry.terraform.io/acme/notes`.
        address: String,
        /// The address as configurations name it.
        source_address: String,
        /// Its last part.
        local: String,
    },
    /// A client of another protocol.
    #[error(
        "The client speaks plugin protocol {offered}, this provider speaks {PROTOCOL}. Use Terraform 1.8 or \
         newer, or OpenTofu 1.8 or newer."
    )]
    Protocol {
        /// As in `PLUGIN_PROTOCOL_VERSIONS`.
        offered: String,
    },
    /// A client that would not authenticate itself.
    #[error(
        "The client sent no certificate (PLUGIN_CLIENT_CERT is not set). This provider serves over mutual TLS \
         only; Terraform and OpenTofu always use it."
    )]
    NoCertificate,
}

/// Who serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    /// Such as `registry.terraform.io/acme/notes`.
    pub(crate) address: &'a str,
    /// Of the provider.
    pub(crate) version: &'a str,
}

impl Identity<'_> {
    /// The last part of the address.
    pub(crate) fn name(&self) -> &str {
        self.address.rsplit('/').next().unwrap_or(self.address)
    }
}

/// Finds out from arguments (without the program's name) and environment what to do.
pub(crate) fn start(
    identity: Identity<'_>,
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Start, Refusal> {
    if arguments.into_iter().any(|argument| argument == "--debug" || argument == "-debug") {
        return Ok(Start::Debug);
    }
    if environment(COOKIE.0).as_deref() != Some(COOKIE.1) {
        let source = identity.address.strip_prefix("registry.terraform.io/").unwrap_or(identity.address);
        return Err(Refusal::ByHand {
            name: format!("terraform-provider-{}", identity.name()),
            version: identity.version.to_owned(),
            address: identity.address.to_owned(),
            source_address: source.to_owned(),
            local: identity.name().to_owned(),
        });
    }
    let offered = environment("PLUGIN_PROTOCOL_VERSIONS").unwrap_or_default();
    if !offered.split(',').any(|version| version.trim() == PROTOCOL) {
        return Err(Refusal::Protocol { offered: if offered.is_empty() { "5".to_owned() } else { offered } });
    }
    match environment("PLUGIN_CLIENT_CERT") {
        Some(client_certificate) if !client_certificate.is_empty() => {
            Ok(Start::Plugin { client_certificate })
        }
        _ => Err(Refusal::NoCertificate),
    }
}

/// A place for the socket that only this user can reach; removed with everything in it on drop.
#[derive(Debug)]
pub(crate) struct SocketDir {
    directory: TempDir,
}

impl SocketDir {
    /// Makes a directory of mode 0700 in `parent` (`PLUGIN_UNIX_SOCKET_DIR`) or the temporary one.
    pub(crate) fn create(parent: Option<PathBuf>) -> std::io::Result<SocketDir> {
        let parent = parent.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::Builder::new()
            .prefix("plugin")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&parent)
            .map_err(|error| named(&parent, &error))?;
        let dir = SocketDir { directory };
        if dir.socket().as_os_str().len() > MAX_SOCKET_PATH {
            let error = std::io::Error::other(format!(
                "too long for a Unix socket (limit {MAX_SOCKET_PATH} bytes); set TMPDIR or \
                 PLUGIN_UNIX_SOCKET_DIR to a shorter directory"
            ));
            return Err(named(&dir.socket(), &error));
        }
        Ok(dir)
    }

    /// Where the socket is to be.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }
}

fn named(path: &Path, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The line that tells Terraform where to connect, and to whom.
pub(crate) fn line(socket: &Path, certificate: &[u8]) -> String {
    format!("1|{PROTOCOL}|unix|{}|grpc|{}\n", socket.display(), STANDARD_NO_PAD.encode(certificate))
}

/// What a developer sets to attach Terraform to this process. There is no TLS on this way: the
/// directory of the socket keeps other users out.
pub(crate) fn reattach(address: &str, socket: &Path, pid: u32) -> String {
    let value = json!({ address: {
        "Protocol": "grpc",
        "ProtocolVersion": 6,
        "Pid": pid,
        "Test": true,
        "Addr": { "Network": "unix", "String": socket },
    }});
    format!(
        "Provider started; it serves until Ctrl-C. Set this where Terraform runs:\n\n    \
         export TF_REATTACH_PROVIDERS='{value}'\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: Identity<'_> = Identity { address: "registry.terraform.io/example/notes", version: "1.2.3" };

    fn start(arguments: &[&str], set: &[(&str, &str)]) -> Result<Start, Refusal> {
        super::start(NOTES, arguments.iter().map(OsString::from), |name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn terraform_is_served_with_its_certificate() {
        let set = [COOKIE, ("PLUGIN_PROTOCOL_VERSIONS", "5,6"), ("PLUGIN_CLIENT_CERT", "pem")];
        assert_eq!(start(&[], &set), Ok(Start::Plugin { client_certificate: "pem".to_owned() }));
        assert_eq!(start(&["--debug"], &[]), Ok(Start::Debug));
    }

    #[test]
    fn everything_else_is_refused() {
        assert!(matches!(start(&[], &[]), Err(Refusal::ByHand { .. })));
        assert!(matches!(start(&[], &[(COOKIE.0, "other")]), Err(Refusal::ByHand { .. })));
        assert_eq!(start(&[], &[COOKIE]), Err(Refusal::Protocol { offered: "5".to_owned() }));
        let sixteen = [COOKIE, ("PLUGIN_PROTOCOL_VERSIONS", "16,60")];
        assert_eq!(start(&[], &sixteen), Err(Refusal::Protocol { offered: "16,60".to_owned() }));
        let without = [COOKIE, ("PLUGIN_PROTOCOL_VERSIONS", "6"), ("PLUGIN_CLIENT_CERT", "")];
        assert_eq!(start(&[], &without), Err(Refusal::NoCertificate));
    }

    #[test]
    fn the_handshake_is_one_line_without_padding() {
        assert_eq!(line(Path::new("/tmp/p/socket"), &[0xff; 4]), "1|6|unix|/tmp/p/socket|grpc|/////w\n");
    }

    #[test]
    fn attaching_is_explained() {
        insta::assert_snapshot!(reattach(NOTES.address, Path::new("/tmp/p/socket"), 4711));
    }
}
