//! The gateway's configuration file, checked before anything is made.

use tf_provider_rs::{Diagnostics, Path, Value};
use warren_wire::gateway::GatewayConfig;

/// A check of an attribute that holds the file's text.
pub fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Some(text) = value.as_str() else { return };
    if let Err(error) = GatewayConfig::parse(text) {
        diagnostics.error_at(
            path.clone(),
            "Not a gateway's configuration",
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
