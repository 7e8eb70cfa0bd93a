//! The password of the page.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{self, HMAC_SHA256, Key, Tag};
use zeroize::Zeroizing;

use crate::runtime::host::secret;
use crate::runtime::problem::{Problem, Result};
use crate::runtime::random;

/// A shorter one could be guessed over the network.
const LENGTH_MIN: usize = 16;

/// A password, of which only a MAC with a random key is kept.
pub struct Credential {
    key: Key,
    tag: Tag,
}

impl Credential {
    /// Reads the password from a file that others cannot read.
    ///
    /// # Errors
    /// The file is missing or exposed, or the password is too short.
    pub fn read(path: &Path) -> Result<Self> {
        let text = secret::read(path, "password of the page")?;
        let password = text.trim();
        if password.len() < LENGTH_MIN {
            return Err(Problem::new(format!(
                "password of the page {}: it has fewer than {LENGTH_MIN} characters",
                path.display()
            ))
            .hint(format!("create one: `openssl rand -base64 24 > {}`", path.display())));
        }
        Self::new(password)
    }

    /// A credential of a password.
    ///
    /// # Errors
    /// The kernel provides no random bytes.
    pub fn new(password: &str) -> Result<Self> {
        let key = Key::new(HMAC_SHA256, &*random()?);
        let tag = hmac::sign(&key, password.as_bytes());
        Ok(Self { key, tag })
    }

    /// Whether a value of `Authorization` has the password, for any username. The time does not depend on where they differ.
    #[must_use]
    pub fn admits(&self, authorization: &str) -> bool {
        let Some((scheme, encoded)) = authorization.split_once(' ') else { return false };
        let Ok(decoded) = STANDARD.decode(encoded.trim()).map(Zeroizing::new) else { return false };
        let Some(colon) = decoded.iter().position(|byte| *byte == b':') else { return false };
        let password = decoded.get(colon + 1..).unwrap_or_default();
        scheme.eq_ignore_ascii_case("basic") && hmac::verify(&self.key, password, self.tag.as_ref()).is_ok()
    }
}
