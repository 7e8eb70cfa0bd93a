//! Mutual TLS between Terraform and the plugin.
//!
//! Each side makes a self-signed certificate for one run and is told the other's: ours goes out in
//! the handshake line, Terraform's comes in by `PLUGIN_CLIENT_CERT`. Nothing else is trusted. The
//! client's certificate is marked CA and has a P-521 key, which a verifier that builds chains
//! refuses; so it is compared byte for byte instead.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// Why no TLS can be offered.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    /// `PLUGIN_CLIENT_CERT` is no certificate in PEM.
    #[error("PLUGIN_CLIENT_CERT holds no certificate: {0}")]
    ClientCertificate(rustls::pki_types::pem::Error),
    /// Our own certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    OwnCertificate(#[from] rcgen::Error),
    /// The parts do not fit together.
    #[error("cannot set up TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// The plugin's end of TLS.
pub(crate) struct ServerTls {
    /// Accepts connections of the one pinned client.
    pub(crate) acceptor: TlsAcceptor,
    /// Our certificate, for the handshake line.
    pub(crate) certificate: CertificateDer<'static>,
}

/// Makes a certificate and an acceptor that lets in only the client whose certificate is
/// `client_pem`.
pub(crate) fn server(client_pem: &str) -> Result<ServerTls, TlsError> {
    let client =
        CertificateDer::from_pem_slice(client_pem.as_bytes()).map_err(TlsError::ClientCertificate)?;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = certificate_params()?.self_signed(&key)?.der().clone();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(PinnedClient { certificate: client, provider: Arc::clone(&provider) });
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

/// The client puts our certificate into its root store and asks for `localhost`.
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

/// Lets in the holder of one certificate.
#[derive(Debug)]
struct PinnedClient {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for PinnedClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if end_entity.as_ref() == self.certificate.as_ref() {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
