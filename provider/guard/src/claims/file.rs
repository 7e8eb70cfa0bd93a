//! Claims in a local file: a lock file, then write, sync and rename.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::store::LIMIT;

/// How long a process waits for others to finish changing the file.
const PATIENCE: Duration = Duration::from_secs(60);

/// A claims file.
#[derive(Clone, Debug)]
pub(crate) struct LocalFile {
    path: PathBuf,
}

/// The exclusive right to change the file, released on drop (and by the kernel when the process dies).
pub(crate) struct Locked {
    path: PathBuf,
    /// Holds the lock while it is open.
    _lock: File,
}

impl LocalFile {
    pub(crate) fn new(path: PathBuf) -> LocalFile {
        LocalFile { path }
    }

    /// The text, or `None` if there is no file. Renames are atomic, so reading needs no lock.
    pub(crate) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::metadata(&self.path) {
            // To open a pipe would wait for its other end.
            Ok(found) if !found.is_file() => return Err(io::Error::other("not a regular file")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let file = File::open(&self.path)?;
        let mut text = Vec::new();
        // One byte more than the limit shows that the file is too large.
        file.take(LIMIT + 1).read_to_end(&mut text)?;
        Ok(Some(text))
    }

    /// Blocks until no other process is changing the file.
    pub(crate) fn lock(&self) -> io::Result<Locked> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        // The lock is on a separate file, because a rename replaces the claims file. It is never removed: a process
        // that waits for a removed lock file would end up with a lock that no other process sees.
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
                    let text = format!("{} has been locked by another process for 60 s", lock.display());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Locked {
    /// Replaces the text atomically: the file contains either the old or the new text, even after a crash.
    pub(crate) fn write(&self, text: &[u8]) -> io::Result<()> {
        // All writers use the same name: the lock is held, and a file left by a killed writer is overwritten.
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
