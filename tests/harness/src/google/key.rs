//! Names of objects and the links that other objects write.

use std::fmt;

/// Where an object lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// In the project as a whole.
    Global,
    /// In a region; for Artifact Registry, in a location.
    Region(String),
    /// In a zone.
    Zone(String),
}

/// The full name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The collection as links write it: `networks`, `addresses`, `repositories`.
    pub collection: String,
    /// The project's id; of a service perimeter, the access policy's number.
    pub project: String,
    /// Where it lives.
    pub place: Place,
    /// Its name.
    pub name: String,
}

/// The collections of services that write `locations` in their names.
const LOCATED: [&str; 1] = ["repositories"];

/// The collections of services that write no place in their names.
const UNPLACED: [&str; 3] = [SECRETS, ACCOUNTS, ZONES];

/// Secret Manager's collection.
pub(crate) const SECRETS: &str = "secrets";

/// IAM's collection; names are the accounts' addresses.
pub(crate) const ACCOUNTS: &str = "serviceAccounts";

/// Cloud DNS's collection.
pub(crate) const ZONES: &str = "managedZones";

/// The collection whose objects live in an access policy; its number is in [`Key::project`].
pub(crate) const PERIMETERS: &str = "servicePerimeters";

/// Compute's prefix of every link.
pub(crate) const COMPUTE: &str = "https://www.googleapis.com/compute/v1/";

impl Key {
    pub(crate) fn new(collection: &str, project: &str, place: Place, name: &str) -> Self {
        Self { collection: collection.to_owned(), project: project.to_owned(), place, name: name.to_owned() }
    }

    /// Another object in the same project.
    pub(crate) fn beside(&self, collection: &str, place: Place, name: &str) -> Self {
        Self::new(collection, &self.project, place, name)
    }

    /// `projects/p/regions/r/subnetworks/s`.
    pub fn path(&self) -> String {
        let Self { collection, project, place, name } = self;
        match place {
            Place::Global if collection == PERIMETERS => {
                format!("accessPolicies/{project}/{collection}/{name}")
            }
            Place::Global if UNPLACED.contains(&collection.as_str()) => {
                format!("projects/{project}/{collection}/{name}")
            }
            Place::Global => format!("projects/{project}/global/{collection}/{name}"),
            Place::Region(location) if LOCATED.contains(&collection.as_str()) => {
                format!("projects/{project}/locations/{location}/{collection}/{name}")
            }
            Place::Region(region) => format!("projects/{project}/regions/{region}/{collection}/{name}"),
            Place::Zone(zone) => format!("projects/{project}/zones/{zone}/{collection}/{name}"),
        }
    }

    /// The link as Compute writes it.
    pub(crate) fn link(&self) -> String {
        format!("{COMPUTE}{}", self.path())
    }

    /// Reads a link: a whole URL, from `projects/` on, or from `global/`, `regions/` or `zones/` on in `project`.
    pub(crate) fn parse(link: &str, project: &str) -> Option<Self> {
        let path = match link.split_once("/compute/v1/") {
            Some((scheme, path)) if scheme.starts_with("https://") || scheme.starts_with("http://") => path,
            Some(_) => return None,
            None => link,
        };
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let (project, rest) = match parts.as_slice() {
            ["projects", project, rest @ ..] => (*project, rest),
            rest => (project, rest),
        };
        match rest {
            ["global", collection, name] => Some(Self::new(collection, project, Place::Global, name)),
            ["regions" | "locations", region, collection, name] => {
                Some(Self::new(collection, project, Place::Region((*region).to_owned()), name))
            }
            ["zones", zone, collection, name] => {
                Some(Self::new(collection, project, Place::Zone((*zone).to_owned()), name))
            }
            _ => None,
        }
    }

    /// The region, where it lives in one.
    pub(crate) fn region(&self) -> Option<&str> {
        match &self.place {
            Place::Region(region) => Some(region),
            Place::Global | Place::Zone(_) => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}
