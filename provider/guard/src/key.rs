//! Identity of the resource that a range belongs to, within a run and across repositories.

use std::fmt;

/// A resource of the run, identified by its type and `name` attribute. The plugin protocol does not reveal resource
/// addresses to a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The full type name, such as `warren_aws_vpc`.
    pub kind: &'static str,
    /// The `name` attribute.
    pub name: String,
}

impl Key {
    /// A key.
    pub fn new(kind: &'static str, name: impl Into<String>) -> Key {
        Key { kind, name: name.into() }
    }
}

impl fmt::Display for Key {
    /// `warren_aws_vpc "hub"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}
