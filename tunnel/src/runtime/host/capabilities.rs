//! Capabilities of this machine and process.

use std::{fs, io, path::Path};

use rustix::process::{Resource, getrlimit, setrlimit};

/// CAP_NET_ADMIN's bit (linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
/// The device that creates TUN interfaces.
pub const TUN_DEVICE: &str = "/dev/net/tun";

/// Whether this process may change interfaces and routes.
pub fn may_configure_network() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    has_capability(&status, CAP_NET_ADMIN)
}

fn has_capability(status: &str, bit: u32) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << bit) != 0)
}

/// Whether the TUN device can be opened. Opening it does not create an interface.
///
/// # Errors
/// The reason why not.
pub fn tun_device() -> io::Result<()> {
    fs::OpenOptions::new().read(true).write(true).open(TUN_DEVICE).map(drop)
}

/// Raises the limit of open files to the maximum: each connection of a proxy needs one.
pub fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

/// Whether this looks like a container, for hints.
pub fn in_container() -> bool {
    Path::new("/.dockerenv").exists()
        || Path::new("/run/.containerenv").exists()
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_effective_set() {
        assert!(has_capability("Name:\tx\nCapEff:\t0000000000001000\n", CAP_NET_ADMIN));
        assert!(!has_capability("CapPrm:\t0000000000001000\nCapEff:\t0000000000000000\n", CAP_NET_ADMIN));
        assert!(!has_capability("", CAP_NET_ADMIN));
    }
}
