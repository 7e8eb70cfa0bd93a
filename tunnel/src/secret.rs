//! Files with secrets: of mode 0600, written whole or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::problem::{Problem, Result};

/// The longest secret: tokens have at most 6 KiB.
const LONGEST: u64 = 64 << 10;

/// Reads a file that only its owner may read.
///
/// # Errors
/// It cannot be read, is too long, or others may read it.
pub fn read(path: &Path, what: &str) -> Result<Zeroizing<String>> {
    let told = |error: &io::Error| {
        let problem = Problem::new(format!("{what} {}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::PermissionDenied => problem.hint("run as the file's owner"),
            io::ErrorKind::NotFound => problem.hint(
                "does the path begin where you think? relative ones begin where the program was started",
            ),
            _ => problem,
        }
    };
    let file = fs::File::open(path).map_err(|error| told(&error))?;
    let metadata = file.metadata().map_err(|error| told(&error))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if metadata.is_file() && mode & 0o007 != 0 {
        return Err(Problem::new(format!(
            "{what} {}: everybody may read it (mode {mode:04o})",
            path.display()
        ))
        .hint(format!("chmod 600 {}", path.display())));
    }
    let mut text = Zeroizing::new(String::with_capacity(8 << 10));
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| told(&error))?;
    Ok(text)
}

/// Writes a new file; one that is there stays as it is.
///
/// # Errors
/// It cannot be written, or is there.
pub fn write_new(path: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    let written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| {
        let problem = Problem::new(format!("{}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                problem.hint("secrets are not overwritten: remove the file, or name another")
            }
            _ => problem,
        }
    })
}
