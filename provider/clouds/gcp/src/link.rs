//! Names of objects: IDs such as `projects/P/global/networks/N`, and the URLs that the API returns.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use tf_provider_rs::model::NotAChoice;
use tf_provider_rs::{Attr, Diagnostics, Path, Value};
use warren_managed::sets::{self, Set};

use crate::error::{ApiError, Parsed as _};

/// Location and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) project: String,
    /// Region, location or zone, depending on the collection; `None` for a global object.
    pub(crate) region: Option<String>,
    /// Such as `networks`.
    pub(crate) collection: String,
    pub(crate) name: String,
}

impl Link {
    /// Parses an ID or a self link: everything before `projects/` is dropped.
    pub(crate) fn parse(text: &str) -> Option<Link> {
        let at = if text.starts_with("projects/") { 0 } else { text.find("/projects/")? + 1 };
        let parts: Vec<&str> = text[at..].split('/').collect();
        let (region, collection, name) = match parts[..] {
            ["projects", _, "global", collection, name] => (None, collection, name),
            ["projects", _, "regions", region, collection, name] => (Some(region), collection, name),
            ["projects", _, "locations", location, "repositories", name] => {
                (Some(location), "repositories", name)
            }
            ["projects", _, "zones", zone, collection, name] => (Some(zone), collection, name),
            ["projects", _, collection @ ("secrets" | "serviceAccounts" | "managedZones"), name] => {
                (None, collection, name)
            }
            _ => return None,
        };
        let whole = parts.iter().all(|part| !part.is_empty());
        whole.then(|| Link {
            project: parts[1].to_owned(),
            region: region.map(str::to_owned),
            collection: collection.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl Display for Link {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Link { project, region, collection, name } = self;
        let place = match (region, collection.as_str()) {
            (Some(location), "repositories") => format!("locations/{location}/"),
            (Some(zone), "instances" | "instanceGroupManagers" | "disks") => format!("zones/{zone}/"),
            (Some(region), _) => format!("regions/{region}/"),
            (None, "secrets" | "serviceAccounts" | "managedZones") => String::new(),
            (None, _) => "global/".to_owned(),
        };
        write!(f, "projects/{project}/{place}{collection}/{name}")
    }
}

/// Project and name of the global object `id`; a text that is not such an ID is an object that `call` cannot find.
pub(crate) fn global(call: &'static str, id: &str) -> Result<(String, String), ApiError> {
    match Link::parse(id) {
        Some(Link { project, region: None, name, .. }) => Ok((project, name)),
        _ => Err(ApiError::absent(call, id)),
    }
}

/// Project, region and name of the object `id`, which has a region, location or zone; as in [`global`] otherwise.
pub(crate) fn regional(call: &'static str, id: &str) -> Result<(String, String, String), ApiError> {
    match Link::parse(id) {
        Some(Link { project, region: Some(region), name, .. }) => Ok((project, region, name)),
        _ => Err(ApiError::absent(call, id)),
    }
}

/// The last part of a URL, which is the name of its object.
pub(crate) fn last(url: Option<&str>) -> Option<&str> {
    url?.rsplit('/').next()
}

/// Converts an ID or a self link to an ID; other texts stay as they are.
pub(crate) fn id(text: &str) -> String {
    Link::parse(text).map_or_else(|| text.to_owned(), |link| link.to_string())
}

/// Whether two IDs or self links refer to the same object.
pub(crate) fn same(a: &str, b: &str) -> bool {
    id(a) == id(b)
}

/// A reference to an object of one collection: its ID or self link, as it was written.
pub(crate) trait Reference: FromStr + Clone + Ord {
    /// The object.
    fn link(&self) -> &Link;
}

/// The reference that `call` returns as `url` in `member`: as it was written `before`, if that refers to the same object.
pub(crate) fn found<R: Reference>(
    call: &'static str,
    member: &str,
    url: Option<&str>,
    before: &Attr<R>,
) -> Result<Attr<R>, ApiError> {
    let found: R = url.map(id).as_deref().parsed(call, member)?;
    let same = before.known().filter(|before| before.link() == found.link());
    Ok(Attr::Known(same.cloned().unwrap_or(found)))
}

/// The references that `call` returns in `member`, as they were written `before`.
pub(crate) fn found_all<R: Reference>(
    call: &'static str,
    member: &str,
    urls: impl IntoIterator<Item = String>,
    before: &Set<R>,
) -> Result<Set<R>, ApiError> {
    let written = sets::known(before);
    let read = |url: String| {
        let found: R = Some(id(&url).as_str()).parsed(call, member)?;
        let same = written.iter().find(|written| written.link() == found.link()).cloned();
        Ok(same.unwrap_or(found))
    };
    let found = urls.into_iter().map(read).collect::<Result<BTreeSet<_>, ApiError>>()?;
    Ok(sets::found(found, before))
}

/// Declares types of references.
macro_rules! references {
    ($( $(#[$meta:meta])* $name:ident($collection:literal, $expected:literal); )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name {
            text: String,
            link: Link,
        }

        impl $name {
            /// The ID of the object.
            pub(crate) fn id(&self) -> String {
                self.link.to_string()
            }
        }

        impl Reference for $name {
            fn link(&self) -> &Link {
                &self.link
            }
        }

        impl FromStr for $name {
            type Err = NotAChoice;

            fn from_str(text: &str) -> Result<$name, NotAChoice> {
                match Link::parse(text) {
                    Some(link) if link.collection == $collection => Ok($name { text: text.to_owned(), link }),
                    _ => Err(NotAChoice($expected)),
                }
            }
        }

        impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.pad(&self.text)
            }
        }

        tf_provider_rs::text!($name, $expected);
    )+};
}

references! {
    /// A network.
    NetworkRef("networks", "the `id` or `self_link` of a network, such as `projects/acme/global/networks/hub`");
    /// A subnetwork.
    SubnetworkRef(
        "subnetworks",
        "the `id` or `self_link` of a subnetwork, such as `projects/acme/regions/us-central1/subnetworks/data`"
    );
    /// A regional address.
    AddressRef(
        "addresses",
        "the `id` or `self_link` of an address, such as `projects/acme/regions/us-central1/addresses/gw-a`"
    );
    /// A secret.
    SecretRef("secrets", "the `id` of a secret, such as `projects/acme/secrets/gw-a-wireguard`");
    /// A zone of Cloud DNS.
    ZoneRef("managedZones", "the `id` of a zone, such as `projects/acme/managedZones/googleapis`");
}

/// A check that the value is the ID or self link of an object of `collection`.
pub(crate) fn check(collection: &'static str) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let text = value.as_str().unwrap_or_default();
        if Link::parse(text).is_none_or(|link| link.collection != collection) {
            diagnostics.error_at(
                path.clone(),
                "Invalid ID",
                format!(
                    "{text:?} is not an ID in {collection}. Use the `id` or `self_link` of a resource of this \
                     provider or of hashicorp/google, in the form `{}`.",
                    example(collection)
                ),
            );
        }
    }
}

