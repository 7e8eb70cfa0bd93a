//! The region of a resource.

use std::fmt;
use std::str::FromStr;

use tf_provider_rs::model::NotAChoice;
use tf_provider_rs::{Diagnostic, Diagnostics, Path, Value, text};

use crate::account::Aws;

/// The attribute of resources and of their identity.
pub(crate) const ATTRIBUTE: &str = "region";

/// The name of a region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegionName(String);

const NAME: &str = "the name of an AWS region, such as `eu-west-1`";

impl fmt::Display for RegionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for RegionName {
    type Err = NotAChoice;

    fn from_str(text: &str) -> Result<RegionName, NotAChoice> {
        if is_region(text) { Ok(RegionName(text.to_owned())) } else { Err(NotAChoice(NAME)) }
    }
}

text!(RegionName, NAME);

/// Validates the form of a region, such as `us-east-1` or `us-gov-west-1`.
pub(crate) fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if !is_region(text) {
        diagnostics.error_at(
            path.clone(),
            "Invalid region",
            format!("{text:?} is not the name of an AWS region. Write a name such as `eu-west-1`."),
        );
    }
}

/// The ID and the region of an import ID `ID@REGION`.
pub(crate) fn split(id: &str) -> (&str, Option<&str>) {
    match id.rsplit_once('@') {
        Some((id, region)) if is_region(region) && !id.is_empty() => (id, Some(region)),
        _ => (id, None),
    }
}

/// Checks that the credentials of the provider are valid in the region, which is so within one partition.
///
/// # Errors
/// The region is in another partition.
pub(crate) fn in_partition(home: &Aws, other: &Aws) -> Result<(), Diagnostics> {
    if home.partition() == other.partition() {
        return Ok(());
    }
    Err(Diagnostic::error(
        "Region of another partition",
        format!(
            "The provider is configured for region {} of the partition {}, but {} is in the partition {}, where its \
             credentials are not valid. Use a provider configuration for that partition.",
            home.region,
            home.partition(),
            other.region,
            other.partition(),
        ),
    )
    .at(Path::of(ATTRIBUTE))
    .into())
}

/// Letters, words, and a number, as hashicorp/aws reads the region of an import ID.
fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let word = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    match parts.as_slice() {
        [area, words @ .., number] if !words.is_empty() => {
            area.len() >= 2
                && word(area)
                && words.iter().all(word)
                && (1..=2).contains(&number.len())
                && number.bytes().all(|b| b.is_ascii_digit())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_id_may_end_in_a_region() {
        assert_eq!(split("vpc-1@eu-west-1"), ("vpc-1", Some("eu-west-1")));
        assert_eq!(split("/warren/gw@us-gov-west-1"), ("/warren/gw", Some("us-gov-west-1")));
        assert_eq!(split("vpc-1"), ("vpc-1", None));
        assert_eq!(split("name@host"), ("name@host", None));
        assert_eq!(split("@eu-west-1"), ("@eu-west-1", None));
        for wrong in ["", "eu", "eu-1", "eu-west", "EU-west-1", "eu-west-100", "eu--1", "e-west-1"] {
            assert!(!is_region(wrong), "{wrong}");
        }
    }
}
