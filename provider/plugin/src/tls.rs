//! Mutual TLS between Terraform and the plugin.
//!
//! Each side creates a self-signed certificate for one run and receives the other's: the plugin's in the handshake
//! line, Terraform's in `PLUGIN_CLIENT_CERT`. No other certificate is trusted. The client's certificate is marked as
//! a CA and has a P-521 key, which a chain-building verifier rejects, so it is compared byte for byte instead.

use std::sync::Arc;

use pinned_certificate::PinnedCertificate;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// The reason why TLS cannot be set up.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    /// `PLUGIN_CLIENT_CERT` is not a PEM certificate.
    #[error("PLUGIN_CLIENT_CERT contains no certificate: {0}")]
    ClientCertificate(rustls::pki_types::pem::Error),
    /// The plugin's certificate could not be created.
    #[error("cannot create a certificate: {0}")]
    OwnCertificate(#[from] rcgen::Error),
    /// The TLS configuration is inconsistent.
    #[error("cannot set up TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// The plugin's side of TLS.
pub(crate) struct ServerTls {
    /// Accepts connections of the pinned client only.
    pub(crate) acceptor: TlsAcceptor,
    /// The plugin's certificate, for the handshake line.
    pub(crate) certificate: CertificateDer<'static>,
}

/// Creates a certificate and an acceptor that only accepts the client with the certificate `client_pem`.
pub(crate) fn server(client_pem: &str) -> Result<ServerTls, TlsError> {
    let client =
        CertificateDer::from_pem_slice(client_pem.as_bytes()).map_err(TlsError::ClientCertificate)?;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = certificate_params()?.self_signed(&key)?.der().clone();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(PinnedCertificate::exact(&provider, client));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![certificate.clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    // One client, one run: there is nothing to resume.
    config.send_tls13_tickets = 0;
    Ok(ServerTls { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
}

/// The client adds the plugin's certificate to its root store and verifies the name `localhost`.
fn certificate_params() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyAgreement, KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}
