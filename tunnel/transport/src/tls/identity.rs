//! The gateway's certificate and key.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use super::Pin;
use super::trust::{pin_of, provider};

/// A certificate chain with its key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    pin: Pin,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file with a key that others may read.
    #[error("{}: others may read or change it (mode {mode:04o}), but it contains a private key", path.display())]
    Exposed {
        /// Which.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Not a certificate or not a key.
    #[error("{}: {what}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// No certificate could be made.
    #[error("cannot create a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The two do not go together.
    #[error("certificate and key do not match: {0}")]
    Tls(#[from] rustls::Error),
}

impl Identity {
    /// Reads a certificate chain and its key, in PEM; both may be in one file.
    ///
    /// # Errors
    /// When a file is missing, wrong, or has a key that others may read.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, IdentityError> {
        let chain = CertificateDer::pem_slice_iter(&bytes(certificate, false)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| content(certificate, format!("no certificate in PEM: {error}")))?;
        let first = chain.first().ok_or_else(|| content(certificate, "no certificate in PEM".into()))?;
        let pin = pin_of(first).ok_or_else(|| content(certificate, "not an X.509 certificate".into()))?;
        let key_der = PrivateKeyDer::from_pem_slice(&bytes(key, true)?)
            .map_err(|error| content(key, format!("no private key in PEM: {error}")))?;
        Ok(Self { chain, key: key_der, pin })
    }

    /// Reads the file, or makes a self-signed certificate and writes it with its key into the file, which its owner alone
    /// can read. Clients know it by its pin; name and dates mean nothing.
    ///
    /// # Errors
    /// As [`Identity::read`], or when the file cannot be written.
    pub fn load_or_make(path: &Path) -> Result<Self, IdentityError> {
        if !path.exists() {
            Self::make(path)?;
        }
        Self::read(path, path)
    }

    fn make(path: &Path) -> Result<(), IdentityError> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?;
        let pem = Zeroizing::new(format!("{}{}", certificate.pem(), &*Zeroizing::new(key.serialize_pem())));
        let file_error = |error| IdentityError::File { path: path.to_owned(), error };
        // Whole or not at all: a second gateway that starts at the same moment must not read half of it.
        let draft = path.with_extension(format!("new-{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| file.write_all(pem.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| match fs::hard_link(&draft, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                result => result,
            });
        let removed = fs::remove_file(&draft);
        written.and(removed).map_err(file_error)
    }

    /// What clients know it by.
    #[must_use]
    pub fn pin(&self) -> Pin {
        self.pin
    }

    /// TLS 1.3 only, `http/1.1` only, nothing to resume: a connection lives long.
    ///
    /// # Errors
    /// When certificate and key do not go together.
    pub fn server_config(self) -> Result<Arc<ServerConfig>, IdentityError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

/// Bits of the mode that a file with a secret must not have: others have no access, and its group may only read it. Groups are how
/// Kubernetes and systemd let a service that is not root read its secrets.
pub const EXPOSED: u32 = 0o027;

fn bytes(path: &Path, secret: bool) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
    let file_error = |error| IdentityError::File { path: path.to_owned(), error };
    if secret {
        let mode = fs::metadata(path).map_err(file_error)?.permissions().mode() & 0o7777;
        if mode & EXPOSED != 0 {
            return Err(IdentityError::Exposed { path: path.to_owned(), mode });
        }
    }
    fs::read(path).map(Zeroizing::new).map_err(file_error)
}

fn content(path: &Path, what: String) -> IdentityError {
    IdentityError::Content { path: path.to_owned(), what }
}
