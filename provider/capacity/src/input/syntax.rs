//! The syntax in which a user writes the input: the examples in hints can be copied.

use super::Value;

/// A syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// YAML.
    #[default]
    Yaml,
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// Terraform's language.
    Terraform,
}

impl Syntax {
    /// A key with its value, in backticks.
    pub(super) fn entry(self, key: &str, value: &Value) -> String {
        format!("`{}`", self.bare(key, value))
    }

    fn bare(self, key: &str, value: &Value) -> String {
        let value = self.value(value);
        match self {
            Self::Yaml => format!("{key}: {value}"),
            Self::Json => format!("{key:?}: {value}"),
            Self::Toml | Self::Terraform => format!("{key} = {value}"),
        }
    }

    fn value(self, value: &Value) -> String {
        match value {
            Value::Null | Value::List => String::new(),
            Value::Bool(value) => value.to_string(),
            Value::Number(text) => text.clone(),
            Value::Text(text) if self == Self::Yaml => text.clone(),
            Value::Text(text) => format!("{text:?}"),
            Value::Map(entries) => {
                let inside: Vec<String> = entries.iter().map(|(key, value)| self.bare(key, value)).collect();
                let inside = inside.join(", ");
                match self {
                    Self::Yaml | Self::Json => format!("{{{inside}}}"),
                    Self::Toml | Self::Terraform => format!("{{ {inside} }}"),
                }
            }
        }
    }
}

/// A text of an example.
pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A number of an example.
pub(super) fn number(number: u32) -> Value {
    Value::Number(number.to_string())
}

/// A map of an example.
pub(super) fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_the_syntax_of_the_input() {
        let value = map([(
            "tokens",
            map([("size", text("2 TB")), ("copies", number(2)), ("own", Value::Bool(true))]),
        )]);
        let all = [Syntax::Yaml, Syntax::Json, Syntax::Toml, Syntax::Terraform];
        assert_eq!(
            all.map(|syntax| syntax.entry("datasets", &value)),
            [
                "`datasets: {tokens: {size: 2 TB, copies: 2, own: true}}`",
                "`\"datasets\": {\"tokens\": {\"size\": \"2 TB\", \"copies\": 2, \"own\": true}}`",
                "`datasets = { tokens = { size = \"2 TB\", copies = 2, own = true } }`",
                "`datasets = { tokens = { size = \"2 TB\", copies = 2, own = true } }`",
            ]
        );
    }
}
