//! Handshakes in memory: who holds the pinned certificate and its key, who shows another, and who shows it without the key.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use pinned_certificate::PinnedCertificate;
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P521_SHA512};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, ServerConfig,
    ServerConnection, SupportedProtocolVersion,
};

struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn identity() -> Identity {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512).unwrap();
    let certificate = CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap();
    Identity {
        certificate: certificate.der().clone(),
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    }
}

impl Identity {
    /// Shows the certificate and signs with the key, whether or not they belong together.
    fn signer(&self, provider: &CryptoProvider) -> Arc<SingleCertAndKey> {
        let key = provider.key_provider.load_private_key(self.key.clone_key()).unwrap();
        Arc::new(SingleCertAndKey::from(CertifiedKey::new(vec![self.certificate.clone()], key)))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { certificate: self.certificate.clone(), key: self.key.clone_key() }
    }
}

/// What a handshake ends with at the client and at the server.
fn handshake(
    version: &'static SupportedProtocolVersion,
    server: &Identity,
    client: &Identity,
    server_pin: &CertificateDer<'static>,
    client_pin: &CertificateDer<'static>,
) -> (Option<Error>, Option<Error>) {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = |pin: &CertificateDer<'static>, provider: &CryptoProvider| {
        Arc::new(PinnedCertificate::exact(provider, pin.clone()))
    };
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier(server_pin, &provider))
        .with_client_cert_resolver(client.signer(&provider));
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(verifier(client_pin, &provider))
        .with_cert_resolver(server.signer(&provider));
    let mut client =
        ClientConnection::new(Arc::new(client), "any.name".to_owned().try_into().unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    let (mut at_client, mut at_server) = (None, None);
    for _ in 0..8 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() && at_server.is_none() {
            server.read_tls(&mut rest).unwrap();
            at_server = server.process_new_packets().err();
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() && at_client.is_none() {
            client.read_tls(&mut rest).unwrap();
            at_client = client.process_new_packets().err();
        }
    }
    assert!(
        at_client.is_some() || at_server.is_some() || !client.is_handshaking() && !server.is_handshaking()
    );
    (at_client, at_server)
}

fn not_pinned() -> Error {
    CertificateError::ApplicationVerificationFailure.into()
}

#[test]
fn the_holders_of_the_pinned_certificates_connect_under_any_name() {
    let (server, client) = (identity(), identity());
    for version in [&TLS12, &TLS13] {
        let ends = handshake(version, &server, &client, &server.certificate, &client.certificate);
        assert_eq!(ends, (None, None), "{version:?}");
    }
}

#[test]
fn another_certificate_is_refused_by_either_end() {
    let (server, client, other) = (identity(), identity(), identity());
    for version in [&TLS12, &TLS13] {
        let (at_client, at_server) =
            handshake(version, &server, &client, &other.certificate, &client.certificate);
        assert_eq!(at_client, Some(not_pinned()), "{version:?}");
        assert_eq!(at_server, Some(Error::AlertReceived(AlertDescription::AccessDenied)), "{version:?}");
        let (_, at_server) = handshake(version, &server, &client, &server.certificate, &other.certificate);
        assert_eq!(at_server, Some(not_pinned()), "{version:?}");
    }
}

/// Certificates are public: a thief has the pinned one, and a key of its own.
#[test]
fn the_pinned_certificate_without_its_key_is_refused() {
    let (server, client) = (identity(), identity());
    let stolen = |victim: &Identity| Identity { key: identity().key, ..victim.clone() };
    for version in [&TLS12, &TLS13] {
        let (at_client, _) =
            handshake(version, &stolen(&server), &client, &server.certificate, &client.certificate);
        assert_eq!(at_client, Some(CertificateError::BadSignature.into()), "{version:?}");
        let (_, at_server) =
            handshake(version, &server, &stolen(&client), &server.certificate, &client.certificate);
        assert_eq!(at_server, Some(CertificateError::BadSignature.into()), "{version:?}");
    }
}
