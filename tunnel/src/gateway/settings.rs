//! Settings of a gateway: its file, and the files that it names.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{Access, access};
use warren_transport::tls::{Identity, IdentityError};
use warren_wire::gateway::{Etcd as EtcdFile, GatewayConfig, StoreConfig};
use warren_wire::{Name, Pin, PrivateKey, PublicKey};

use super::access::failed_test;
use super::page::Credential;
use crate::runtime::host::secret;
use crate::runtime::log;
use crate::runtime::problem::{Context as _, Problem, Result};

/// Maximum size of the configuration file.
const MAX_FILE: u64 = 16 << 20;

/// The configuration file with the keys that it names.
pub(super) struct Settings {
    pub(super) path: PathBuf,
    pub(super) config: GatewayConfig,
    pub(super) key: PrivateKey,
    pub(super) identity: Identity,
}

impl Settings {
    /// Reads all files. A missing certificate is created if its key belongs in the same file.
    ///
    /// # Errors
    /// A file is missing or not valid, with its path.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let config = config(path)?;
        let key = private_key(&config.keys.private_key_file)?;
        let identity = identity(&config.keys.certificate_file, &config.keys.certificate_key_file)?;
        gateway_entry(&config, Some(key.public()), Some(identity.pin()))
            .map_err(|what| not_own(path, &what))?;
        Ok(Self { path: path.to_owned(), config, key, identity })
    }
}

/// Reads only the configuration file.
///
/// # Errors
/// The first mistake, with line and column.
pub fn config(path: &Path) -> Result<GatewayConfig> {
    let doing = || format!("configuration {}", path.display());
    let length = fs::metadata(path)
        .map_err(|error| {
            Problem::new(format!("{}: {error}", doing()))
                .hint("select another file with --config FILE; docs/gateway.md has an example")
        })?
        .len();
    if length > MAX_FILE {
        return Err(Problem::new(format!("{}: too long", doing())));
    }
    let text = fs::read_to_string(path).while_doing(doing)?;
    let config = GatewayConfig::parse(&text).map_err(|error| {
        Problem::new(format!("{}:{}:{}: {}", path.display(), error.line, error.column, error.what))
            .hint(error.hint)
    })?;
    if let Some((number, test, decision)) = failed_test(&config) {
        let decision = match decision {
            Ok(()) => "a rule allows it".to_owned(),
            Err(denial) => denial.to_string(),
        };
        let wanted = if test.allow { "allow" } else { "deny" };
        return Err(Problem::new(format!(
            "{}: [[tests]] {number}: the rules must {wanted} {test}, but {decision}",
            path.display()
        ))
        .hint(format!("correct the rules of group {}, or the test", test.from)));
    }
    Ok(config)
}

pub(super) fn private_key(path: &Path) -> Result<PrivateKey> {
    let text = secret::read(path, "private key").map_err(|problem| match problem.advice() {
        Some(_) if path.exists() => problem,
        _ => Problem::new(problem.what())
            .hint(format!("create one: `warren-tunnel genkey --out {}`", path.display())),
    })?;
    PrivateKey::from_base64(text.trim()).map_err(|error| {
        Problem::new(format!("private key {}: {error}", path.display()))
            .hint("the file must contain one line of base64, as `warren-tunnel genkey` prints it")
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
            IdentityError::Exposed { path, .. } => problem.hint(format!("run `chmod 600 {}`", path.display())),
            IdentityError::File { .. } => problem.hint(
                "certificate_file and certificate_key_file name PEM files; if both name the same file, the gateway creates it when it is missing",
            ),
            _ => problem.hint("the files must contain a certificate chain and a private key in PEM"),
        }
    })
}

/// Checks this gateway's entry in `[[gateways]]`, by which pods know it: with a wrong one, all pods leave with a warning. Only
/// the given values are checked.
///
/// # Errors
/// The difference between the entry and the files.
pub(crate) fn gateway_entry(
    config: &GatewayConfig,
    key: Option<PublicKey>,
    pin: Option<Pin>,
) -> std::result::Result<(), String> {
    let Some(own) = config.gateways.as_slice().iter().find(|gateway| gateway.name == config.name) else {
        return Ok(());
    };
    let wrong = |what: String| Err(format!("[[gateways]] {}: {what}", config.name));
    if let Some(key) = key.filter(|key| *key != own.key) {
        return wrong(format!("key is {}, but private_key_file contains the private key of {key}", own.key));
    }
    if let Some(site) = config.site.peers.iter().find(|site| site.key == own.key) {
        return Err(format!("[[site.peers]] {}: the key is this gateway's own", site.name));
    }
    if let Some(pin) = pin.filter(|pin| !own.pins.as_slice().contains(pin)) {
        return wrong(format!("no pin matches the certificate, whose pin is {pin}"));
    }
    Ok(())
}

