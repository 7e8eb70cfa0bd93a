//! Files: listing a folder, and a file that has its final name only when it is complete.
//!
//! A file is written as `.NAME.warren-partial` in its folder, synced to disk, and renamed. The journal of its parts is
//! `.NAME.warren-partial.journal`. All functions block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::SyncError;
use crate::journal::Journal;
use crate::parts::Parts;
use crate::plan::{Entry, Stamp};
use crate::sums::{Hasher, Sums};

/// The folder of what runs remember, in the destination.
pub const STATE: &str = ".warren-sync";
const PARTIAL: &str = ".warren-partial";
const JOURNAL: &str = ".warren-partial.journal";
/// File names have at most 255 bytes.
const LONGEST: usize = 200;
/// What is read at once.
const CHUNK: usize = 1 << 20;

/// Paths of a file that is being written.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The file.
    pub whole: PathBuf,
    /// The incomplete file.
    pub partial: PathBuf,
    /// The journal of its parts.
    pub journal: PathBuf,
}

impl Paths {
    /// Those of a name below a folder.
    pub fn of(root: &Path, name: &str) -> Self {
        let whole = root.join(name);
        let last = name.rsplit('/').next().unwrap_or(name);
        let hidden = if last.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| last.is_char_boundary(*end)).unwrap_or(0);
            format!(".{}{:016x}", &last[..end], Sums::of(last.as_bytes()).crc64)
        } else {
            format!(".{last}")
        };
        let beside = |end: &str| whole.with_file_name(format!("{hidden}{end}"));
        Self { partial: beside(PARTIAL), journal: beside(JOURNAL), whole }
    }
}

/// The version of a file.
///
/// # Errors
/// It cannot be read.
pub fn stamp(path: &Path) -> io::Result<Stamp> {
    let meta = fs::metadata(path)?;
    Ok(Stamp { size: meta.len(), modified: nanoseconds(meta.modified()?), etag: None })
}

/// Nanoseconds since 1970.
pub fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}

/// The time of nanoseconds since 1970.
pub fn time(nanoseconds: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// A listing of a folder.
#[derive(Debug, Default)]
pub struct Listing {
    /// Its files.
    pub files: Vec<Entry>,
    /// Names of incomplete files and journals that earlier runs left.
    pub left: Vec<PathBuf>,
}

/// Lists a folder with everything below it. Links to files are followed, links to folders are not, and neither are devices
/// and sockets.
///
/// # Errors
/// A folder cannot be read, or a name is no text.
pub fn list(root: &Path) -> Result<Listing, SyncError> {
    let mut listing = Listing::default();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let failed = |error: &io::Error| SyncError::io(path.display().to_string(), error);
        let found = match fs::read_dir(&path) {
            // It was deleted or renamed since the folder above was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_empty() => continue,
            found => found.map_err(|error| failed(&error))?,
        };
        for found in found {
            let found = found.map_err(|error| failed(&error))?;
            let name = found.file_name().into_string().map_err(|name| {
                SyncError::new(path.join(name).display().to_string(), "the name is not valid UTF-8")
                    .hint("rename it")
            })?;
            let kind = found.file_type().map_err(|error| failed(&error))?;
            let below = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if kind.is_dir() {
                if name != STATE {
                    folders.push(below);
                }
                continue;
            }
            if name.starts_with('.') && name.contains(PARTIAL) {
                listing.left.push(found.path());
                continue;
            }
            // A broken link, or a file that was deleted since the folder was read.
            let Ok(meta) = fs::metadata(found.path()) else { continue };
            if meta.is_file() {
                let modified = nanoseconds(meta.modified().map_err(|error| failed(&error))?);
                listing
                    .files
                    .push(Entry { name: below, stamp: Stamp { size: meta.len(), modified, etag: None } });
            }
        }
    }
    listing.files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(listing)
}

