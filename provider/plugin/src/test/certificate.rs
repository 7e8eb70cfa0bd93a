//! Terraform's end of mutual TLS.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use pinned_certificate::PinnedCertificate;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P521_SHA512};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate as Terraform makes one for each plugin: self-signed, P-521, marked CA.
pub struct ClientCertificate {
    certificate: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

impl ClientCertificate {
    /// Makes one.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn generate() -> Result<ClientCertificate> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512)?;
        let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key)?;
        Ok(ClientCertificate { pem: certificate.pem(), certificate: certificate.der().clone(), key })
    }

    /// For `PLUGIN_CLIENT_CERT`.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }
}

/// TLS towards the server whose certificate is `server`.
pub(super) fn client(
    server: CertificateDer<'static>,
    own: Option<&ClientCertificate>,
) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(PinnedCertificate::exact(&provider, server));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => builder
            .with_client_auth_cert(
                vec![own.certificate.clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.key.serialize_der())),
            )
            .context("the client's certificate")?,
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}
