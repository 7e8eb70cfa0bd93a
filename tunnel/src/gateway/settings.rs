//! What a gateway is made from: its file, and the files that it names.

use std::fs;
use std::path::{Path, PathBuf};

use warren_transport::tls::{Identity, IdentityError};
use warren_wire::gateway::{Etcd as EtcdFile, GatewayConfig, StoreConfig};
use warren_wire::{Pin, PrivateKey, PublicKey};

use crate::problem::{Context as _, Problem, Result};
use crate::secret;

/// A file longer than this is none.
const MAX_FILE: u64 = 16 << 20;

/// Everything that was read.
pub(super) struct Settings {
    pub(super) path: PathBuf,
    pub(super) config: GatewayConfig,
    pub(super) key: PrivateKey,
    pub(super) identity: Identity,
}

impl Settings {
    /// Reads all files. A certificate that is not there is made, if its key is to be in the same file.
    ///
    /// # Errors
    /// What is missing or wrong, with its place.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let config = config(path)?;
        let key = private_key(&config.keys.private_key_file)?;
        let identity = identity(&config.keys.certificate_file, &config.keys.certificate_key_file)?;
        own_entry(&config, Some(key.public()), Some(identity.pin())).map_err(|what| {
            Problem::new(format!("{}: {what}", path.display()))
                .hint("`warren-tunnel gateway identity` prints the entry as it should be")
        })?;
        Ok(Self { path: path.to_owned(), config, key, identity })
    }
}

/// Reads the file alone.
///
/// # Errors
/// The first mistake, with line and column.
pub fn config(path: &Path) -> Result<GatewayConfig> {
    let told = || format!("configuration {}", path.display());
    let length = fs::metadata(path)
        .map_err(|error| {
            Problem::new(format!("{}: {error}", told()))
                .hint("--config FILE names another; docs/gateway.md has an example")
        })?
        .len();
    if length > MAX_FILE {
        return Err(Problem::new(format!("{}: too long", told())));
    }
    let text = fs::read_to_string(path).while_doing(told)?;
    GatewayConfig::parse(&text).map_err(|error| {
        Problem::new(format!("{}:{}:{}: {}", path.display(), error.line, error.column, error.what))
            .hint(error.hint)
    })
}

pub(super) fn private_key(path: &Path) -> Result<PrivateKey> {
    let text = secret::read(path, "private key").map_err(|problem| match problem.advice() {
        Some(_) if path.exists() => problem,
        _ => Problem::new(problem.what())
            .hint(format!("make one: warren-tunnel genkey --out {}", path.display())),
    })?;
    PrivateKey::from_base64(text.trim()).map_err(|error| {
        Problem::new(format!("private key {}: {error}", path.display()))
            .hint("one line of base64, as warren-tunnel genkey prints it")
    })
}

pub(super) fn identity(certificate: &Path, key: &Path) -> Result<Identity> {
    let identity = if certificate == key {
        Identity::load_or_make(certificate)
    } else {
        Identity::read(certificate, key)
    };
    identity.map_err(|error| {
        let problem = Problem::new(format!("TLS certificate: {error}"));
        match &error {
            IdentityError::Exposed { path, .. } => problem.hint(format!("chmod 600 {}", path.display())),
            IdentityError::File { .. } => problem.hint(
                "certificate_file and certificate_key_file are PEM; where both name one file it is made if it is missing",
            ),
            _ => problem.hint("PEM is wanted: a certificate chain, and a private key"),
        }
    })
}

/// Pods know this gateway by what the list says of it: if that is wrong they all go away with a warning. What is not
/// given is not looked at.
///
/// # Errors
/// What is wrong in the list.
pub(crate) fn own_entry(
    config: &GatewayConfig,
    key: Option<PublicKey>,
    pin: Option<Pin>,
) -> std::result::Result<(), String> {
    let Some(own) = config.gateways.as_slice().iter().find(|gateway| gateway.name == config.name) else {
        return Ok(());
    };
    let wrong = |what: String| Err(format!("[[gateways]] {}: {what}", config.name));
    if let Some(key) = key.filter(|key| *key != own.key) {
        return wrong(format!("key is {}, but private_key_file has that of {key}", own.key));
    }
    if let Some(site) = config.site.peers.iter().find(|site| site.key == own.key) {
        return Err(format!("[[site.peers]] {}: the key is this gateway's own", site.name));
    }
    if let Some(pin) = pin.filter(|pin| !own.pins.as_slice().contains(pin)) {
        return wrong(format!("no pin is the certificate's, which is {pin}"));
    }
    Ok(())
}

/// Opens where leases are kept.
///
/// # Errors
/// The file or the cluster's settings are of no use.
pub(super) fn store(config: &GatewayConfig) -> Result<std::sync::Arc<dyn warren_store::Store>> {
    match &config.store {
        StoreConfig::Embedded(embedded) => {
            let told = || format!("store of leases {}", embedded.path.display());
            if let Some(folder) = embedded.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                fs::create_dir_all(folder).while_doing(told)?;
            }
            let opened = warren_store::Embedded::open(&embedded.path).map_err(|error| {
                Problem::new(format!("store of leases: {error}")).hint(
                    "does another gateway run with this file? several gateways share leases by [store.etcd]",
                )
            })?;
            Ok(std::sync::Arc::new(opened))
        }
        StoreConfig::Etcd(etcd) => {
            let settings = etcd_settings(config, etcd)?;
            let store = warren_store::Etcd::new(&settings)
                .map_err(|error| Problem::new(format!("store of leases: {error}")))?;
            Ok(std::sync::Arc::new(store))
        }
    }
}

fn etcd_settings(config: &GatewayConfig, etcd: &EtcdFile) -> Result<warren_store::EtcdSettings> {
    let read =
        |path: &PathBuf| fs::read(path).while_doing(|| format!("etcd's certificate {}", path.display()));
    let identity = match (&etcd.certificate_file, &etcd.certificate_key_file) {
        (Some(certificate), Some(key)) => {
            Some((read(certificate)?, secret::read(key, "etcd's key")?.as_bytes().to_vec()))
        }
        _ => None,
    };
    let secure = etcd.endpoints.iter().any(|url| url.starts_with("https://"));
    let tls = match &etcd.ca_file {
        Some(ca) => Some(warren_store::Tls { ca: read(ca)?, identity }),
        None if secure => {
            return Err(Problem::new("etcd is reached by https, but ca_file is not set")
                .hint("ca_file is the PEM of who signed the members' certificates"));
        }
        None => None,
    };
    let prefix = etcd.prefix.clone().unwrap_or_else(|| format!("/warren/{}/", config.fabric));
    Ok(warren_store::EtcdSettings { endpoints: etcd.endpoints.clone(), prefix, tls })
}
