//! A lock that permits one agent per interface.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::runtime::{
    host::{InterfaceName, folders},
    problem::{Context, Problem, Result},
};

/// Held while the agent runs; the kernel releases it however the agent ends.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Acquires the lock.
    ///
    /// # Errors
    /// When another agent holds it.
    pub(super) fn take(interface: &InterfaceName, folder: &Path) -> Result<Self> {
        Self::at(interface.lock(folder), interface)
    }

    fn at(path: PathBuf, interface: &InterfaceName) -> Result<Self> {
        let doing = || format!("lock {}", path.display());
        folders::create_parent(&path).while_doing(doing)?;
        loop {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let mut file = options.open(&path).while_doing(doing)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                let mut pid = String::new();
                _ = file.read_to_string(&mut pid);
                return Err(Problem::new(format!("an agent for interface {interface} is already running (pid {})", pid.trim()))
                    .hint(format!(
                        "run `warren-tunnel reload {interface}` to apply changes, or choose another name with --interface"
                    )));
            }
            // The previous holder may have removed the file between open and flock.
            if !is_at(&file, &path).while_doing(doing)? {
                continue;
            }
            file.set_len(0).and_then(|()| file.rewind()).while_doing(doing)?;
            writeln!(file, "{}", std::process::id()).while_doing(doing)?;
            return Ok(Self { path, _file: file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(there.ino() == file.metadata()?.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_is_refused_until_the_first_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/wg0.lock");
        let name: InterfaceName = "wg0".parse().unwrap();
        let first = Lock::at(path.clone(), &name).unwrap();
        let refused = Lock::at(path.clone(), &name).err().unwrap().to_string();
        insta::assert_snapshot!(refused.replace(&std::process::id().to_string(), "PID"));
        drop(first);
        assert!(!path.exists());
        Lock::at(path, &name).unwrap();
    }
}
