//! The private directory of ledgers.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Apart, parent};

/// The directory, which only this user can access: in `XDG_RUNTIME_DIR`, or else in the temporary directory. Removes
/// the files of runs that have ended.
pub(super) fn open() -> Result<PathBuf, Apart> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let mut causes = Vec::new();
    for base in runtime.into_iter().chain([std::env::temp_dir()]) {
        match private(&base) {
            Ok(folder) => {
                tidy(&folder);
                return Ok(folder);
            }
            Err(cause) => causes.push(cause),
        }
    }
    Err(Apart::NoFolder(causes.join("; ")))
}

/// Creates the directory in `base`, unless it exists. One that others may access is not used.
#[cfg(unix)]
fn private(base: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    let user = rustix::process::geteuid().as_raw();
    let folder = base.join(format!("warren-{user}"));
    let fail = |cause: String| Err(format!("{}: {cause}", folder.display()));
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return fail(error.to_string()),
    }
    // Not the target of a link, which another user could have put there.
    match fs::symlink_metadata(&folder) {
        Ok(found) if !found.is_dir() => fail("is not a directory".to_owned()),
        Ok(found) if found.uid() != user => fail(format!("belongs to user {}", found.uid())),
        Ok(found) if found.mode() & 0o077 != 0 => {
            fail(format!("other users can access it (mode {:o})", found.mode() & 0o777))
        }
        Ok(_) => Ok(folder),
        Err(error) => fail(error.to_string()),
    }
}

#[cfg(not(unix))]
fn private(_base: &Path) -> Result<PathBuf, String> {
    Err("not supported on this system".to_owned())
}

fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(parent::ended) {
            // Another process may have removed it.
            let _removed = fs::remove_file(entry.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_can_access_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let folder = private(base.path()).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(private(base.path()), Ok(folder.clone()));

        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(private(base.path()).unwrap_err().ends_with("other users can access it (mode 770)"));
        fs::remove_dir(&folder).unwrap();
        symlink(base.path(), &folder).unwrap();
        assert!(private(base.path()).unwrap_err().ends_with("is not a directory"));
        assert!(private(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn files_of_ended_runs_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let living = parent::file_name(std::process::id()).unwrap();
        let (rest, _) = living.rsplit_once('-').unwrap();
        let ended = format!("{rest}-1.jsonl");
        for name in [living.as_str(), ended.as_str(), "other"] {
            fs::write(base.path().join(name), "").unwrap();
        }
        tidy(base.path());
        assert!(base.path().join(&living).exists() && base.path().join("other").exists());
        assert!(!base.path().join(&ended).exists());
    }
}
