//! One agent an interface.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
};

use rustix::fs::{FlockOperation, flock};

use super::journal::folder_of;
use crate::{
    name::InterfaceName,
    problem::{Context, Problem, Result},
};

/// Held as long as the agent lives; the kernel lets go of it however the agent ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it.
    ///
    /// # Errors
    /// When another agent has it.
    pub(super) fn take(interface: &InterfaceName) -> Result<Self> {
        let path = interface.lock();
        let told = || format!("lock {}", path.display());
        folder_of(&path).while_doing(told)?;
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .while_doing(told)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            _ = file.read_to_string(&mut pid);
            return Err(Problem::new(format!("an agent of {interface} is running already (pid {})", pid.trim())).hint(
                format!("`warren-tunnel reload {interface}` has it read its file again; --interface gives another name"),
            ));
        }
        file.set_len(0).and_then(|()| file.rewind()).while_doing(told)?;
        writeln!(file, "{}", std::process::id()).while_doing(told)?;
        _ = fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600));
        Ok(Self { _file: file })
    }
}