/// Reads everything that a gateway reads at its start, without changing anything, and returns a summary.
///
/// # Errors
/// The first mistake in the files that would prevent the start.
pub fn check(path: &Path) -> Result<String> {
    let config = config(path)?;
    let key = private_key(&config.keys.private_key_file)?.public();
    let keys = &config.keys;
    let to_be_made = keys.certificate_file == keys.certificate_key_file && !keys.certificate_file.exists();
    let pin = if to_be_made {
        None
    } else {
        Some(identity(&keys.certificate_file, &keys.certificate_key_file)?.pin())
    };
    gateway_entry(&config, Some(key), pin).map_err(|what| not_own(path, &what))?;
    if to_be_made && config.gateways.as_slice().iter().any(|gateway| gateway.name == config.name) {
        let certificate = keys.certificate_file.display();
        let what = format!(
            "{certificate} is missing, and a new certificate would not match the pins of [[gateways]] {}",
            config.name
        );
        return Err(not_own(path, &what));
    }
    let store = match &config.store {
        StoreConfig::Embedded(embedded) => {
            writable(&embedded.path).while_doing(|| format!("lease store {}", embedded.path.display()))?;
            format!("in {}", embedded.path.display())
        }
        StoreConfig::Etcd(etcd) => {
            // The client of the cluster needs a runtime, though it opens no connection yet.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.while_doing(|| "runtime".into())?;
            let _within = runtime.enter();
            in_etcd(&config, etcd)?;
            format!("in etcd at {}", etcd.endpoints.join(", "))
        }
    };
    if let Some(file) = &config.audit.file {
        writable(file).while_doing(|| format!("audit log {}", file.display()))?;
    }
    // As with `--metrics`, the address may be another one in the end: the password is checked in any case.
    if let Some(file) = &config.page.password_file {
        Credential::read(file)?;
    }
    let groups: Vec<&str> = config.groups.keys().map(Name::as_str).collect();
    Ok(format!(
        "{}: gateway {} of fabric {}\n  public key: {key}\n  TLS certificate: {}\n  leases: {store}\n  groups: {}\n",
        path.display(),
        config.name,
        config.fabric,
        pin.map_or("created at the first start".to_owned(), |pin| format!("pin {pin}")),
        if groups.is_empty() { "none, so peers cannot reach anything".to_owned() } else { groups.join(", ") },
    ))
}

/// Whether a file can be written, or made with the folders above it. Nothing is made.
fn writable(file: &Path) -> io::Result<()> {
    let file = std::path::absolute(file)?;
    if file.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut parts = file.ancestors();
    let existing = parts.find(|part| part.exists()).ok_or(io::ErrorKind::NotFound)?;
    if existing != file && !existing.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let wanted = if existing == file { Access::WRITE_OK } else { Access::WRITE_OK | Access::EXEC_OK };
    Ok(access(existing, wanted)?)
}

fn not_own(path: &Path, what: &str) -> Problem {
    Problem::new(format!("{}: {what}", path.display()))
        .hint("`warren-tunnel gateway identity` prints the correct entry")
}

/// Opens the lease store.
///
/// # Errors
/// The file or the cluster's settings are not usable.
pub(super) fn store(config: &GatewayConfig) -> Result<std::sync::Arc<dyn warren_store::Store>> {
    match &config.store {
        StoreConfig::Embedded(embedded) => {
            let doing = || format!("lease store {}", embedded.path.display());
            if let Some(folder) = embedded.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                fs::create_dir_all(folder).while_doing(doing)?;
            }
            let opened = warren_store::Embedded::open(&embedded.path).map_err(|error| {
                Problem::new(format!("lease store: {error}")).hint(
                    "check that no other gateway uses this file; several gateways share leases through [store.etcd]",
                )
            })?;
            Ok(std::sync::Arc::new(opened))
        }
        StoreConfig::Etcd(etcd) => {
            let open: Vec<&str> =
                etcd.endpoints.iter().map(String::as_str).filter(|url| is_in_the_clear(url)).collect();
            if !open.is_empty() {
                log::warn(
                    &Problem::new(format!("the lease store is reached without TLS: {}", open.join(", "))).hint(
                        "an attacker on the path can evict pods and admit others: use https:// endpoints with [store.etcd] ca_file",
                    ),
                );
            }
            Ok(std::sync::Arc::new(in_etcd(config, etcd)?))
        }
    }
}

