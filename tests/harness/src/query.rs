//! Parameters of a call as one flat map, the way the EC2 Query API writes them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Parameters by dotted name: `Filter.1.Value.2`, `CidrBlock`; JSON bodies are flattened the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Reads a form-encoded body or a URL's query.
    pub fn from_form(form: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(form).into_owned().collect())
    }

    /// Flattens a JSON document; list places count from 1.
    pub fn from_json(value: &Value) -> Self {
        let mut params = Self::default();
        params.flatten("", value);
        params
    }

    fn flatten(&mut self, prefix: &str, value: &Value) {
        let join = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        match value {
            Value::Object(members) => members.iter().for_each(|(key, value)| self.flatten(&join(key), value)),
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    self.flatten(&join(&(index + 1).to_string()), value);
                }
            }
            Value::String(text) => self.set(prefix, text),
            other => self.set(prefix, &other.to_string()),
        }
    }

    /// The form-encoded body.
    pub fn to_form(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// The value of one parameter; the empty text where it is absent.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Whether the parameter is there and holds something.
    pub fn has(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }

    /// Whether the parameter is there, also where it holds nothing.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets one parameter.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Removes one parameter and returns what it held.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// All parameters in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values of `prefix.1`, `prefix.2` and so on.
    pub fn list(&self, prefix: &str) -> Vec<&str> {
        (1..).map_while(|index| self.0.get(&format!("{prefix}.{index}"))).map(String::as_str).collect()
    }

    /// EC2 filters in their order: name and accepted values.
    pub fn filters(&self) -> Vec<(String, Vec<String>)> {
        (1..)
            .map_while(|index| {
                let name = self.0.get(&format!("Filter.{index}.Name"))?;
                let values = self.list(&format!("Filter.{index}.Value"));
                Some((name.clone(), values.into_iter().map(str::to_owned).collect()))
            })
            .collect()
    }

    /// Replaces all EC2 filters.
    pub fn set_filters(&mut self, filters: &[(String, Vec<String>)]) {
        self.0.retain(|name, _| !name.starts_with("Filter."));
        for (index, (name, values)) in filters.iter().enumerate() {
            self.set(&format!("Filter.{}.Name", index + 1), name);
            for (place, value) in values.iter().enumerate() {
                self.set(&format!("Filter.{}.Value.{}", index + 1, place + 1), value);
            }
        }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Params {
    fn from(pairs: [(&str, &str); N]) -> Self {
        pairs.as_slice().into()
    }
}

impl From<&[(&str, &str)]> for Params {
    fn from(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive_a_round_trip() {
        let params = Params::from_form(
            b"Action=X&Filter.1.Name=a&Filter.1.Value.1=b+c&Filter.2.Name=d&Filter.2.Value.1=e",
        );
        let filters = params.filters();
        assert_eq!(filters.len(), 2);
        assert_eq!(filters[0], ("a".to_owned(), vec!["b c".to_owned()]));
        let mut again = params.clone();
        again.set_filters(&filters);
        assert_eq!(again, params);
        again.set_filters(&filters[1..]);
        assert_eq!(again.get("Filter.1.Name"), "d");
    }

    #[test]
    fn json_is_flattened() {
        let params = Params::from_json(&serde_json::json!({"a": {"b": [1, "x"]}, "c": true}));
        assert_eq!(params.iter().collect::<Vec<_>>(), [("a.b.1", "1"), ("a.b.2", "x"), ("c", "true")]);
    }
}
