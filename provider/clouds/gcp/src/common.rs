//! Attributes that all Google Cloud resources share: name, ID, description, timeouts.

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path};
pub(crate) use warren_managed::Common;
pub(crate) use warren_managed::checks::{between, one_of};
use warren_managed::{Cloud, timeouts};

use crate::error::ApiError;
use crate::link::{self, Link};
use crate::marker::{self, Marker};
use crate::session::Gcp;

/// A model whose ID consists of its project, region and name.
pub(crate) trait Located: Common<Cloud = Gcp> {
    /// Such as `networks`.
    const COLLECTION: &'static str;

    /// Region, location or zone; `None` for a global object.
    fn region(&self) -> Option<&Attr<String>>;

    /// The ID of the object in this project, if all of its parts are known.
    fn place(&self, project: &str) -> Option<String> {
        let region = match self.region() {
            None => None,
            Some(region) => Some(region.known()?.clone()),
        };
        let name = self.name().known()?.clone();
        Some(
            Link { project: project.to_owned(), region, collection: Self::COLLECTION.to_owned(), name }
                .to_string(),
        )
    }

    /// Whether a create may adopt the existing object of this name: its description names this fabric, owner and name, and
    /// `same` says that its immutable settings match.
    ///
    /// # Errors
    /// The object belongs to someone else, or its immutable settings differ.
    fn adoptable(&self, gcp: &Gcp, description: &str, same: bool) -> Result<Vec<String>, ApiError> {
        let id = self.place(&gcp.project).unwrap_or_default();
        let taken = |why: String| Err(ApiError::taken(Self::KIND, format!("{id} already exists and {why}")));
        match marker::split(description).0 {
            Some(marker) if marker == Marker::new(&gcp.scope, self.name().text()) => {
                if same {
                    Ok(vec![id])
                } else {
                    taken("belongs to this owner, but differs in a setting that cannot be changed".to_owned())
                }
            }
            Some(Marker { fabric, owner, .. }) => {
                taken(format!("belongs to owner {owner} of fabric {fabric}"))
            }
            None => taken("was not created by this provider".to_owned()),
        }
    }
}

/// Plans the region and the ID of an object before it is created: Google's IDs consist of them.
macro_rules! plan_place {
    ($model:ident, $gcp:ident) => {
        let Some(gcp) = $gcp else { return };
        $model.plan_region(gcp);
        if $model.id.is_unknown()
            && let Some(id) = $crate::common::Located::place($model, &gcp.project)
        {
            $model.id = id.into();
        }
    };
}
pub(crate) use plan_place;

/// Implements [`Common`] and [`Located`] for a model with the fields `name`, `id`, `description` and `timeouts`, and
/// with the field of its region, location or zone if it has one.
macro_rules! common {
    ($model:ty, $kind:literal, global $collection:literal) => {
        $crate::common::common!(@common $model, $kind);
        $crate::common::unplaced!($model, $collection);
    };
    ($model:ty, $kind:literal, in $place:ident $collection:literal) => {
        $crate::common::common!(@common $model, $kind);
        $crate::common::placed!($model, $place $collection);
    };
    (@common $model:ty, $kind:literal) => {
        impl $crate::common::Common for $model {
            type Cloud = $crate::session::Gcp;
            const KIND: &'static str = $kind;
            warren_managed::accessors!();
            fn marks(&self, gcp: &$crate::session::Gcp) -> Result<String, tf_provider_rs::NotKnown> {
 Ok($crate::marker::Marker::new(&gcp.scope, self.name.value()?).with(self.description.text()))
            }
            fn plan_marks(&mut self, gcp: Option<&$crate::session::Gcp>) {
                $crate::common::plan_place!(self, gcp);
            }
        }
    };
}
pub(crate) use common;

