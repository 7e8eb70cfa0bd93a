//! Names of network interfaces.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::runtime::{host::folders, problem::Problem};

/// An interface name that the kernel and wg-quick accept. It is restricted because it becomes part of paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceName(String);

impl InterfaceName {
    /// The kernel's IFNAMSIZ less the terminating zero.
    pub const MAX: usize = 15;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Path of the control socket for `wg`.
    pub fn socket(&self) -> PathBuf {
        Path::new(folders::WIREGUARD).join(format!("{}.sock", self.0))
    }

    /// Path of our own control socket, used when `wg` talks to the kernel or cannot reach us.
    pub fn fallback_socket(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.sock", self.0))
    }

    /// Path of the journal.
    pub fn journal(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.0))
    }

    /// Path of the lock file.
    pub fn lock(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.lock", self.0))
    }

    /// Path of the configuration, as for wg-quick.
    pub fn config(&self) -> PathBuf {
        PathBuf::from(format!("/etc/wireguard/{}.conf", self.0))
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for InterfaceName {
    type Err = Problem;

    fn from_str(name: &str) -> Result<Self, Problem> {
        let permitted = |c: char| c.is_ascii_alphanumeric() || "_=+.-".contains(c);
        if name.is_empty()
            || name.len() > Self::MAX
            || name == "."
            || name == ".."
            || !name.chars().all(permitted)
        {
            return Err(Problem::new(format!("`{}` is not a valid interface name", name.escape_debug()))
                .hint("use 1 to 15 characters of a-z A-Z 0-9 _ = + . -; the name of wg0.conf is wg0"));
        }
        Ok(Self(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder() {
        for bad in ["", ".", "..", "a/b", "../x", "wg 0", "sixteen-letters-", "wg0\n", "wg\u{e9}"] {
            assert!(bad.parse::<InterfaceName>().is_err(), "{bad:?}");
        }
        for good in ["wg0", "a", "fifteen-letters", "x_=+.-"] {
            assert_eq!(good.parse::<InterfaceName>().unwrap().as_str(), good);
        }
    }
}
