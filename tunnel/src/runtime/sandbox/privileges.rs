//! Capabilities: all but the needed ones are given up, in every set.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

/// A capability that some mode needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Interfaces, routes, rules.
    NetAdmin,
    /// Raw sockets: echo requests where there are no ping sockets.
    NetRaw,
    /// Ports below 1024.
    BindService,
    /// Files of other users.
    OverrideFileModes,
}

impl Capability {
    fn bit(self) -> CapabilitySet {
        match self {
            Self::NetAdmin => CapabilitySet::NET_ADMIN,
            Self::NetRaw => CapabilitySet::NET_RAW,
            Self::BindService => CapabilitySet::NET_BIND_SERVICE,
            Self::OverrideFileModes => CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH,
        }
    }
}

/// Gives up all capabilities but those in `kept`.
///
/// # Errors
/// The kernel refuses.
pub(super) fn keep(kept: &[Capability]) -> io::Result<()> {
    let kept = kept.iter().fold(CapabilitySet::empty(), |all, one| all | one.bit());
    for gone in CapabilitySet::all().difference(kept).iter() {
        // Without CAP_SETPCAP the set stays. Then no_new_privs keeps programs from gaining anything by it.
        _ = remove_capability_from_bounding_set(gone);
    }
    let held = capabilities(None)?;
    let wanted = CapabilitySets {
        effective: held.effective & kept,
        permitted: held.permitted & kept,
        inheritable: held.inheritable & kept,
    };
    // A service manager may have done it, and refuse the call.
    if wanted == held { Ok(()) } else { set_capabilities(None, wanted) }
}

/// The names of the capabilities in effect.
pub(super) fn held() -> Vec<String> {
    let held = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    held.iter_names().map(|(name, _)| format!("CAP_{name}")).collect()
}
