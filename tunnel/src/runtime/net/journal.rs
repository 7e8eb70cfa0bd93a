//! Journal of changes to the machine, each written before it is made, so that a killed agent leaves nothing behind for good.
//!
//! Only changes that outlive the interface are recorded: addresses and routes vanish with it, and a TUN interface vanishes
//! with its process. The file holds no secrets: of the hooks it records that they ran, not their text.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Family, Rule};
use crate::runtime::{
    host::folders,
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
        /// The previous value.
        before: String,
    },
    /// Name servers registered with resolvconf.
    Resolvconf {
        /// The record's name.
        record: String,
    },
    /// Name servers registered with systemd-resolved.
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
    /// An nftables table of the family `inet`.
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
    /// Opens the journal, including entries left by an earlier agent.
    ///
    /// # Errors
    /// When an existing journal cannot be read. It is kept.
    pub fn open(path: PathBuf) -> Result<Self> {
        let file = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                Problem::new(format!("journal {}: {error}", path.display()))
                    .hint("the file lists changes of a killed agent that are not undone yet: undo them by hand, then remove the file")
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::default(),
            Err(error) => return Err(Problem::new(format!("journal {}: {error}", path.display()))),
        };
        if !file.changes.is_empty() && file.version != VERSION {
            return Err(Problem::new(format!(
                "journal {}: written by another version of warren-tunnel",
                path.display()
            ))
            .hint("run `warren-tunnel agent --cleanup` with that version"));
        }
        Ok(Self { path, file })
    }

    /// Records a change. Call this before making it.
    ///
    /// # Errors
    /// When the entry cannot be written; the change must not be made then.
    pub fn note(&mut self, change: Change) -> Result<()> {
        self.file.changes.push(change);
        self.save()
    }

    /// A file in the same folder with the same name and another extension.
    pub fn sibling(&self, extension: &str) -> PathBuf {
        self.path.with_extension(extension)
    }

    /// The most recent entry, if any.
    pub fn last(&self) -> Option<&Change> {
        self.file.changes.last()
    }

    /// All entries, in order.
    pub fn all(&self) -> &[Change] {
        &self.file.changes
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.file.changes.is_empty()
    }

    /// Whether a matching entry exists.
    pub fn has(&self, wanted: impl Fn(&Change) -> bool) -> bool {
        self.file.changes.iter().any(wanted)
    }

    /// Removes the most recent entry, which has been undone. The file is removed with the last entry.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn undone(&mut self) -> Result<()> {
        self.file.changes.pop();
        self.save()
    }

    /// Removes an entry that has been undone out of order.
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
        let doing = || format!("journal {}", self.path.display());
        if self.file.changes.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).while_doing(doing),
                _ => Ok(()),
            };
        }
        folders::create_parent(&self.path).while_doing(doing)?;
        let text = serde_json::to_vec_pretty(&self.file).while_doing(doing)?;
        replace(&self.path, &text).while_doing(doing)
    }
}

/// Replaces the file atomically: after a crash it is either the old one or the new one.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("json.new");
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(text)?;
    file.sync_data()?;
    fs::rename(&temporary, path)
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
