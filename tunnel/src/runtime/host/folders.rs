//! Folders for run-time files: sockets, locks, journals.
//!
//! Root uses `/run/warren-tunnel`. Other users, and root where `/run` is read-only, use a folder in `XDG_RUNTIME_DIR`, else
//! a private one in the folder for temporary files.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access},
    process::geteuid,
};

use crate::runtime::problem::{Problem, Result};

/// Where `wg` looks for sockets.
pub const WIREGUARD: &str = "/var/run/wireguard";
const SYSTEM: &str = "/run/warren-tunnel";
const NAME: &str = "warren-tunnel";

/// The possible folders for this user, in order of preference.
pub fn candidates() -> Vec<PathBuf> {
    let of = |text: Option<std::ffi::OsString>| text.map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = of(env::var_os("XDG_RUNTIME_DIR"));
    list(geteuid().as_raw(), runtime.as_deref(), &env::temp_dir())
}

fn list(user: u32, runtime: Option<&Path>, temporary: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if user == 0 {
        found.push(PathBuf::from(SYSTEM));
    }
    found.extend(runtime.map(|folder| folder.join(NAME)));
    found.push(temporary.join(format!("{NAME}-{user}")));
    found
}

/// Those of them that exist, and that no other user has prepared.
pub fn existing() -> Vec<PathBuf> {
    candidates().into_iter().filter(|folder| check(folder).is_ok()).collect()
}

/// The folder of this user's agents, created if missing.
///
/// # Errors
/// When none of the candidates can be used, with the reason for each.
pub fn runtime_folder() -> Result<PathBuf> {
    let mut reasons = Vec::new();
    for folder in candidates() {
        match claim(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) => reasons.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(Problem::new(format!("no folder for run-time files: {}", reasons.join("; ")))
        .hint("set XDG_RUNTIME_DIR or TMPDIR to a folder that only this user can write"))
}

/// Creates the folder of a run-time file, accessible only to its owner.
///
/// # Errors
/// When it cannot be created.
pub fn create_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => fs::DirBuilder::new().recursive(true).mode(0o700).create(folder),
        None => Ok(()),
    }
}

/// Whether sockets can be created where `wg` looks for them.
pub fn wireguard_writable() -> bool {
    let folder = Path::new(WIREGUARD);
    let there = if folder.exists() { folder } else { Path::new("/var/run") };
    access(there, Access::WRITE_OK).is_ok()
}

/// Creates the folder, or checks that it is private: in a world-writable folder another user could have created it, or a
/// symbolic link of that name.
fn claim(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    check(folder)?;
    access(folder, Access::WRITE_OK)?;
    Ok(())
}

fn check(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let refused = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if !found.is_dir() {
        return refused("not a folder");
    }
    if found.uid() != geteuid().as_raw() {
        return refused("owned by another user");
    }
    if found.mode() & 0o022 != 0 {
        return refused("writable by other users");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn an_ordinary_user_has_a_folder_of_its_own() {
        let temporary = Path::new("/tmp");
        let user = list(1000, Some(Path::new("/run/user/1000")), temporary);
        assert_eq!(user, [Path::new("/run/user/1000/warren-tunnel"), Path::new("/tmp/warren-tunnel-1000")]);
        let root = list(0, None, temporary);
        assert_eq!(root, [Path::new("/run/warren-tunnel"), Path::new("/tmp/warren-tunnel-0")]);
    }

    #[test]
    fn a_folder_that_others_could_have_prepared_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let fresh = parent.path().join("fresh");
        claim(&fresh).unwrap();
        claim(&fresh).unwrap();
        assert_eq!(fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o700);
        let link = parent.path().join("link");
        symlink(&fresh, &link).unwrap();
        assert!(claim(&link).is_err());
        let open = parent.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(claim(&open).is_err());
        fs::write(parent.path().join("file"), "").unwrap();
        assert!(claim(&parent.path().join("file")).is_err());
        assert!(claim(&parent.path().join("missing/below")).is_err());
    }
}
