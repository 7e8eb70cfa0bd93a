//! The certificate authority that clients in the lab trust.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority of this run. Its key exists only in memory.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    /// There is no randomness, or its certificate cannot be written.
    pub fn new() -> Result<Authority> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "Lab");
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        let folder = tempfile::Builder::new().prefix("warren-lab-ca-").tempdir()?;
        let file = folder.path().join("ca.crt");
        std::fs::write(&file, certificate.pem())?;
        // Clients in the lab are other users.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), readable)?;
        Ok(Authority { issuer: Issuer::new(params, key), folder })
    }

    /// Its certificate in PEM, for clients. It is the only file of its folder, and every user may read it.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// A server with a certificate for these names.
    pub(super) fn server(&self, names: Vec<String>) -> Result<Arc<ServerConfig>> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &self.issuer)?;
        let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
