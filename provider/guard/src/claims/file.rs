//! Claims in a local file: a lock file, then write, sync and rename.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// So long a process waits for others to finish their change of the file.
const PATIENCE: Duration = Duration::from_secs(60);

/// A claims file.
#[derive(Clone, Debug)]
pub(crate) struct LocalFile {
    path: PathBuf,
}

/// The exclusive right to change the file, given up on drop (and by the kernel when the process dies).
pub(crate) struct Locked {
    path: PathBuf,
    /// Holds the lock while it is open.
    _lock: File,
}

impl LocalFile {
    pub(crate) fn new(path: PathBuf) -> LocalFile {
        LocalFile { path }
    }

    /// The text, or `None` when there is no file. Renames are atomic, so no lock is needed to read.
    pub(crate) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process changes the file. Blocks.
    pub(crate) fn lock(&self) -> io::Result<Locked> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        // The lock is on a file of its own, because a rename puts another file in the place of the claims. It is never
        // removed: a process that waits for a removed lock file would hold a lock that nobody else sees.
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(beside(&self.path, "lock"))?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Locked { path: self.path.clone(), _lock: lock }),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(super::store::jitter(5, 20)));
                }
                Err(TryLockError::WouldBlock) => {
                    let lock = beside(&self.path, "lock");
                    let text = format!("{} is locked by another process since 60 s", lock.display());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Locked {
    /// Replaces the text: afterwards the file holds the old or the new text, whole, whatever happens in between.
    pub(crate) fn write(&self, text: &[u8]) -> io::Result<()> {
        // One name for all writers: the lock is held, and what a killed writer left is overwritten.
        let next = beside(&self.path, "next");
        let mut file = File::create(&next)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&next, &self.path)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}
