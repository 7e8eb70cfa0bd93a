//! Attributes and state of `warren_runpod_network_volume`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, model};
use warren_managed::Timeouts;

use super::api::Found;
use crate::common::{self, common};
use crate::marker;

model! {
    /// A network volume.
    pub struct NetworkVolume {
        /// Unique among the volumes of the fabric and owner.
        pub name: Attr<String>,
        /// Assigned by RunPod.
        pub id: Attr<String>,
        /// Such as `EU-RO-1`.
        pub data_center: Attr<String>,
        /// Gigabytes.
        pub size: Attr<i64>,
        /// `STANDARD` or `HIGH_PERFORMANCE`.
        pub r#type: Attr<String>,
        /// Timeouts of the operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(NetworkVolume, "warren_runpod_network_volume", |scope, volume| {
    marker::name(scope, volume.name.text())
});

pub(super) fn schema() -> Schema {
    Schema::new(
        "Creates a network volume: storage that outlives the pods that mount it. The volume is located in one data \
         center, and so are the pods that mount it. At RunPod its name ends with a marker of the fabric and owner, \
         which lets a re-run of an interrupted apply find the volume.",
    )
    .attribute(Attribute::string("name").required().validate(common::check_name).describe(
        "Name of the volume, unique among the volumes of this fabric and owner. Updated in place.",
    ))
    .attribute(common::id())
    .attributes([
        Attribute::string("data_center").required().replaces().validate(common::filled).describe(
            "ID of the data center, such as `EU-RO-1`. Changing this replaces the volume, **and its data is lost**.",
        ),
        Attribute::number("size").required().validate(common::between(10, 4096)).describe(
            "Size in GB, 10 to 4096. It can grow in place but cannot shrink.",
        ),
        Attribute::string("type")
            .optional()
            .computed()
            .keeps()
            .replaces()
            .validate(common::one_of(&["STANDARD", "HIGH_PERFORMANCE"]))
            .describe(
                "Type of storage: `STANDARD` or `HIGH_PERFORMANCE`. Changing this replaces the volume, **and its \
                 data is lost**. Defaults to the first type that the data center offers.",
            ),
    ])
    .attributes(common::tail())
}

/// Rejects a smaller size during the plan, before the API does so during the apply.
pub(super) fn check_size(prior: &NetworkVolume, planned: &NetworkVolume, diagnostics: &mut Diagnostics) {
    if let (Some(have), Some(want)) = (prior.size.known(), planned.size.known())
        && want < have
    {
        diagnostics.error_at(
            Path::of("size"),
            "Network volume cannot shrink",
            format!(
                "The volume has {have} GB, and the plan would shrink it to {want} GB. Create a smaller volume under \
                 another name, copy the data, and delete this one."
            ),
        );
    }
}

/// The state after reading `found`.
pub(super) fn state(found: Found, before: &NetworkVolume) -> NetworkVolume {
    NetworkVolume {
        name: marker::plain_name(&found.name).into(),
        id: found.id.into(),
        data_center: found.data_center.into(),
        size: found.size.into(),
        r#type: found.kind.into(),
        timeouts: before.timeouts.clone(),
    }
}
