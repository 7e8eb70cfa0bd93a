//! A certificate verifier for rustls that accepts pinned certificates and no others.
//!
//! [`PinnedCertificate`] serves both ends of a connection: it verifies servers for a client, and clients for a server. Names,
//! dates and issuers are not checked, because a pin identifies the peer more precisely than any of them. The signature of the
//! handshake is checked: the peer must hold the private key of the certificate that it shows.

use std::fmt;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Accepts the peer's own certificate if it is pinned, and refuses every other.
///
/// A refused handshake fails with [`CertificateError::ApplicationVerificationFailure`].
pub struct PinnedCertificate {
    is_pinned: Box<dyn Fn(&CertificateDer<'_>) -> bool + Send + Sync>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl PinnedCertificate {
    /// Accepts one certificate, compared byte for byte.
    #[must_use]
    pub fn exact(provider: &CryptoProvider, certificate: CertificateDer<'static>) -> Self {
        Self::matching(provider, move |shown| *shown == certificate)
    }

    /// Accepts the certificates for which `is_pinned` returns true, such as those with a known public key.
    #[must_use]
    pub fn matching(
        provider: &CryptoProvider,
        is_pinned: impl Fn(&CertificateDer<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { is_pinned: Box::new(is_pinned), algorithms: provider.signature_verification_algorithms }
    }

    fn verify(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if (self.is_pinned)(shown) {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }
}

impl fmt::Debug for PinnedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedCertificate").finish_non_exhaustive()
    }
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for PinnedCertificate {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // A client with one certificate needs no hint.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
