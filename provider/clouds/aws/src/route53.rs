//! What the resources of Route 53 share: changes that take time, names, and VPCs of a zone.

use std::sync::{Mutex, PoisonError};

use aws_config::retry::RetryConfig;
use aws_sdk_route53::types::{ChangeInfo, ChangeStatus, Vpc, VpcRegion};
use tf_provider_rs::{Attr, Diagnostics, Object, Path, Progress, Value};
use warren_managed::{Failure, Poll, adopt};

use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{VpcId, ZoneId};
use crate::session::{Aws, Work};

/// A VPC in a zone's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct ZoneVpc {
    /// ID of the VPC.
    #[attr(required)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// Region of the VPC. Defaults to the region of the provider.
    #[attr(optional)]
    pub(crate) region: Attr<String>,
}

/// A VPC with its region, as Route 53 identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) vpc_id: VpcId,
    pub(crate) region: String,
}

impl Place {
    /// For a call.
    pub(crate) fn to_sdk(&self) -> Vpc {
        Vpc::builder().vpc_id(&*self.vpc_id).vpc_region(VpcRegion::from(self.region.as_str())).build()
    }

    /// From a response.
    pub(crate) fn of(vpc: &Vpc, operation: &'static str) -> Result<Place, ApiError> {
        Ok(Place {
            vpc_id: vpc.vpc_id.clone().parsed(operation, "VPCId")?,
            region: vpc.vpc_region.as_ref().or_missing(operation, "VPCRegion")?.as_str().to_owned(),
        })
    }
}

impl ZoneVpc {
    /// The VPC with its region; `None` while a part is unknown.
    pub(crate) fn place(&self, aws: &Aws) -> Option<Place> {
        let region = match &self.region {
            Attr::Known(region) => region.clone(),
            Attr::Null => aws.region.clone(),
            Attr::Unknown => return None,
        };
        Some(Place { vpc_id: self.vpc_id.known()?.clone(), region })
    }
}

/// Settings for a create call: see [`crate::client::once`].
pub(crate) fn once() -> aws_sdk_route53::config::Builder {
    aws_sdk_route53::Config::builder().retry_config(RetryConfig::disabled())
}

