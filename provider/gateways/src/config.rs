//! The configuration file of a gateway, validated before anything is created.

use tf_provider_rs::{Attr, Diagnostics, Object, Path, Value};
use warren_wire::gateway::GatewayConfig;

/// The attributes of a configuration file in any store. The placeholders are what the store calls its objects, and how
/// much fits into one.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct FileAttributes {
    /// Configuration file in TOML format, up to {limit}, as described in [Gateway](../gateway.md). It is validated at
    /// plan time. Updated in place.
    #[attr(required, validate = check)]
    pub content: Attr<String>,
    /// Version of the {store} that contains the file.
    #[attr(computed, keeps)]
    pub version: Attr<i64>,
}

impl FileAttributes {
    /// Plans the changes of another content.
    pub fn plan(&mut self, prior: &FileAttributes) {
        if self.content != prior.content {
            self.version = Attr::Unknown;
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

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let mut diagnostics = Diagnostics::default();
        let text = "fabric = \"llm\"\nname = \"gw-a\"\nlisten = { tsl = \"0.0.0.0:443\" }\n";
        check(&Value::from(text), &Path::of("content"), &mut diagnostics);
        insta::assert_snapshot!(diagnostics.0[0].detail);
    }
}
