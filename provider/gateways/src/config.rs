//! The configuration file of a gateway, validated before anything is created.

use tf_provider_rs::{Attr, Diagnostics, NotKnown, Object, Path, Value};
use warren_wire::gateway::GatewayConfig;

use crate::grants::{self, Grants, Identity};

/// The attributes of a configuration file in any store. The placeholders are what the store calls its objects, and how
/// much fits into one.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct FileAttributes {
    /// Configuration file in TOML format, up to {limit}, as described in [Gateway](../gateway.md). It is validated at
    /// plan time. Updated in place.
    #[attr(required, validate = check)]
    pub content: Attr<String>,
    /// Objects for which the pods of a group get [short-lived credentials](../gateway.md#credentials-for-pods). They are
    /// appended to the file, and validated at plan time, even if `content` is not known yet. Updated in place.
    #[attr(optional)]
    pub grants: Grants,
    /// Version of the {store} that contains the file.
    #[attr(computed, keeps)]
    pub version: Attr<i64>,
}

impl FileAttributes {
    /// Plans the changes of another content.
    pub fn plan(&mut self, prior: &FileAttributes) {
        if self.content != prior.content || self.grants != prior.grants {
            self.version = Attr::Unknown;
        }
    }

    /// The whole text of the file.
    ///
    /// # Errors
    /// A value is not known.
    pub fn text(&self, identity: Identity<'_>) -> Result<String, NotKnown> {
        Ok(format!("{}{}", self.content.value()?, grants::tables(&self.grants, identity)?))
    }

    /// The attributes of a file with this text, for those that were `self` before. Another text is the content as a whole, so that
    /// the next apply writes the file.
    #[must_use]
    pub fn found(
        &self,
        text: Option<String>,
        version: Option<i64>,
        identity: Identity<'_>,
    ) -> FileAttributes {
        let version = version.into();
        match text {
            Some(text) if self.text(identity).is_ok_and(|ours| ours == text) => {
                FileAttributes { version, ..self.clone() }
            }
            text => FileAttributes { content: text.into(), grants: Attr::Null, version },
        }
    }

    /// Whether `found` holds what this plan wants.
    #[must_use]
    pub fn is(&self, found: &FileAttributes) -> bool {
        self.content == found.content && self.grants == found.grants
    }

    /// Validates what the validators of attributes do not see; unknown values are skipped.
    pub fn check(&self, identity: Identity<'_>, diagnostics: &mut Diagnostics) {
        let file = self.content.known().and_then(|text| GatewayConfig::parse(text).ok());
        grants::check(&self.grants, identity, file.as_ref(), diagnostics);
        let known = file.is_some() && !self.grants.is_unknown() && !diagnostics.has_error();
        let Some(text) = self.text(identity).ok().filter(|_| known) else { return };
        if let Err(error) = GatewayConfig::parse(&text) {
            let detail = format!(
                "With these grants, the configuration is no longer valid: {}. Hint: {}.",
                error.what, error.hint
            );
            diagnostics.error_at(Path::of("grants"), "Grants that the configuration contradicts", detail);
        }
    }
}

/// Validates the text of the file.
fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Some(text) = value.as_str() else { return };
    if let Err(error) = GatewayConfig::parse(text) {
        diagnostics.error_at(
            path.clone(),
            "Invalid gateway configuration",
            format!("Line {}, column {}: {}. Hint: {}.", error.line, error.column, error.what, error.hint),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::{Access, Grant};

    const FILE: &str = r#"
fabric = "llm-training"
name = "gw-a"
listen = { tls = "0.0.0.0:443" }
pool = { prefixes = ["10.100.0.0/16"] }
store = { embedded = { path = "/var/lib/warren/leases.redb" } }

[keys]
private_key_file = "/run/warren/gateway.key"
certificate_file = "/run/warren/gateway-tls.pem"
certificate_key_file = "/run/warren/gateway-tls.pem"
token_keys = ["k4.public.Hrnbu7wEfAP9cGBOAHHwmH4Wsot1ciXBHwBBXQ4gsaI"]

[[gateways]]
name = "gw-a"
key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
udp = "gw-a.example.com:51820"
tls = "gw-a.example.com:443"
pins = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]

[groups.gpu]
rate_mbit = 2000
"#;

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let mut diagnostics = Diagnostics::default();
        let text = "fabric = \"llm\"\nname = \"gw-a\"\nlisten = { tsl = \"0.0.0.0:443\" }\n";
        check(&Value::from(text), &Path::of("content"), &mut diagnostics);
        insta::assert_snapshot!(diagnostics.0[0].detail);
    }

    fn granted() -> FileAttributes {
        let objects = "gs://acme-data/llm/".into();
        let grant = Grant { group: "gpu".into(), objects, access: Access::Read.into() };
        FileAttributes { content: FILE.into(), grants: Attr::Known(vec![grant]), version: 1.into() }
    }

    #[test]
    fn a_file_without_its_grants_or_with_others_is_written_again() {
        let file = granted();
        let text = file.text(Identity::Google).unwrap();
        let found = |text: &str| file.found(Some(text.to_owned()), Some(2), Identity::Google);
        let same = found(&text);
        assert!(file.is(&same) && same.version == 2.into(), "{same:?}");
        for other in [FILE.to_owned(), text.replace("llm", "all"), text + "\n"] {
            let other = found(&other);
            assert!(!file.is(&other), "{other:?}");
            // The next read finds the same.
            let again = other.found(other.content.known().cloned(), Some(2), Identity::Google);
            assert_eq!(again, other);
        }
        assert!(!file.is(&file.found(None, None, Identity::Google)));
    }

    #[test]
    fn grants_that_the_file_contradicts_are_refused() {
        let told = |file: &FileAttributes| {
            let mut diagnostics = Diagnostics::default();
            file.check(Identity::Google, &mut diagnostics);
            let lines = diagnostics.0.iter();
            let lines = lines.map(|error| format!("{}: {}", error.path.as_ref().unwrap(), error.detail));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(told(&granted()), "");
        let with =
            |more: &str| FileAttributes { content: format!("{FILE}{more}").as_str().into(), ..granted() };
        let twice = told(&with("[credentials.google]\n"));
        let renamed =
            FileAttributes { content: FILE.replace("groups.gpu", "groups.cpu").as_str().into(), ..granted() };
        insta::assert_snapshot!(format!("{twice}\n{}", told(&renamed)));
    }
}
