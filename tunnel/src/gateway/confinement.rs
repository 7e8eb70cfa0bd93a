//! What a gateway needs of its machine once it runs: all else is given up.

use std::fs;
use std::path::Path;

use warren_wire::gateway::{GatewayConfig, Sandbox, StoreConfig};

use super::forward::Prepared;
use crate::runtime::host::{capabilities, folders};
use crate::runtime::problem::Result;
use crate::runtime::sandbox::{Capability, Demand, Files, Needs};

/// Variables with files that are exchanged for the gateway's own credentials of AWS, and read again each time.
const CREDENTIAL_TOKENS: [&str; 2] =
    ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];

/// The demand of the command line, else of the file.
pub(super) fn demand(asked: Option<Demand>, config: &GatewayConfig) -> Demand {
    asked.unwrap_or(match config.sandbox {
        Sandbox::Auto => Demand::Auto,
        Sandbox::Off => Demand::Off,
        Sandbox::Require => Demand::Require,
    })
}

/// The needs of a gateway with this file.
///
/// # Errors
/// There is no folder for run-time files.
pub(super) fn needs(path: &Path, config: &GatewayConfig, forward: &Prepared) -> Result<Needs> {
    let mut files = Files::default();
    files.folder(&folders::runtime_folder()?);
    files.read(path);
    let keys = &config.keys;
    [&keys.private_key_file, &keys.certificate_file, &keys.certificate_key_file]
        .into_iter()
        .chain(&config.page.password_file)
        .for_each(|file| files.read(file));
    match &config.store {
        StoreConfig::Embedded(embedded) => {
            // A right needs the folder. What keeps it from being made is reported when the store is opened.
            if let Some(folder) = embedded.path.parent() {
                _ = fs::create_dir_all(folder);
            }
            files.write(&embedded.path);
        }
        StoreConfig::Etcd(etcd) => [&etcd.ca_file, &etcd.certificate_file, &etcd.certificate_key_file]
            .into_iter()
            .flatten()
            .for_each(|file| files.read(file)),
    }
    if let Some(file) = &config.audit.file {
        files.write(file);
    }
    if config.credentials.aws.is_some() {
        CREDENTIAL_TOKENS
            .into_iter()
            .filter_map(std::env::var_os)
            .filter(|file| !file.is_empty())
            .for_each(|file| files.read(Path::new(&file)));
    }
    let mut needs = Needs::new(files);
    if let Some(nft) = forward.program() {
        needs.capabilities = vec![Capability::NetAdmin];
        needs.files.device(Path::new(capabilities::TUN_DEVICE));
        needs.files.in_place(Path::new("/proc/sys/net"));
        needs.files.programs(Some(nft));
        needs.programs = true;
    }
    Ok(needs)
}
