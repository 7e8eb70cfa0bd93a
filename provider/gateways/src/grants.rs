//! Objects for which the pods of a group get credentials: the tables that a gateway's file gets for them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tf_provider_rs::{Attr, Choice, Diagnostics, NotKnown, Object, Path, Value};
use warren_wire::Name;
use warren_wire::gateway::{self, AwsRole, Cloud, Objects, RoleArn, check_grants};

/// Grants of groups.
pub type Grants = Attr<Vec<Grant>>;

/// What the pods of a group may do with some objects.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct Grant {
    /// Name of a group in `content`, whose pods get the credentials.
    #[attr(required)]
    pub group: Attr<String>,
    /// Bucket and prefix, such as `s3://acme-datasets/llm/` or `gs://acme-datasets/llm/`. A prefix ends with a slash.
    #[attr(required, validate = check_objects)]
    pub objects: Attr<String>,
    /// Access to the objects: `read` lists and reads them, and `read-write` also writes and deletes them.
    #[attr(required)]
    pub access: Attr<Access>,
}

/// Access to objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Access {
    /// List and read.
    #[choice("read")]
    Read,
    /// The same, and write and delete.
    #[choice("read-write")]
    ReadWrite,
}

/// In place of a region that is not known yet.
const SOME_REGION: &str = "us-east-1";

/// The identity that a gateway narrows for its pods.
#[derive(Clone, Copy, Debug)]
pub enum Identity<'a> {
    /// A role of AWS, which the gateway assumes in a region. Either may not be known yet.
    Aws(&'a Attr<String>, Option<&'a str>),
    /// The service account of the gateway's VM.
    Google,
}

impl Identity<'_> {
    fn cloud(&self) -> Cloud {
        match self {
            Identity::Aws(..) => Cloud::Aws,
            Identity::Google => Cloud::Google,
        }
    }

    /// The role, with placeholders for what is not known yet.
    fn role(&self) -> Option<AwsRole> {
        let Identity::Aws(arn, region) = self else { return None };
        let arn = arn.as_deref().unwrap_or("arn:aws:iam::000000000000:role/unknown");
        Some(AwsRole {
            role_arn: arn.parse().ok()?,
            region: region.unwrap_or(SOME_REGION).parse().ok()?,
            duration: gateway::Period::from_secs(3600),
        })
    }
}

/// The tables for these grants, for the end of a file; empty without grants.
///
/// # Errors
/// A value is not known.
pub fn tables(grants: &Grants, identity: Identity<'_>) -> Result<String, NotKnown> {
    let grants = match grants {
        Attr::Null => &[][..],
        grants => grants.value()?,
    };
    if grants.is_empty() {
        return Ok(String::new());
    }
    let mut text = match identity {
        Identity::Aws(arn, region) => {
            let region = region.unwrap_or(SOME_REGION);
            format!("\n[credentials.aws]\nrole_arn = {:?}\nregion = {region:?}\n", arn.value()?)
        }
        Identity::Google => "\n[credentials.google]\n".to_owned(),
    };
    for grant in grants {
        let access = match grant.access.value()? {
            Access::Read => "read",
            Access::ReadWrite => "read-write",
        };
        let (group, objects) = (grant.group.value()?, grant.objects.value()?);
        _ = write!(text, "\n[[groups.{group:?}.grants]]\nobjects = {objects:?}\naccess = \"{access}\"\n");
    }
    Ok(text)
}