/// An example ID for hints.
fn example(collection: &str) -> String {
    let (region, name) = match collection {
        "subnetworks" => (Some("us-central1"), "data"),
        "secrets" => (None, "gw-a-wireguard"),
        _ => (None, "hub"),
    };
    let (project, region) = ("acme".to_owned(), region.map(str::to_owned));
    Link { project, region, collection: collection.to_owned(), name: name.to_owned() }.to_string()
}

/// A check of a name: RFC 1035, 1 to 63 characters.
pub(crate) fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    if !is_name(name) {
        diagnostics.error_at(
            path.clone(),
            "Invalid name",
            format!(
                "{name:?} is not a valid name. Use 1 to 63 lowercase letters, digits or hyphens, starting with a \
                 letter and not ending with a hyphen."
            ),
        );
    }
}

/// Validates the ID of a project. A project number is refused, because the IDs of objects contain the ID.
pub(crate) fn check_project(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let project = value.as_str().unwrap_or_default();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:".contains(&b);
    if project.is_empty() || is_number(project) || !project.bytes().all(plain) {
        diagnostics.error_at(
            path.clone(),
            "Invalid project",
            format!("{project:?} is not the ID of a project. Write an ID such as `acme-ml`, not a number or a path."),
        );
    }
}

/// Whether the text is a project number rather than a project ID.
pub(crate) fn is_number(project: &str) -> bool {
    project.bytes().all(|b| b.is_ascii_digit())
}

fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_urls_mean_the_same() {
        let id = "projects/acme-ml/regions/us-central1/subnetworks/data";
        for text in [
            id.to_owned(),
            format!("https://www.googleapis.com/compute/v1/{id}"),
            format!("https://compute.googleapis.com/compute/v1/{id}"),
        ] {
            let written: SubnetworkRef = text.parse().unwrap();
            assert_eq!((written.id().as_str(), written.to_string()), (id, text));
            let before = Attr::Known(written);
            assert_eq!(found("subnetworks.get", "network", Some(id), &before).as_ref(), Ok(&before));
        }
        let url = format!("https://x/{id}");
        let other = Attr::Known("projects/p/regions/r/subnetworks/a".parse::<SubnetworkRef>().unwrap());
        for before in [Attr::Null, other] {
            let found = found("subnetworks.get", "network", Some(&url), &before).unwrap();
            assert_eq!(found.into_known().map(|found| found.to_string()).as_deref(), Some(id));
        }
        found::<NetworkRef>("subnetworks.get", "network", Some(&url), &Attr::Null).unwrap_err();
        found::<NetworkRef>("subnetworks.get", "network", None, &Attr::Null).unwrap_err();
        for wrong in ["", "hub", "projects/p", "projects//global/networks/n", "projects/p/global/networks/"] {
            assert_eq!(Link::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_collection_has_its_own_place() {
        for id in [
            "projects/p/global/networks/hub",
            "projects/p/regions/us-central1/addresses/gw",
            "projects/p/zones/us-central1-a/instances/gw",
            "projects/p/zones/us-central1-a/instanceGroupManagers/gw",
            "projects/p/locations/us/repositories/images",
            "projects/p/secrets/gw-wireguard",
            "projects/p/managedZones/googleapis",
            "projects/p/serviceAccounts/gw@p.iam.gserviceaccount.com",
        ] {
            assert_eq!(Link::parse(id).map(|link| link.to_string()).as_deref(), Some(id));
        }
        assert_eq!(Link::parse("projects/p/networks/n"), None);
    }

    #[test]
    fn names() {
        for name in ["a", "hub-1", &"a".repeat(63)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "1a", "A", "a_b", "a.b", &"a".repeat(64)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
