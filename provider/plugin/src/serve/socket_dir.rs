//! The directory of the Unix socket.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Maximum length of a Unix socket path on the systems that Terraform supports, without the final NUL.
const MAX_SOCKET_PATH: usize = 103;

/// A directory that only the current user can access. Removed with its content on drop.
#[derive(Debug)]
pub(crate) struct SocketDir {
    directory: TempDir,
}

impl SocketDir {
    /// Creates a directory with mode 0700 in `parent` (`PLUGIN_UNIX_SOCKET_DIR`) or in the system's temporary
    /// directory.
    pub(crate) fn create(parent: Option<PathBuf>) -> io::Result<SocketDir> {
        let parent = parent.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::Builder::new()
            .prefix("plugin")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&parent)
            .map_err(|error| named(&parent, &error))?;
        let dir = SocketDir { directory };
        if dir.socket().as_os_str().len() > MAX_SOCKET_PATH {
            let error = io::Error::other(format!(
                "too long for a Unix socket (limit {MAX_SOCKET_PATH} bytes); set TMPDIR or \
                 PLUGIN_UNIX_SOCKET_DIR to a shorter directory"
            ));
            return Err(named(&dir.socket(), &error));
        }
        Ok(dir)
    }

    /// The path of the socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
