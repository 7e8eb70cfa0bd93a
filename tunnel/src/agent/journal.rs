//! What must be undone, written down before it is done, so that a killed agent leaves nothing for good.
//!
//! Only what outlives the interface is written: addresses and routes vanish with it, and a TUN interface vanishes
//! with its process. The file holds no secret: of the hooks it tells that they ran, not what they were.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    net::{Family, Rule},
    problem::{Context, Problem, Result},
};

/// One change of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// An interface that does not vanish with the process.
    Interface {
        /// Its name.
        name: String,
    },
    /// A policy routing rule that was not there before.
    Rule {
        /// IPv4 or IPv6.
        family: Family,
        /// Which.
        rule: Rule,
    },
    /// A kernel setting.
    Sysctl {
        /// File under /proc/sys.
        path: PathBuf,
        /// What it said.
        before: String,
    },
    /// Name servers, told to resolvconf.
    Resolvconf {
        /// The record's name.
        record: String,
    },
    /// Name servers, told to systemd-resolved.
    Resolved {
        /// Interface they belong to.
        interface: String,
    },
    /// /etc/resolv.conf was replaced; the original is kept in `backup`.
    ResolvFile {
        /// The file.
        path: PathBuf,
        /// A copy of what was there.
        backup: PathBuf,
    },
    /// A table of nftables' rules, in the family `inet`.
    Rules {
        /// Its name.
        table: String,
    },
    /// PreUp and PostUp commands ran, so PreDown and PostDown are due.
    Hooks,
}

/// The changes of one agent, as in its file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    version: u32,
    pid: u32,
    changes: Vec<Change>,
}

const VERSION: u32 = 1;

impl Journal {
    /// Opens the journal; what an earlier agent left is in it.
    ///
    /// # Errors
    /// When there is one that cannot be read: it is not thrown away.
    pub fn open(path: PathBuf) -> Result<Self> {
        let file = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                Problem::new(format!("journal {}: {error}", path.display()))
                    .hint("it tells what a killed agent left behind; undo that by hand, then remove the file")
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::default(),
            Err(error) => return Err(Problem::new(format!("journal {}: {error}", path.display()))),
        };
        if !file.changes.is_empty() && file.version != VERSION {
            return Err(Problem::new(format!("journal {}: of another version", path.display()))
                .hint("run `warren-tunnel agent --cleanup` of the version that wrote it"));
        }
        Ok(Self { path, file })
    }

    /// Writes a change down. To be called before it is made.
    ///
    /// # Errors
    /// When it cannot be written: then the change must not be made.
    pub fn note(&mut self, change: Change) -> Result<()> {
        self.file.changes.push(change);
        self.save()
    }

    /// A file beside this one that has its name but for the extension.
    pub fn beside(&self, extension: &str) -> PathBuf {
        self.path.with_extension(extension)
    }

    /// What was done last, if anything is left.
    pub fn last(&self) -> Option<&Change> {
        self.file.changes.last()
    }

    /// Everything that is written down, in order.
    pub fn all(&self) -> &[Change] {
        &self.file.changes
    }

    /// Whether nothing is written down.
    pub fn is_empty(&self) -> bool {
        self.file.changes.is_empty()
    }

    /// Whether such a change is written down.
    pub fn has(&self, wanted: impl Fn(&Change) -> bool) -> bool {
        self.file.changes.iter().any(wanted)
    }

    /// The last change has been undone. The file goes with the last one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn undone(&mut self) -> Result<()> {
        self.file.changes.pop();
        self.save()
    }

    /// Takes out one change that has been undone out of turn.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget(&mut self, change: &Change) -> Result<()> {
        self.file.changes.retain(|noted| noted != change);
        self.save()
    }

    fn save(&mut self) -> Result<()> {
        self.file.version = VERSION;
        self.file.pid = std::process::id();
        let told = || format!("journal {}", self.path.display());
        if self.file.changes.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).while_doing(told),
                _ => Ok(()),
            };
        }
        folder_of(&self.path).while_doing(told)?;
        let text = serde_json::to_vec_pretty(&self.file).while_doing(told)?;
        replace(&self.path, &text).while_doing(told)
    }
}

/// Makes the folder of run-time files, for its owner alone.
///
/// # Errors
/// When it cannot be made.
pub(super) fn folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => fs::DirBuilder::new().recursive(true).mode(0o700).create(folder),
        None => Ok(()),
    }
}

/// Either the old file or the new one is there after a crash, never half of it.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("json.new");
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(text)?;
    file.sync_data()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn changes_survive_and_are_undone_backwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/wg0.json");
        let mut journal = Journal::open(path.clone()).unwrap();
        assert!(journal.is_empty());
        let rule = Change::Rule { family: Family::V4, rule: Rule::UnmarkedTo { table: 51820, mark: 51820 } };
        journal.note(Change::Hooks).unwrap();
        journal.note(rule.clone()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        insta::assert_snapshot!(
            fs::read_to_string(&path).unwrap().replace(&std::process::id().to_string(), "PID")
        );

        let mut again = Journal::open(path.clone()).unwrap();
        assert_eq!(again.last(), Some(&rule));
        again.undone().unwrap();
        assert_eq!(again.last(), Some(&Change::Hooks));
        again.undone().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_journal_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wg0.json");
        fs::write(&path, "{").unwrap();
        assert!(Journal::open(path.clone()).is_err());
        assert!(path.exists());
    }
}
