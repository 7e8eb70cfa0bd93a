//! What all resources of Google Cloud have: name, id, description, timeouts.

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path};
pub(crate) use warren_managed::Common;
pub(crate) use warren_managed::checks::{between, one_of};
use warren_managed::{Cloud, timeouts};

use crate::error::ApiError;
use crate::link::{self, Link};
use crate::marker::{self, Marker};
use crate::session::Gcp;

/// A model whose id is made of its project, region and name.
pub(crate) trait Located: Common<Cloud = Gcp> {
    /// Such as `networks`.
    const COLLECTION: &'static str;

    /// Region, location or zone; `None` for an object of the whole project.
    fn region(&self) -> Option<&Attr<String>>;

    /// The id that the object has in this project, when everything of it is known.
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

    /// Whether a create may adopt the object of its name: it is this fabric's, owner's and name's by its description,
    /// and `same` in what cannot be changed.
    ///
    /// # Errors
    /// Another one's object is in the way, or one of ours that is not the same.
    fn adoptable(&self, gcp: &Gcp, description: &str, same: bool) -> Result<Vec<String>, ApiError> {
        let id = self.place(&gcp.project).unwrap_or_default();
        let told = |why: String| Err(ApiError::taken(Self::KIND, format!("{id} exists already: {why}")));
        match marker::split(description).0 {
            Some(marker) if marker == Marker::new(&gcp.scope, self.name().text()) => {
                if same {
                    Ok(vec![id])
                } else {
                    told("it is this owner's, but differs in a setting that cannot be changed".to_owned())
                }
            }
            Some(Marker { fabric, owner, .. }) => {
                told(format!("it belongs to owner {owner} of fabric {fabric}"))
            }
            None => told("it was made by other means than this provider".to_owned()),
        }
    }
}

/// Plans what is known of an object's place before it is made: Google's ids are made of it.
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

/// Implements [`Common`] and [`Located`] for a model with the fields `name`, `id`, `description`, `timeouts`, and
/// the place where it is in one.
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
            fn marks(&self, gcp: &$crate::session::Gcp) -> String {
                $crate::marker::Marker::new(&gcp.scope, self.name.text()).with(self.description.text())
            }
            fn plan_marks(&mut self, gcp: Option<&$crate::session::Gcp>) {
                $crate::common::plan_place!(self, gcp);
            }
        }
    };
}
pub(crate) use common;

/// Implements [`Located`] for a model of an object of the whole project, which perhaps has a parameter.
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

/// Implements [`Located`] for a model of which `place` is the region, location or zone.
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

/// The attributes `name` and `id`, which come first in every schema.
pub(crate) fn head(what: &str, id: &str) -> [Attribute; 2] {
    [
        Attribute::string("name").required().replaces().validate(link::check_name).describe(&format!(
            "Name of the {what}: 1 to 63 characters of `a-z`, `0-9` and `-`, a letter first; unique in the project. A \
             change replaces the {what}."
        )),
        Attribute::string("id").computed().keeps().describe(&format!("`{id}`, as hashicorp/google writes it.")),
    ]
}

/// The attribute `region`.
pub(crate) fn region(what: &str) -> Attribute {
    Attribute::string("region").optional().computed().keeps().replaces().describe(&format!(
        "Region, such as `us-central1`. Default: the provider's. A change replaces the {what}."
    ))
}

/// Refuses to make a regional object without a region.
pub(crate) fn has_region(region: &Attr<String>) -> Result<(), Diagnostics> {
    if !region.text().is_empty() {
        return Ok(());
    }
    Err(Diagnostic::error(
        "No region",
        "Neither the resource nor `gcp.region` of the provider block names a region. Set `region = \"us-central1\"`.",
    )
    .at(Path::of("region"))
    .into())
}

/// The attribute `network`.
pub(crate) fn network(what: &str) -> Attribute {
    Attribute::string("network").required().replaces().validate(link::check("networks")).describe(&format!(
        "Id or self link of the network, of this provider's or of hashicorp/google's. A change replaces the {what}."
    ))
}

/// The attribute `description`.
pub(crate) fn description() -> Attribute {
    Attribute::string("description").optional().validate(marker::check).describe(
        "What the object is for. It follows the marker `[warren:fabric/owner/name]`, by which an interrupted apply \
         finds its object again.",
    )
}

/// The attribute `self_link`.
pub(crate) fn self_link() -> Attribute {
    Attribute::string("self_link").computed().keeps().describe("URL of the object.")
}

/// The attribute `timeouts`, which comes last in every schema.
pub(crate) fn tail() -> [Attribute; 1] {
    [timeouts::attribute(Gcp::NAME)]
}
