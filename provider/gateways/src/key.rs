//! Keys that are generated in the provider process. The private key goes into a secret store and is
//! zeroised; the public key and the rotation label are stored in a note next to it.

use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair as Certified, PublicKeyData as _};
use sha2::{Digest as _, Sha256};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Object, Path, Value};
use warren_wire::PrivateKey;
use warren_wire::fetch::Content;
use warren_wire::token::SigningKey;
use zeroize::Zeroizing;

/// The label of a key without a rotation.
const UNNAMED: &str = "-";

/// A key type, with its own resource types.
pub trait Kind: Clone + Default + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The name of the key type in texts, with its article.
    const WHAT: &'static str;
    /// The description of its public key.
    const PUBLIC: &'static str;
    /// The content type of the secret for programs that fetch it.
    const HOLDS: Content;

    /// Generates a key pair from the randomness of the operating system.
    ///
    /// # Errors
    /// The certificate cannot be created.
    fn make() -> Result<KeyPair, MakeError>;
}

/// A new key pair.
pub struct KeyPair {
    /// The content of the secret store.
    pub secret: Zeroizing<String>,
    /// The public key, which is not secret.
    pub public: String,
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

/// A key that cannot be generated.
#[derive(Debug, thiserror::Error)]
#[error("cannot generate the key: {0}")]
pub struct MakeError(#[from] rcgen::Error);

impl From<MakeError> for Diagnostics {
    fn from(error: MakeError) -> Diagnostics {
        Diagnostic::error("Cannot generate a key", format!("{error}. Apply again.")).into()
    }
}

/// X25519, in base64 as `wg genkey` writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wireguard;

impl Kind for Wireguard {
    const WHAT: &'static str = "a WireGuard key pair";
    const PUBLIC: &'static str = "Public key in base64, as used in the configuration of peers";
    const HOLDS: Content = Content::WireguardKey;

    fn make() -> Result<KeyPair, MakeError> {
        let key = PrivateKey::from_random(rand::random());
        Ok(KeyPair { secret: key.to_base64(), public: key.public().to_string() })
    }
}

/// Ed25519, as PASERK texts: signs enrolment tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signing;

impl Kind for Signing {
    const WHAT: &'static str = "an Ed25519 key pair that signs enrolment tokens";
    const PUBLIC: &'static str = "Public key in PASERK format, `k4.public.…`, as used in `token_keys` of \
        the gateway configuration";
    const HOLDS: Content = Content::SigningKey;

    fn make() -> Result<KeyPair, MakeError> {
        let key = SigningKey::from_random(rand::random());
        Ok(KeyPair { secret: key.to_text(), public: key.verifying_key().to_string() })
    }
}

/// P-256 with a self-signed certificate, in one PEM text. Peers verify its pin, so the names and dates of
/// the certificate do not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tls;

impl Kind for Tls {
    const WHAT: &'static str = "a TLS key pair with a self-signed certificate";
    const PUBLIC: &'static str = "Pin of the certificate: the SHA-256 digest of its SubjectPublicKeyInfo \
        in base64url, as used in tokens and in `gateways` of the gateway configuration";
    const HOLDS: Content = Content::TlsKey;

    fn make() -> Result<KeyPair, MakeError> {
        let key = Certified::generate()?;
        let mut params = CertificateParams::new(vec!["warren-gateway".to_owned()])?;
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, "warren-gateway");
        params.distinguished_name = name;
        let certificate = params.self_signed(&key)?;
        let private = Zeroizing::new(key.serialize_pem());
        let chain = certificate.pem();
        // Allocated at once, because a growing string leaves copies behind.
        let mut secret = Zeroizing::new(String::with_capacity(private.len() + chain.len()));
        secret.push_str(&private);
        secret.push_str(&chain);
        let public = URL_SAFE_NO_PAD.encode(Sha256::digest(key.subject_public_key_info()));
        Ok(KeyPair { secret, public })
    }
}

/// The note next to a key in its store, readable without the permission to decrypt the key.
///
/// ```text
/// warren rotation=2026-11 public=zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The rotation label of the key; `None` without one.
    pub rotation: Option<String>,
    /// The public key.
    pub public: String,
}

impl Note {
    /// Parses a note; `None` if it has another format.
    pub fn parse(text: &str) -> Option<Note> {
        let (rotation, public) = text.strip_prefix("warren rotation=")?.split_once(" public=")?;
        let rotation = (rotation != UNNAMED).then(|| rotation.to_owned());
        Some(Note { rotation, public: public.to_owned() })
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rotation = self.rotation.as_deref().unwrap_or(UNNAMED);
        write!(f, "warren rotation={rotation} public={}", self.public)
    }
}