/// Opens the incomplete file of `paths`, and returns the journal whose parts are in it: each was read back.
///
/// # Errors
/// The folder or file cannot be written.
pub fn resume(paths: &Paths, name: &str, source: &Stamp) -> io::Result<(File, Option<Journal>)> {
    if let Some(folder) = paths.whole.parent() {
        fs::create_dir_all(folder)?;
    }
    let journal = fs::read_to_string(&paths.journal).ok().as_deref().and_then(Journal::parse);
    let journal = journal.filter(|journal| journal.is_about(name, source));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&paths.partial)?;
    let Some(mut journal) = journal else {
        file.set_len(0)?;
        return Ok((file, None));
    };
    let parts = Parts::exactly(source.size, journal.header.part);
    let mut buffer = vec![0; CHUNK];
    journal
        .done
        .retain(|n, done| sums(&file, parts.range(*n), &mut buffer).is_ok_and(|found| found == done.sums));
    Ok((file, Some(journal)))
}

fn sums(file: &File, range: std::ops::Range<u64>, buffer: &mut [u8]) -> io::Result<Sums> {
    let (mut at, mut hasher) = (range.start, Hasher::default());
    while at < range.end {
        let length = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(buffer.len());
        file.read_exact_at(&mut buffer[..length], at)?;
        hasher.update(&buffer[..length]);
        at += length as u64;
    }
    Ok(hasher.sums())
}

/// Writes the journal of `paths` anew.
///
/// # Errors
/// It cannot be written.
pub fn journal(path: &Path, journal: &Journal) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("journal-new");
    let mut text = crate::journal::line(&journal.header);
    text.extend(journal.done.values().map(crate::journal::line));
    fs::write(&beside, text)?;
    fs::rename(&beside, path)?;
    OpenOptions::new().append(true).open(path)
}

/// Creates the incomplete file of `paths`, empty.
///
/// # Errors
/// The folder or file cannot be written.
pub fn create(paths: &Paths) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).create(true).truncate(true).open(&paths.partial);
    match (open(), paths.whole.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            open()
        }
        (opened, _) => opened,
    }
}

/// Gives a complete file its time, syncs it to disk, and gives it its name.
///
/// # Errors
/// The disk is full, or fails.
pub fn finish(file: &File, paths: &Paths, modified: i64) -> io::Result<Stamp> {
    file.set_modified(time(modified))?;
    file.sync_all()?;
    fs::rename(&paths.partial, &paths.whole)?;
    stamp(&paths.whole)
}

/// Syncs a folder to disk, so that the names in it last.
///
/// # Errors
/// It cannot be opened, or the disk fails.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Deletes a file, which may be missing.
///
/// # Errors
/// It exists and cannot be deleted.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Deletes the folders above a deleted file that are empty now, up to `root`.
pub fn remove_empty(root: &Path, path: &Path) {
    let mut above = path.parent();
    while let Some(folder) = above.filter(|folder| *folder != root && folder.starts_with(root)) {
        // Not empty, or gone already.
        if fs::remove_dir(folder).is_err() {
            return;
        }
        above = folder.parent();
    }
}

/// The text of a file; empty if it is missing.
///
/// # Errors
/// It exists and cannot be read.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Replaces a file as a whole.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_folder_that_is_renamed_meanwhile_ends_no_listing() {
        let root = tempfile::tempdir().unwrap();
        let [before, after] = ["tmp-step", "step"].map(|name| root.path().join(name));
        for other in 0..100 {
            fs::create_dir(root.path().join(format!("other-{other}"))).unwrap();
        }
        fs::create_dir(&before).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    fs::rename(&before, &after).unwrap();
                    fs::rename(&after, &before).unwrap();
                }
            });
            let listed = (0..200).try_for_each(|_| list(root.path()).map(drop));
            done.store(true, Ordering::Relaxed);
            listed.unwrap();
        });
        assert_eq!(list(&root.path().join("none")).unwrap_err().kind, crate::Kind::Missing);
    }
}
