//! Files that only their owner can read, written atomically.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::runtime::problem::{Context as _, Result};

/// Sees to it that the folder is there.
///
/// # Errors
/// It cannot be made.
pub(super) fn folder(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .while_doing(|| format!("creating {}", path.display()))
}

/// Makes `bytes` the contents of a file; whether they are other ones than before.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<bool> {
    if is(path, bytes) {
        return Ok(false);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    replace(path, Path::new(&name), bytes).while_doing(|| format!("writing {}", path.display()))?;
    Ok(true)
}

fn replace(path: &Path, new: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // What a killed process left may have another mode or be a link: made anew.
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
    // One byte more than expected, so that a longer file is another one; and room at once, so that no copy stays.
    let mut have = Zeroizing::new(Vec::with_capacity(bytes.len() + 1));
    let read = std::io::Read::take(&mut file, bytes.len() as u64 + 1).read_to_end(&mut have);
    own && read.is_ok() && *have == bytes
}
