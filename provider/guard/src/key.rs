//! Identity of the resource that a range belongs to, within a run and across repositories.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where an object is. The names of objects of one type are unique in a location.
///
/// A part is empty if it is not known, or if it does not apply, such as the region of a global object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// `aws` or `gcp`; empty for objects outside the clouds, such as address plans.
    pub cloud: Cow<'static, str>,
    /// The AWS account ID or the Google Cloud project ID.
    pub account: String,
    /// The region, such as `us-east-1`.
    pub region: String,
}

impl Location {
    /// A location in AWS.
    pub fn aws(account: impl Into<String>, region: impl Into<String>) -> Location {
        Location { cloud: "aws".into(), account: account.into(), region: region.into() }
    }

    /// A location in Google Cloud.
    pub fn gcp(project: impl Into<String>, region: impl Into<String>) -> Location {
        Location { cloud: "gcp".into(), account: project.into(), region: region.into() }
    }

    /// Whether nothing is known about it.
    pub fn is_empty(&self) -> bool {
        self.cloud.is_empty() && self.account.is_empty() && self.region.is_empty()
    }
}

impl fmt::Display for Location {
    /// `AWS account 123456789012, us-east-1`, or `Google Cloud project acme-ml, us-central1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cloud, noun) = match &*self.cloud {
            "aws" => ("AWS", "account"),
            "gcp" => ("Google Cloud", "project"),
            other => (other, "account"),
        };
        f.write_str(cloud)?;
        if !self.account.is_empty() {
            write!(f, " {noun} {}", self.account)?;
        }
        match (self.account.is_empty(), self.region.is_empty()) {
            (_, true) => Ok(()),
            (true, false) => write!(f, " {}", self.region),
            (false, false) => write!(f, ", {}", self.region),
        }
    }
}

/// A resource of the run, identified by its type, location and `name` attribute. The plugin protocol does not reveal
/// resource addresses to a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The full type name, such as `warren_aws_vpc`.
    pub kind: Cow<'static, str>,
    /// The `name` attribute.
    pub name: String,
    /// Where the object is.
    pub location: Location,
    /// The owner, if it is not that of this process: another process of the run may have another one.
    #[serde(skip)]
    pub(crate) owner: Option<String>,
}

impl Key {
    /// The key of an object whose location is not known, or which has none.
    pub fn new(kind: &'static str, name: impl Into<String>) -> Key {
        Key { kind: kind.into(), name: name.into(), location: Location::default(), owner: None }
    }

    /// Sets the location.
    #[must_use]
    pub fn at(mut self, location: Location) -> Key {
        self.location = location;
        self
    }
}

impl fmt::Display for Key {
    /// `warren_aws_vpc "hub"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}
