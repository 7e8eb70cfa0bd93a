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
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(NetworkVolume, "warren_runpod_network_volume", |scope, volume| {
    marker::name(scope, volume.name.text())
});

pub(super) fn schema() -> Schema {
    Schema::new(
        "Storage that outlives pods. It lies in one data center, and binds the pods that mount it to that. Its name at \
         RunPod ends with a marker of fabric and owner, by which an interrupted apply finds it again.",
    )
    .attribute(Attribute::string("name").required().validate(common::check_name).describe(
        "Name, unique among the volumes of this fabric and owner. Changes in place.",
    ))
    .attribute(common::id())
    .attributes([
        Attribute::string("data_center").required().replaces().validate(common::filled).describe(
            "Data center, such as `EU-RO-1`. A change replaces the volume, **and its data is lost**.",
        ),
        Attribute::number("size").required().validate(common::between(10, 4096)).describe(
            "Gigabytes, 10 to 4096. It grows in place; a smaller size is refused, because a volume cannot shrink.",
        ),
        Attribute::string("type")
            .optional()
            .computed()
            .keeps()
            .replaces()
            .validate(common::one_of(&["STANDARD", "HIGH_PERFORMANCE"]))
            .describe(
                "`STANDARD` or `HIGH_PERFORMANCE`. A change replaces the volume, **and its data is lost**. Default: what \
                 the data center has first.",
            ),
    ])
    .attributes(common::tail())
}

/// Refuses to plan what the API refuses at apply.
pub(super) fn check_size(prior: &NetworkVolume, planned: &NetworkVolume, diagnostics: &mut Diagnostics) {
    if let (Some(have), Some(want)) = (prior.size.known(), planned.size.known())
        && want < have
    {
        diagnostics.error_at(
            Path::of("size"),
            "A volume cannot shrink",
            format!(
                "The volume has {have} GB and is to have {want}. Make a smaller one under another name, copy what is \
                 needed, and delete this one."
            ),
        );
    }
}

/// The state that what was found makes of `before`.
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
