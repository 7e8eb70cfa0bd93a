//! Files that only their owner can read, written atomically.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::runtime::problem::{Context as _, Result};

/// Creates the folder if it is missing.
///
/// # Errors
/// The folder cannot be created.
pub(in crate::commands) fn folder(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .while_doing(|| format!("creating {}", path.display()))
}

/// Writes `bytes` to a file; true if its content has changed.
///
/// # Errors
/// The file cannot be written.
pub(in crate::commands) fn write(path: &Path, bytes: &[u8]) -> Result<bool> {
    if is(path, bytes) {
        return Ok(false);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    replace(path, Path::new(&name), bytes).while_doing(|| format!("writing {}", path.display()))?;
    Ok(true)
}

fn replace(path: &Path, new: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A leftover of a killed process may have another mode or be a link, so it is replaced.
    match std::fs::remove_file(new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(new, path)
}

/// Whether the file has these contents and only its owner can read it.
fn is(path: &Path, bytes: &[u8]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let own = file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 == 0);
    // Reads one byte more than expected to notice a longer file; the capacity is reserved so that no copy of a secret remains.
    let mut have = Zeroizing::new(Vec::with_capacity(bytes.len() + 1));
    let read = std::io::Read::take(&mut file, bytes.len() as u64 + 1).read_to_end(&mut have);
    own && read.is_ok() && *have == bytes
}