/// Whether an endpoint of etcd is on another host and without TLS.
fn is_in_the_clear(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host != "localhost" && !host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A client of the cluster; nothing is sent yet.
fn in_etcd(config: &GatewayConfig, etcd: &EtcdFile) -> Result<warren_store::Etcd> {
    warren_store::Etcd::new(&etcd_settings(config, etcd)?)
        .map_err(|error| Problem::new(format!("lease store: {error}")))
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
            return Err(Problem::new("an etcd endpoint uses https, but ca_file is not set")
                .hint("set ca_file to the PEM file of the CA that signed the members' certificates"));
        }
        None => None,
    };
    let prefix = etcd.prefix.clone().unwrap_or_else(|| format!("/warren/{}/", config.fabric));
    Ok(warren_store::EtcdSettings { endpoints: etcd.endpoints.clone(), prefix, tls })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::gateway::example;

    /// A folder with the example's file, in which the names of files are the folder's, and its private key.
    fn folder(edit: impl Fn(String) -> String) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = at("gateway.toml");
        let text = example::text(
            "[groups.training]\nallow = [{ to = [\"10.20.0.0/16\"] }]\n[store.embedded]\npath = \"leases\"",
        )
        .replace("\"k\"", &format!("{:?}", at("key")))
        .replace("\"c\"", &format!("{:?}", at("tls.pem")))
        .replace("\"leases\"", &format!("{:?}", at("leases")));
        fs::write(&file, edit(text)).unwrap();
        fs::write(at("key"), PrivateKey::from_random([2; 32]).to_base64().as_str()).unwrap();
        fs::set_permissions(at("key"), fs::Permissions::from_mode(0o600)).unwrap();
        (folder, file)
    }

    #[test]
    fn a_file_is_checked_without_making_anything() {
        let (folder, file) = folder(|text| text);
        let missing = check(&file).unwrap_err();
        assert!(missing.what().contains("tls.pem is missing"), "{missing:?}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing was made");

        let pin = identity(&folder.path().join("tls.pem"), &folder.path().join("tls.pem")).unwrap().pin();
        let other = check(&file).unwrap_err();
        assert!(other.what().contains(&pin.to_string()), "{other:?}");

        let text = fs::read_to_string(&file).unwrap();
        let text = text.replace("AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM", &pin.to_string());
        fs::write(&file, text).unwrap();
        let found = check(&file).unwrap();
        assert!(found.contains("gateway gw-a of fabric llm-training"), "{found}");
        assert!(found.contains("groups: training"), "{found}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "no store was made");

        let text = fs::read_to_string(&file).unwrap();
        let (rest, _) = text.split_once("[store.embedded]").unwrap();
        let in_etcd =
            |url: &str| fs::write(&file, format!("{rest}[store.etcd]\nendpoints = [{url:?}]")).unwrap();
        in_etcd("http://127.0.0.1:2379");
        assert!(check(&file).unwrap().contains("in etcd at http://127.0.0.1:2379"));
        in_etcd("https://127.0.0.1:2379");
        assert!(check(&file).unwrap_err().what().contains("ca_file is not set"));
    }

    #[test]
    fn places_that_cannot_be_written_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        assert!(writable(&folder.path().join("new/folder/leases")).is_ok());
        fs::write(&file, "").unwrap();
        assert!(writable(&file).is_ok());
        assert_eq!(writable(&file.join("leases")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert_eq!(writable(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(!folder.path().join("new").exists());
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let (_folder, file) = folder(|text| text.replace("10.100.0.0/24", "10.100.0.1/24"));
        let problem = check(&file).unwrap_err();
        assert!(problem.what().contains("gateway.toml:12:"), "{problem:?}");
    }

    #[test]
    fn etcd_without_tls_is_noticed_unless_it_is_on_this_host() {
        for url in
            ["http://10.0.0.9:2379", "http://etcd.example.com:2379", "http://[fd00::9]:2379", "http://etcd"]
        {
            assert!(is_in_the_clear(url), "{url}");
        }
        for url in
            ["https://10.0.0.9:2379", "http://127.0.0.1:2379", "http://localhost:2379", "http://[::1]:2379"]
        {
            assert!(!is_in_the_clear(url), "{url}");
        }
    }
}
