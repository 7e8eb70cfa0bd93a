//! What the provider processes of one Terraform run have planned.
//!
//! Terraform starts one provider process for each provider configuration, and several in the course of a run: to
//! validate, to plan, and to apply. They share a file, to which each appends what it plans:
//!
//! ```text
//! terraform (PID, start time) --- provider "a": lock, read what others appended, append own record, unlock
//!                              \- provider "b": the same, so of two conflicting resources the second one sees the first
//! ```
//!
//! A process ends as soon as Terraform needs it no longer, often before the others have started, so records outlive
//! their writers. They end with the run: the file belongs to the process that started the providers, and whichever
//! run comes next removes the files of processes that have ended.
//!
//! A lock is held for one read and one append. The operating system releases it when its holder dies. What a killed
//! process has written of a line is cut off by the next one.

mod folder;
mod parent;
mod record;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub(crate) use record::Record;

/// How long a process waits for another one that holds the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of the file in bytes. A resource needs about 300.
const LIMIT: u64 = 64 << 20;

/// Why the processes of a run cannot meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Apart {
    #[error("the process that started the provider cannot be identified: {0}")]
    NoParent(String),
    #[error("no private directory for the run: {0}")]
    NoFolder(String),
    #[error("{place} cannot be used: {cause}")]
    File { place: String, cause: String },
    #[error("{place} is damaged at line {line}: {cause}")]
    Damaged { place: String, line: usize, cause: String },
    #[error("{place} is larger than {} MiB", LIMIT >> 20)]
    TooLarge { place: String },
}

/// The ledger of a run, opened when it is first needed.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The process that started this one. If it dies, another one adopts this process.
    parent: u32,
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    file: File,
    /// What this process has read or written.
    offset: u64,
    lines: usize,
}

impl Ledger {
    /// The ledger of the run that started this process.
    pub(crate) fn of_this_run() -> Ledger {
        Ledger { parent: parent::id(), opened: None }
    }

    /// Reads everything again in the next exchange.
    pub(crate) fn rewind(&mut self) {
        if let Some(opened) = &mut self.opened {
            (opened.offset, opened.lines) = (0, 0);
        }
    }

    /// Returns what other processes have written since the last exchange, and appends `own`.
    pub(crate) fn exchange(&mut self, own: &[Record]) -> Result<Vec<Record>, Apart> {
        let opened = match &mut self.opened {
            Some(opened) => opened,
            empty => {
                let path = folder::open()?.join(parent::file_name(self.parent)?);
                empty.insert(Opened::open(path)?)
            }
        };
        opened.exchange(own)
    }

    /// Appends `own` if another process has written anything.
    pub(crate) fn append_if_used(&mut self, own: &[Record]) -> Result<(), Apart> {
        let path = folder::open()?.join(parent::file_name(self.parent)?);
        if path.exists() { self.exchange(own).map(|_| ()) } else { Ok(()) }
    }
}

impl Opened {
    fn open(path: PathBuf) -> Result<Opened, Apart> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => Ok(Opened { path, file, offset: 0, lines: 0 }),
            Err(error) => Err(Apart::File { place: path.display().to_string(), cause: error.to_string() }),
        }
    }

    fn exchange(&mut self, own: &[Record]) -> Result<Vec<Record>, Apart> {
        let unusable = |path: &PathBuf, error: &io::Error| Apart::File {
            place: path.display().to_string(),
            cause: error.to_string(),
        };
        self.lock().map_err(|error| unusable(&self.path, &error))?;
        let exchanged = self.read_and_append(own);
        let unlocked = self.file.unlock();
        let text = exchanged.map_err(|error| unusable(&self.path, &error))?;
        unlocked.map_err(|error| unusable(&self.path, &error))?;
        let place = || self.path.display().to_string();
        let Some(text) = text else { return Err(Apart::TooLarge { place: place() }) };
        let mut records = Vec::new();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.lines += 1;
            let record = serde_json::from_slice(line).map_err(|error| Apart::Damaged {
                place: place(),
                line: self.lines,
                cause: error.to_string(),
            })?;
            records.push(record);
        }
        self.lines += own.len();
        Ok(records)
    }

    /// The complete lines that this process has not read; `None` if there are too many.
    fn read_and_append(&mut self, own: &[Record]) -> io::Result<Option<Vec<u8>>> {
        let length = self.file.metadata()?.len();
        if length > LIMIT {
            return Ok(None);
        }
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(self.offset))?;
        self.file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        text.truncate(whole);
        let end = self.offset + u64::try_from(whole).unwrap_or(u64::MAX);
        if end < length {
            // A process was killed while it wrote this line.
            self.file.set_len(end)?;
        }
        let mut lines = Vec::new();
        for record in own {
            serde_json::to_writer(&mut lines, record)?;
            lines.push(b'\n');
        }
        self.file.seek(SeekFrom::Start(end))?;
        if let Err(error) = self.file.write_all(&lines) {
            self.file.set_len(end)?;
            return Err(error);
        }
        self.offset = end + u64::try_from(lines.len()).unwrap_or(u64::MAX);
        Ok(Some(text))
    }

    fn lock(&self) -> io::Result<()> {
        let start = Instant::now();
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => {
                    let text = format!("another process has locked it for {} s", PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}
