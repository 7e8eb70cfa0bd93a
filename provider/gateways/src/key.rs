//! Keys that are made in the provider's process: the secret half goes into a secret store and is zeroised, the public
//! half and the rotation that asked for it stand beside it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair as Certified, PublicKeyData as _};
use sha2::{Digest as _, Sha256};
use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Value};
use warren_wire::PrivateKey;
use warren_wire::fetch::Content;
use warren_wire::token::SigningKey;
use zeroize::Zeroizing;

/// What a rotation that is not named is called beside the key.
const UNNAMED: &str = "-";

/// A kind of key, as resources are made for each.
pub trait Kind: Clone + Default + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// How texts call it, with its article.
    const WHAT: &'static str;
    /// What its public half is.
    const PUBLIC: &'static str;
    /// What the secret half is, for those who fetch it.
    const HOLDS: Content;

    /// Makes a pair of the operating system's randomness.
    ///
    /// # Errors
    /// The certificate cannot be made.
    fn make() -> Result<KeyPair, MakeError>;
}

/// A fresh key.
pub struct KeyPair {
    /// What the secret store holds.
    pub secret: Zeroizing<String>,
    /// The public half: no secret.
    pub public: String,
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

/// A key that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the key cannot be made: {0}")]
pub struct MakeError(#[from] rcgen::Error);

impl From<MakeError> for Diagnostics {
    fn from(error: MakeError) -> Diagnostics {
        Diagnostic::error("No key", format!("{error}. Apply again.")).into()
    }
}

/// X25519, in base64 as `wg genkey` writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wireguard;

impl Kind for Wireguard {
    const WHAT: &'static str = "a WireGuard key";
    const PUBLIC: &'static str = "Public key in base64, as peers name it";
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
    const WHAT: &'static str = "a key that signs enrolment tokens";
    const PUBLIC: &'static str = "Public key, `k4.public.…`, as `token_keys` of the gateway's file names it";
    const HOLDS: Content = Content::SigningKey;

    fn make() -> Result<KeyPair, MakeError> {
        let key = SigningKey::from_random(rand::random());
        Ok(KeyPair { secret: key.to_text(), public: key.verifying_key().to_string() })
    }
}

/// P-256 with a certificate of its own signature, in one PEM text. Peers know it by its pin, so names and dates of
/// the certificate do not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tls;

impl Kind for Tls {
    const WHAT: &'static str = "a TLS key with its certificate";
    const PUBLIC: &'static str = "Pin of the certificate: SHA-256 of its SubjectPublicKeyInfo in base64url, as tokens and `gateways` of the \
         gateway's file name it";
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
        // Room for all of it at once: a growing string leaves copies behind.
        let mut secret = Zeroizing::new(String::with_capacity(private.len() + chain.len()));
        secret.push_str(&private);
        secret.push_str(&chain);
        let public = URL_SAFE_NO_PAD.encode(Sha256::digest(key.subject_public_key_info()));
        Ok(KeyPair { secret, public })
    }
}

/// What stands beside a key in its store, readable without the right to decrypt it.
///
/// ```text
/// warren rotation=2026-11 public=zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The rotation that asked for the key; `None` where none was named.
    pub rotation: Option<String>,
    /// The public half.
    pub public: String,
}

impl Note {
    /// The note of a text; `None` where somebody else has written it.
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

/// The secret half of a signing key, out of the text that `place` holds, such as `parameter /warren/tokens`. `named` is the
/// attribute that names the place, `resource` the type that puts such keys there.
///
/// # Errors
/// The text is something else.
pub fn signing_secret(
    text: &str,
    place: &str,
    named: &str,
    resource: &str,
) -> Result<Attr<Secret>, Diagnostics> {
    match Signing::HOLDS.refuses(text) {
        None => Ok(Attr::Known(Secret(text.trim_end().to_owned()))),
        Some(why) => Err(Diagnostic::error(
            "Not a signing key",
            format!("The {place} cannot sign tokens: {why}. Name a `{resource}`."),
        )
        .at(Path::of(named))
        .into()),
    }
}

/// The attributes `rotation`, `public_key`, `version` and those of the version before, of a key that is kept in a `store`,
/// such as `parameter`.
pub fn attributes<K: Kind>(store: &str) -> [Attribute; 5] {
    [
        Attribute::string("rotation")
            .optional()
            .validate(check_rotation)
            .describe("Any word, such as a date. A change makes a new key in place; nothing is replaced."),
        Attribute::string("public_key").computed().keeps().describe(&format!("{}.", K::PUBLIC)),
        Attribute::number("version")
            .computed()
            .keeps()
            .describe(&format!("Version of the {store} that holds the key.")),
        Attribute::string("previous_public_key").computed().keeps().describe(
            "`public_key` of the version before; null before the first rotation. Accept both until everybody has \
             the new one.",
        ),
        Attribute::number("previous_version")
            .computed()
            .keeps()
            .describe("The version before; null before the first rotation."),
    ]
}

/// Makes the model of a key of any kind out of its fields: those of [`attributes`], and what else its store has.
#[macro_export]
macro_rules! key_model {
    ($key:ident of $fields:ident) => {
        /// A key of the kind `K`.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct $key<K> {
            fields: $fields,
            kind: ::std::marker::PhantomData<K>,
        }

        impl<K> ::std::ops::Deref for $key<K> {
            type Target = $fields;

            fn deref(&self) -> &$fields {
                &self.fields
            }
        }

        impl<K> ::std::ops::DerefMut for $key<K> {
            fn deref_mut(&mut self) -> &mut $fields {
                &mut self.fields
            }
        }

        impl<K> ::tf_provider_rs::model::FromValue for $key<K> {
            fn from_value(
                value: &::tf_provider_rs::Value,
                path: &::tf_provider_rs::Path,
            ) -> Result<Self, ::tf_provider_rs::model::ShapeError> {
                let fields = ::tf_provider_rs::model::FromValue::from_value(value, path)?;
                Ok($key { fields, kind: ::std::marker::PhantomData })
            }
        }

        impl<K> ::tf_provider_rs::model::ToValue for $key<K> {
            fn to_value(&self) -> ::tf_provider_rs::Value {
                self.fields.to_value()
            }
        }

        impl<K> $key<K> {
            /// Plans what a rotation changes, and a key that has no public half that is known.
            pub(super) fn plan_rotation(&mut self, prior: &Self) {
                use ::tf_provider_rs::Attr;
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

            /// Takes over the last two versions as the store has them, the present one first. One that somebody else
            /// has put has no note, so no public half that is known; the next apply puts one of ours on top.
            fn take_versions(
                &mut self,
                mut versions: impl Iterator<Item = (i64, Option<$crate::key::Note>)>,
            ) {
                let (number, note) = versions.next().unzip();
                let (before, noted) = versions.next().unzip();
                let note = note.flatten();
                self.version = number.into();
                self.public_key = note.as_ref().map(|note| note.public.clone()).into();
                self.rotation = note.and_then(|note| note.rotation).into();
                self.previous_version = before.into();
                self.previous_public_key = noted.flatten().map(|note| note.public).into();
            }
        }
    };
}

/// A check of the attribute `rotation`.
fn check_rotation(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:+".contains(c) || c == '-';
    if !(1..=64).contains(&text.len()) || !text.chars().all(allowed) || text == UNNAMED {
        diagnostics.error_at(
            path.clone(),
            "Rotation not possible",
            "It is a word of 1 to 64 characters of `a-z A-Z 0-9`, `.`, `_`, `:`, `+` and `-`, such as a date.",
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