/// The attributes of a key of any type in any store. The placeholder `store` is what the store calls its objects.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct KeyAttributes<K: Kind> {
    /// Arbitrary label, such as a date, 1 to 64 characters from `a-z A-Z 0-9`, `.`, `_`, `:`, `+` and `-`. Changing
    /// this generates a new key in place; nothing is replaced.
    #[attr(optional, validate = check_rotation)]
    pub rotation: Attr<String>,
    /// Public key.
    #[attr(computed, keeps, description = format!("{}.", K::PUBLIC))]
    pub public_key: Attr<String>,
    /// Version of the {store} that contains the key.
    #[attr(computed, keeps)]
    pub version: Attr<i64>,
    /// `public_key` of the previous version. Null before the first rotation. Accept both keys until every client uses
    /// the new one.
    #[attr(computed, keeps)]
    pub previous_public_key: Attr<String>,
    /// Version of the previous key. Null before the first rotation.
    #[attr(computed, keeps)]
    pub previous_version: Attr<i64>,
    #[attr(skip)]
    kind: PhantomData<K>,
}

impl<K: Kind> KeyAttributes<K> {
    /// Plans the changes of a rotation, or of a key without a known public key.
    pub fn plan(&mut self, prior: &Self) {
        if self.rotation.is_unknown() {
            self.public_key = Attr::Unknown;
            self.version = Attr::Unknown;
            self.previous_public_key = Attr::Unknown;
            self.previous_version = Attr::Unknown;
        } else if self.rotation != prior.rotation || !prior.public_key.is_known() {
            self.public_key = Attr::Unknown;
            self.version = Attr::Unknown;
            self.previous_public_key = prior.public_key.clone();
            self.previous_version = prior.version;
        }
    }

    /// Whether the current version, as it was `found`, belongs to the planned rotation.
    pub fn is_stored(&self, found: &Self) -> bool {
        found.public_key.is_known() && found.rotation == self.rotation
    }

    /// Generates a key pair for the planned rotation, and its note.
    ///
    /// # Errors
    /// The certificate cannot be created.
    pub fn make(&self) -> Result<(Zeroizing<String>, Note), MakeError> {
        let KeyPair { secret, public } = K::make()?;
        Ok((secret, Note { rotation: self.rotation.known().cloned(), public }))
    }

    /// The state from the last two versions in the store with their notes, the current one first. A version that
    /// somebody else has added has no note and so no known public key; the next apply adds a new version.
    pub fn found(versions: impl IntoIterator<Item = (i64, Option<Note>)>) -> Self {
        let mut versions = versions.into_iter();
        let (version, note) = versions.next().unzip();
        let (previous_version, previous) = versions.next().unzip();
        let (public_key, rotation) = note.flatten().map(|note| (note.public, note.rotation)).unzip();
        KeyAttributes {
            rotation: rotation.flatten().into(),
            public_key: public_key.into(),
            version: version.into(),
            previous_public_key: previous.flatten().map(|note| note.public).into(),
            previous_version: previous_version.into(),
            kind: PhantomData,
        }
    }
}

/// Validates the attribute `rotation`.
fn check_rotation(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:+".contains(c) || c == '-';
    if !(1..=64).contains(&text.len()) || !text.chars().all(allowed) || text == UNNAMED {
        diagnostics.error_at(
            path.clone(),
            "Invalid rotation label",
            "The label is empty, too long, or contains unsupported characters. Use 1 to 64 characters \
             from `a-z A-Z 0-9`, `.`, `_`, `:`, `+` and `-`, such as a date. The label `-` is reserved.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh<K: Kind>() -> KeyPair {
        let (one, other) = (K::make().unwrap(), K::make().unwrap());
        assert_ne!(one.public, other.public);
        assert_eq!(K::HOLDS.refuses(&one.secret), None);
        assert!(!format!("{one:?}").contains(one.secret.as_str()));
        one
    }

    #[test]
    fn public_halves_belong_to_their_secrets() {
        let pair = fresh::<Wireguard>();
        assert_eq!(PrivateKey::from_base64(&pair.secret).unwrap().public().to_string(), pair.public);
        let pair = fresh::<Signing>();
        assert_eq!(SigningKey::parse(&pair.secret).unwrap().verifying_key().to_string(), pair.public);
        let pair = fresh::<Tls>();
        let key = Certified::from_pem(&pair.secret).unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(Sha256::digest(key.subject_public_key_info())),
            pair.public,
            "the pin is the key's"
        );
        assert!(pair.public.parse::<warren_wire::Pin>().is_ok());
    }

    #[test]
    fn notes_are_read_again() {
        for rotation in [None, Some("2026-11".to_owned())] {
            let note = Note { rotation, public: "abc=".to_owned() };
            assert_eq!(Note::parse(&note.to_string()), Some(note));
        }
        assert_eq!(Note::parse("by hand"), None);
    }
}
