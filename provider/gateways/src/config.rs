//! The configuration file of a gateway, validated before anything is created.

use tf_provider_rs::{Diagnostics, Path, Value};
use warren_wire::gateway::GatewayConfig;

/// Validates an attribute that contains the text of the file.
pub fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
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
