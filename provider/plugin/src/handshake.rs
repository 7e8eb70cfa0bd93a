//! The handshake with Terraform: an environment on start, one line on standard output in return.
//!
//! Source: HashiCorp's go-plugin, core protocol version 1, with automatic mutual TLS.

use std::ffi::OsString;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::json;
use thiserror::Error;

/// Name and value of the variable that identifies a start by Terraform instead of a person.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The only supported protocol version.
const PROTOCOL: &str = "6";

/// How the process was started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// By Terraform, with its certificate (PEM).
    Plugin { client_certificate: String },
    /// By a developer, to attach Terraform to a running process.
    Debug,
}

/// The reason for not serving, printed to standard error with exit code 1.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The process was started by a person.
    #[error(
        "{name} {version}\n\n\
         This is a Terraform and OpenTofu provider ({address}). It is not meant to be run directly.\n\
         Terraform starts it automatically if a configuration requires it:\n\n\
         {indent}terraform {{\n\
         {indent}  required_providers {{\n\
         {indent}    {local} = {{ source = \"{source_address}\" }}\n\
         {indent}  }}\n\
         {indent}}}\n\n\
         To run it in a debugger, start it with --debug and follow the instructions that it prints.",
        indent = "    "
    )]
    ByHand {
        /// Of the executable.
        name: String,
        /// Of the provider.
        version: String,
        /// Such as `registry.terraform.io/acme/notes`.
        address: String,
        /// The address used in configurations.
        source_address: String,
        /// The last part of the address.
        local: String,
    },
    /// A client with another protocol version.
    #[error(
        "The client supports plugin protocol {offered}, but this provider requires {PROTOCOL}. Use Terraform 1.8 or \
         later, or OpenTofu 1.8 or later."
    )]
    Protocol {
        /// As in `PLUGIN_PROTOCOL_VERSIONS`.
        offered: String,
    },
    /// A client that did not authenticate itself.
    #[error(
        "The client sent no certificate (PLUGIN_CLIENT_CERT is not set). This provider requires mutual TLS. Use \
         Terraform or OpenTofu, which always use it."
    )]
    NoCertificate,
}

/// Address and version of the provider.
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

/// Determines the mode from arguments (without the program's name) and environment.
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

/// Where the plugin listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A Unix socket.
    #[cfg(unix)]
    Unix(PathBuf),
    /// A port on loopback.
    Tcp(SocketAddr),
}

impl Address {
    /// The name of the network, as Go calls it, and the address.
    pub(crate) fn parts(&self) -> (&'static str, String) {
        match self {
            #[cfg(unix)]
            Address::Unix(path) => ("unix", path.display().to_string()),
            Address::Tcp(address) => ("tcp", address.to_string()),
        }
    }
}

/// The handshake line, with the address and certificate of the plugin.
pub(crate) fn line(address: &Address, certificate: &[u8]) -> String {
    let (network, address) = address.parts();
    format!("1|{PROTOCOL}|{network}|{address}|grpc|{}\n", STANDARD_NO_PAD.encode(certificate))
}

/// The instructions to attach Terraform to this process. Such connections do not use TLS; the permissions of the
/// socket's directory exclude other users. On Windows, every user of the machine can connect.
pub(crate) fn reattach(provider: &str, address: &Address, pid: u32) -> String {
    let (network, address) = address.parts();
    let value = json!({ provider: {
        "Protocol": "grpc",
        "ProtocolVersion": 6,
        "Pid": pid,
        "Test": true,
        "Addr": { "Network": network, "String": address },
    }});
    format!(
        "Provider started. Press Ctrl-C to stop it. To attach Terraform, set:\n\n    \
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
        let unix = Address::Unix("/tmp/p/socket".into());
        assert_eq!(line(&unix, &[0xff; 4]), "1|6|unix|/tmp/p/socket|grpc|/////w\n");
        let tcp = Address::Tcp(([127, 0, 0, 1], 10_000).into());
        assert_eq!(line(&tcp, &[0xff; 4]), "1|6|tcp|127.0.0.1:10000|grpc|/////w\n");
    }

    #[test]
    fn attaching_is_explained() {
        insta::assert_snapshot!(reattach(NOTES.address, &Address::Unix("/tmp/p/socket".into()), 4711));
    }
}
