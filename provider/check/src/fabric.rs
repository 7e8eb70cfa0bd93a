//! Fabrics: which networks must not overlap, as a team declares them.

use crate::Severity;
use warren_model::Network;
use warren_model::policy::matches;

/// Networks that a team declares to be one fabric. An object belongs to it if any of the lists matches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fabric {
    /// Its name. Address plans that name it belong to it.
    pub name: String,
    /// Names of inputs, as the user gave them; `*` matches any text.
    pub files: Vec<String>,
    /// Tags of networks: key and value, in which `*` matches any text.
    pub tags: Vec<(String, String)>,
    /// Addresses of networks, hubs and links; everything connected to one of them belongs to the fabric. `*` matches any text.
    pub connected_to: Vec<String>,
    /// Where it is declared, for messages.
    pub place: String,
}

impl Fabric {
    /// Whether an input belongs to it. `named` is the fabric that the input itself names.
    pub(crate) fn has_file(&self, file: &str, named: Option<&str>) -> bool {
        let file = file.strip_prefix("./").unwrap_or(file);
        let is = |pattern: &String| matches(pattern.strip_prefix("./").unwrap_or(pattern), file);
        self.files.iter().any(is) || named == Some(self.name.as_str())
    }

    /// Whether one of its tags is among those of a network.
    pub(crate) fn has_tag_of(&self, network: &Network) -> bool {
        let has = |(key, value): &(String, String)| {
            network.tags.get(key).is_some_and(|found| matches(value, found))
        };
        self.tags.iter().any(has)
    }
}

/// How severe overlaps of networks are. `None` ignores them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabrics {
    /// Declared fabrics. The first one that matches an object counts.
    pub declared: Vec<Fabric>,
    /// Of networks in one fabric: declared, connected, or reserved in address plans.
    pub connected: Option<Severity>,
    /// Of networks that nothing in the files connects.
    pub unconnected: Option<Severity>,
}

impl Default for Fabrics {
    fn default() -> Self {
        Self { declared: Vec::new(), connected: Some(Severity::Error), unconnected: Some(Severity::Warning) }
    }
}
