//! The stored key of a pod: with it a restarted pod keeps its address.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use warren_wire::PrivateKey;

use crate::runtime::host::secret;
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::random;

const FILE: &str = "agent.key";

/// Reads the key from the folder. Creates folder and key if there is none.
///
/// # Errors
/// When it cannot be read or written, or is readable by other users.
pub(super) fn key(folder: &Path) -> Result<PrivateKey> {
    let path = folder.join(FILE);
    if !path.exists() {
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .while_doing(|| format!("folder {}", folder.display()))?;
        let key = PrivateKey::from_random(*random()?);
        secret::write_new(&path, &key.to_base64())?;
        return Ok(key);
    }
    let text = secret::read(&path, "agent key")?;
    PrivateKey::from_base64(text.trim()).map_err(|error| {
        Problem::new(format!("agent key {}: {error}", path.display()))
            .hint("remove the file; the agent then generates a new key and gets another address")
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_stays_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("a/b");
        let first = key(&state).unwrap();
        assert_eq!(key(&state).unwrap(), first);
        let path = state.join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(key(&state).is_err());
    }
}