/// Implements [`Located`] for a model of a global object, which may have a type parameter.
macro_rules! unplaced {
    ($model:ty, $collection:literal $(, $parameter:ident: $bound:ident)?) => {
        impl$(<$parameter: $bound>)? $crate::common::Located for $model {
            const COLLECTION: &'static str = $collection;
            fn region(&self) -> Option<&tf_provider_rs::Attr<String>> {
                None
            }
        }
        impl$(<$parameter: $bound>)? $model {
            fn plan_region(&mut self, _gcp: &$crate::session::Gcp) {}
        }
    };
}
pub(crate) use unplaced;

/// Implements [`Located`] for a model whose field `place` is the region, location or zone.
macro_rules! placed {
    ($model:ty, $place:ident $collection:literal) => {
        impl $crate::common::Located for $model {
            const COLLECTION: &'static str = $collection;
            fn region(&self) -> Option<&tf_provider_rs::Attr<String>> {
                Some(&self.$place)
            }
        }
        impl $model {
            fn plan_region(&mut self, gcp: &$crate::session::Gcp) {
                if self.$place.is_unknown()
                    && self.id.is_unknown()
                    && let Some(region) = &gcp.region
                {
                    self.$place = region.as_str().into();
                }
            }
        }
    };
}
pub(crate) use placed;

/// The attributes `name` and `id`, which every schema starts with.
pub(crate) fn head(what: &str, id: &str) -> [Attribute; 2] {
    let scope = match id.split('/').nth(2) {
        Some("regions") => "project and region",
        Some("zones") => "project and zone",
        Some("locations") => "project and location",
        _ => "project",
    };
    [
        Attribute::string("name").required().replaces().validate(link::check_name).describe(&format!(
            "Name of the {what}, unique in the {scope}: 1 to 63 lowercase letters, digits or hyphens, starting with a \
             letter and not ending with a hyphen. Changing this replaces the {what}."
        )),
        Attribute::string("id")
            .computed()
            .keeps()
            .describe(&format!("ID in the form `{id}`, the same as in hashicorp/google.")),
    ]
}

/// The attribute `region`.
pub(crate) fn region(what: &str) -> Attribute {
    Attribute::string("region").optional().computed().keeps().replaces().describe(&format!(
        "Region, such as `us-central1`. Defaults to the provider's region. Changing this replaces the {what}."
    ))
}

/// Rejects a regional object without a region.
pub(crate) fn has_region(region: &Attr<String>) -> Result<(), Diagnostics> {
    if !region.text().is_empty() {
        return Ok(());
    }
    Err(Diagnostic::error(
        "Missing region",
        "Neither the resource nor `gcp.region` in the provider block sets a region. Set one, such as `region = \
         \"us-central1\"`.",
    )
    .at(Path::of("region"))
    .into())
}

/// The attribute `network`.
pub(crate) fn network(what: &str) -> Attribute {
    Attribute::string("network").required().replaces().validate(link::check("networks")).describe(&format!(
        "ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the \
         {what}."
    ))
}

/// The attribute `description` of an object whose description can be updated.
pub(crate) fn description() -> Attribute {
    described("Updated in place.")
}

/// The attribute `description` of an object whose description cannot be updated.
pub(crate) fn fixed_description(what: &str) -> Attribute {
    described(&format!("Changing this replaces the {what}.")).replaces()
}

fn described(change: &str) -> Attribute {
    Attribute::string("description").optional().validate(marker::check).describe(&format!(
        "Description. The provider stores it after a marker, `[warren:fabric/owner/name]`, by which the next apply finds \
         the object if this one is interrupted. {change}"
    ))
}

/// An error with a full stop, unless it ends in a question.
pub(crate) fn sentence(error: &str) -> String {
    let end = if error.ends_with('?') { "" } else { "." };
    format!("{error}{end}")
}

/// The attribute `self_link`.
pub(crate) fn self_link() -> Attribute {
    Attribute::string("self_link").computed().keeps().describe(
        "Self link: URL of the object in the Google Cloud \
         API.",
    )
}

/// The attribute `timeouts`, which every schema ends with.
pub(crate) fn tail() -> [Attribute; 1] {
    [timeouts::attribute(Gcp::NAME)]
}