/// Validates the grants of all groups; `file` is the rest of the file if it is known.
pub fn check(
    grants: &Grants,
    identity: Identity<'_>,
    file: Option<&gateway::GatewayConfig>,
    diagnostics: &mut Diagnostics,
) {
    // The place of the first grant of each group, and all of them.
    let mut groups: BTreeMap<Name, (Path, Vec<gateway::Grant>)> = BTreeMap::new();
    for (index, grant) in grants.known().into_iter().flatten().enumerate() {
        let path = Path::of("grants").index(index);
        let Some(name) = grant.group.known() else { continue };
        let group = name.parse::<Name>().ok();
        let group = group.filter(|name| file.is_none_or(|file| file.groups.contains_key(name)));
        let Some(group) = group else {
            let detail =
                format!("The configuration has no group {name:?}. Use the name of a group in `content`.");
            diagnostics.error_at(path.attribute("group"), "Grant for an unknown group", detail);
            continue;
        };
        // What is wrong with it is reported by its validator.
        let objects = grant.objects.known().map(|text| text.parse::<Objects>());
        let (Some(Ok(objects)), Some(access)) = (objects, grant.access.known()) else { continue };
        if objects.cloud() != identity.cloud() {
            let detail = match identity.cloud() {
                Cloud::Aws => {
                    "A gateway in AWS has no identity in Google Cloud. Use `s3://BUCKET/PREFIX/`, or grant these objects at a gateway in Google Cloud."
                }
                Cloud::Google => {
                    "A gateway in Google Cloud has no identity in AWS. Use `gs://BUCKET/PREFIX/`, or grant these objects at a gateway in AWS."
                }
            };
            diagnostics.error_at(path.attribute("objects"), "Objects of another cloud", detail);
            continue;
        }
        let access = match access {
            Access::Read => gateway::Access::Read,
            Access::ReadWrite => gateway::Access::ReadWrite,
        };
        groups.entry(group).or_insert((path, Vec::new())).1.push(gateway::Grant { objects, access });
    }
    for (group, (path, grants)) in groups {
        if let Err(error) = check_grants(&group, &grants, identity.role().as_ref()) {
            let detail = format!("{}. Hint: {}.", capital(&error.what), error.hint);
            diagnostics.error_at(path, "Grants that the cloud would refuse", detail);
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn check_objects(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if let Err(error) = text.parse::<Objects>() {
        diagnostics.error_at(path.clone(), "Invalid objects", format!("{text:?}: {error}."));
    }
}

/// Validates the ARN of a role.
pub fn check_role(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if let Err(error) = text.parse::<RoleArn>() {
        diagnostics.error_at(path.clone(), "Invalid ARN of a role", format!("{text:?}: {error}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLE: &str = "arn:aws:iam::123456789012:role/warren-pods";

    fn granted(group: &str, objects: &[&str]) -> Grants {
        let grant = |objects: &&str| Grant {
            group: group.into(),
            objects: (*objects).into(),
            access: Access::Read.into(),
        };
        Attr::Known(objects.iter().map(grant).collect())
    }

    fn told(grants: &Grants, identity: Identity<'_>, file: &str) -> String {
        let mut diagnostics = Diagnostics::default();
        check(grants, identity, gateway::GatewayConfig::parse(file).ok().as_ref(), &mut diagnostics);
        let lines = diagnostics
            .0
            .iter()
            .map(|error| format!("{}: {}: {}", error.path.as_ref().unwrap(), error.summary, error.detail));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn mistakes_are_told_at_their_attributes() {
        let unknown = Attr::Unknown;
        let aws = Identity::Aws(&unknown, None);
        let many: Vec<String> = (0..11).map(|n| format!("gs://acme-data/{n}/")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let long: Vec<String> = (0..12).map(|n| format!("s3://acme-data/{}{n}/", "x".repeat(60))).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let all = [
            told(&granted("GPU!", &["s3://acme-data/"]), aws, ""),
            told(&granted("gpu", &["s3://acme-data/", "gs://acme-data/"]), aws, ""),
            told(&granted("gpu", &["s3://acme-data/"]), Identity::Google, ""),
            told(&granted("gpu", &["s3://acme-data/", "s3://acme-data/"]), aws, ""),
            told(&granted("gpu", &many), Identity::Google, ""),
            told(&granted("gpu", &long), aws, ""),
        ];
        insta::assert_snapshot!(all.join("\n"));
        assert_eq!(told(&granted("gpu", &long[..10]), aws, ""), "");
        assert_eq!(told(&Attr::Unknown, aws, ""), "");
        let open = Grant { group: "gpu".into(), objects: Attr::Unknown, access: Access::Read.into() };
        assert_eq!(told(&Attr::Known(vec![open]), aws, ""), "");
    }

    #[test]
    fn tables_are_at_the_end_of_a_file() {
        let role = Attr::from(ROLE);
        let aws = Identity::Aws(&role, Some("eu-west-1"));
        let text = tables(&granted("gpu", &["s3://acme-data/a b/"]), aws).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(tables(&granted("gpu", &[]), aws).unwrap(), "");
        assert_eq!(tables(&Attr::Null, Identity::Google).unwrap(), "");
        let text = tables(&granted("gpu", &["gs://acme-data/"]), Identity::Google).unwrap();
        assert!(text.starts_with("\n[credentials.google]\n\n[[groups.\"gpu\".grants]]\n"), "{text}");
    }
}
