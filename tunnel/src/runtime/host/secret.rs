//! Files with secrets, of mode 0600.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use warren_transport::tls::EXPOSED;
use zeroize::Zeroizing;

use crate::runtime::problem::{Problem, Result};

/// The largest file that is read; tokens have at most 6 KiB.
const MAX_SIZE: u64 = 64 << 10;

/// Reads a file that only its owner may write, and its owner and group may read ([`EXPOSED`]).
///
/// # Errors
/// When it cannot be read, or others may read or write it.
pub fn read(path: &Path, what: &str) -> Result<Zeroizing<String>> {
    let failed = |error: &io::Error| {
        let problem = Problem::new(format!("{what} {}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::PermissionDenied => problem.hint("run as the owner of the file"),
            io::ErrorKind::NotFound => {
                problem.hint("check the path; relative paths start in the current directory")
            }
            _ => problem,
        }
    };
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if metadata.is_file() && mode & EXPOSED != 0 {
        return Err(Problem::new(format!(
            "{what} {}: others may read or change it (mode {mode:04o})",
            path.display()
        ))
        .hint(format!("run `chmod 600 {}`", path.display())));
    }
    let mut text = Zeroizing::new(String::with_capacity(8 << 10));
    file.take(MAX_SIZE).read_to_string(&mut text).map_err(|error| failed(&error))?;
    Ok(text)
}

/// Writes a new file. An existing one is not overwritten.
///
/// # Errors
/// When it cannot be written or already exists.
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
                problem.hint("existing secrets are not overwritten: remove the file, or choose another path")
            }
            _ => problem,
        }
    })
}
