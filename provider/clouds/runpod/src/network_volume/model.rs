//! The schema and state of `warren_runpod_network_volume`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Resource};
use warren_managed::HasShared;

use crate::common::{RunpodObject, filled};

/// Manages a network volume: storage that outlives the pods that mount it. The volume is located in one data center,
/// and so are the pods that mount it. At RunPod its name ends with a marker of the fabric and owner, which lets a re-run
/// of an interrupted apply find the volume.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_runpod_network_volume", noun = "volume")]
pub(crate) struct NetworkVolume {
    #[attr(flatten)]
    pub(crate) object: RunpodObject,
    /// ID of the data center, such as `EU-RO-1`. Changing this replaces the volume, **and its data is lost**.
    #[attr(required, replaces, validate = filled)]
    pub(crate) data_center: Attr<String>,
    /// Size in GB, 10 to 4096. It can grow in place but cannot shrink.
    #[attr(required, validate = between(10, 4096))]
    pub(crate) size: Attr<i64>,
    /// Type of storage: `STANDARD` or `HIGH_PERFORMANCE`. Changing this replaces the volume, **and its data is lost**.
    /// Defaults to the first type that the data center offers.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) r#type: Attr<StorageType>,
}

/// A type of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum StorageType {
    #[choice("STANDARD")]
    Standard,
    #[choice("HIGH_PERFORMANCE")]
    HighPerformance,
}

impl HasShared for NetworkVolume {
    type Shared = RunpodObject;
}