/// The ID in a response, which has a prefix such as `/hostedzone/` that calls do not need.
pub(crate) fn bare(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The ID of a change that a call has begun.
pub(crate) fn change(info: Option<ChangeInfo>) -> Option<String> {
    info.filter(|info| info.status != ChangeStatus::Insync).map(|info| bare(&info.id).to_owned())
}

/// The ID of an object that was adopted, or that `create` has made, and the change of its creation. `create` returns
/// both.
pub(crate) async fn adopt_or_begin<O, F>(
    work: &Work<'_>,
    planned: &O,
    create: impl Fn() -> F,
) -> Result<(String, Option<String>), Diagnostics>
where
    O: warren_managed::Object<Cloud = Aws>,
    F: Future<Output = Result<(String, Option<String>), ApiError>>,
{
    let begun = Mutex::new(None);
    let make = || {
        let create = create();
        async {
            let (id, change) = create.await?;
            *begun.lock().unwrap_or_else(PoisonError::into_inner) = change;
            Ok(id)
        }
    };
    let id = adopt::ensure(work, planned, || planned.find(&work.cloud), make).await?;
    Ok((id, begun.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Records an object of [`adopt_or_begin`], and waits for the change of its creation.
pub(crate) async fn conclude<O: warren_managed::Object<Cloud = Aws>>(
    planned: &mut O,
    work: &Work<'_>,
    progress: &Progress,
    (id, change): (String, Option<String>),
) -> Result<(), Diagnostics> {
    planned.set_id(&id);
    progress.save(planned);
    in_sync(work, change).await
}

/// Waits until all name servers of Route 53 have a change.
///
/// Another account than that of the zone may not read the change; hashicorp/aws (`zone_association.go`) does not wait
/// there either.
pub(crate) async fn in_sync(work: &Work<'_>, change: Option<String>) -> Result<(), Diagnostics> {
    let Some(id) = change else { return Ok(()) };
    let route53 = work.cloud.route53();
    work.op
        .until("in sync", || async {
            match route53.get_change().id(&id).send().await.named("GetChange") {
                Ok(answer) => {
                    let info = answer.change_info.or_missing("GetChange", "ChangeInfo")?;
                    let done = info.status == ChangeStatus::Insync;
                    Ok(if done { Poll::Ready(()) } else { Poll::Pending(info.status.as_str().to_owned()) })
                }
                Err(error) if error.code == "AccessDenied" => Ok(Poll::Ready(())),
                Err(error) => Err(error),
            }
        })
        .await
}

/// The name as Route 53 stores it, but with `*` for `\052`: in lower case with a dot at the end.
///
/// Route 53 returns characters other than `a-z`, `0-9`, `-` and `_` in octal (Route 53 Developer Guide, "DNS domain
/// name format").
pub(crate) fn absolute(name: &str) -> String {
    let name = name.replace("\\052", "*").to_lowercase();
    if name.ends_with('.') { name } else { name + "." }
}

/// Whether two spellings name the same domain.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    absolute(left) == absolute(right)
}

/// The spelling of a name from the API for an attribute that was `before`: without the dot at the end, unless the
/// user's spelling names the same.
pub(crate) fn spelled(found: &str, before: &Attr<String>) -> Attr<String> {
    let before = before.known().filter(|before| same_name(before, found));
    let found = || absolute(found).trim_end_matches('.').to_owned();
    before.cloned().unwrap_or_else(found).into()
}

/// Whether a name is the domain of a zone or inside it.
pub(crate) fn covers(domain: &str, name: &str) -> bool {
    let (domain, name) = (absolute(domain), absolute(name));
    name.strip_suffix(&domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Rejects what is no domain name. Only the first label may be `*`.
pub(crate) fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let labels = name.trim_end_matches('.').split('.');
    let plain = |label: &str| {
        let fits = (1..=63).contains(&label.len());
        fits && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let fine = name.len() <= 255
        && !name.ends_with("..")
        && labels.enumerate().all(|(index, label)| plain(label) || (index == 0 && label == "*"));
    if !fine {
        diagnostics.error_at(
            path.clone(),
            "Invalid domain name",
            format!(
                "{name:?} is not a domain name. Use labels of 1 to 63 letters, digits, `-` and `_`, separated by dots, \
                 at most 255 characters in total."
            ),
        );
    }
}

/// As [`check_name`], without a wildcard.
pub(crate) fn check_domain(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str().is_some_and(|name| name.starts_with('*')) {
        diagnostics.error_at(
            path.clone(),
            "Wildcard as a domain",
            "A zone or rule covers its domain and everything below it. Remove `*.`.",
        );
    } else {
        check_name(value, path, diagnostics);
    }
}

/// The parts of an ID that are separated by `separator`, of which the last takes what remains.
pub(crate) fn parts<'a, const N: usize>(
    id: &'a str,
    separator: char,
    form: &str,
) -> Result<[&'a str; N], Diagnostics> {
    let parts: Vec<&str> = id.splitn(N, separator).collect();
    let parts: Option<[&str; N]> = parts.try_into().ok();
    parts.filter(|parts| parts.iter().all(|part| !part.is_empty())).ok_or_else(|| malformed(id, form))
}

/// The error for an import ID of another form.
pub(crate) fn malformed(id: &str, form: &str) -> Diagnostics {
    let detail = format!("{id:?} is not an ID of this resource type. Use the form `{form}`.");
    tf_provider_rs::Diagnostic::error("Invalid import ID", detail).into()
}

/// The zone in the ID of an import.
pub(crate) fn zone_id(text: &str, form: &str) -> Result<Attr<ZoneId>, Diagnostics> {
    bare(text).parse().map(Attr::Known).map_err(|_| malformed(text, form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_dot_and_escape() {
        assert!(same_name("*.dkr.ecr.us-east-1.amazonaws.com", "\\052.dkr.ecr.US-EAST-1.amazonaws.com."));
        assert!(!same_name("a.example.com", "b.example.com"));
        assert_eq!(spelled("Api.Example.com.", &Attr::Null), Attr::from("api.example.com"));
        assert_eq!(spelled("api.example.com.", &"API.example.com.".into()), Attr::from("API.example.com."));
        assert_eq!(spelled("api.example.com.", &"other.example.com".into()), Attr::from("api.example.com"));
    }

    #[test]
    fn a_zone_covers_its_domain_and_what_is_below() {
        assert!(covers("example.com", "example.com."));
        assert!(covers("example.com.", "*.a.example.com"));
        assert!(!covers("example.com", "notexample.com"));
        assert!(!covers("a.example.com", "example.com"));
    }

    #[test]
    fn only_domain_names_pass() {
        let told = |check: fn(&Value, &Path, &mut Diagnostics), name: &str| {
            let mut diagnostics = Diagnostics::default();
            check(&name.into(), &Path::of("name"), &mut diagnostics);
            !diagnostics.is_empty()
        };
        for fine in ["example.com", "example.com.", "_a._tcp.example.com", "*.example.com"] {
            assert!(!told(check_name, fine), "{fine}");
        }
        for wrong in ["", ".", "a..b", "a b", "a.*.b", "example.com..", &"a".repeat(64)] {
            assert!(told(check_name, wrong), "{wrong}");
        }
        assert!(told(check_domain, "*.example.com"));
    }
}
