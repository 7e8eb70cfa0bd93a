//! Who a range belongs to, inside a run and across repos.

use std::fmt;

/// A resource of the run: its type and the value of its `name` attribute. (The protocol does not tell a provider
/// the address of the resource that it plans.)
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
