//! Verification of the gateway's certificate.

use std::sync::Arc;

use parking_lot::Mutex;
use pinned_certificate::PinnedCertificate;
use ring::digest::{SHA256, digest};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, RootCertStore};
use warren_wire::{Pin, Pins};

/// The pin of a certificate; `None` if it is none.
#[must_use]
pub(super) fn pin_of(certificate: &CertificateDer<'_>) -> Option<Pin> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let hash = digest(&SHA256, parsed.subject_public_key_info().as_ref());
    hash.as_ref().try_into().ok().map(Pin::from_bytes)
}

/// The pin of the first certificate of a PEM text; `None` if there is none.
#[must_use]
pub fn pin_of_pem(text: &[u8]) -> Option<Pin> {
    pin_of(&CertificateDer::pem_slice_iter(text).next()?.ok()?)
}

/// How a gateway's certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The keys its certificate may have; names and dates do not count.
    Pins(Pins),
    /// A certificate for its name by an authority that this system trusts.
    System,
}

/// The pin of the certificate that was refused.
pub(super) type Refused = Arc<Mutex<Option<Pin>>>;

/// The algorithms: those of the library that the binary has anyway.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS 1.3 only.
pub(super) fn client_config(trust: &Trust, refused: Refused) -> Result<ClientConfig, rustls::Error> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut config = match trust {
        Trust::Pins(pins) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier(&provider, pins.clone(), refused)))
            .with_no_client_auth(),
        Trust::System => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    // What any web client of one version offers: a name of ours would only be there to be filtered.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Accepts certificates with a pinned key; `refused` receives the pin of any other.
fn verifier(provider: &CryptoProvider, pins: Pins, refused: Refused) -> PinnedCertificate {
    PinnedCertificate::matching(provider, move |certificate| {
        let found = pin_of(certificate);
        let is_pinned = found.is_some_and(|pin| pins.as_slice().contains(&pin));
        if !is_pinned {
            *refused.lock() = found;
        }
        is_pinned
    })
}
