//! The generated files, compared with those in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use warren_harness::workspace_root;

/// Generated files by path, relative to the workspace, and the folders that hold nothing else.
#[derive(Default)]
pub(crate) struct Output {
    files: BTreeMap<PathBuf, String>,
    folders: BTreeSet<PathBuf>,
}

impl Output {
    /// Adds a file.
    pub(crate) fn file(&mut self, path: impl Into<PathBuf>, text: String) {
        self.files.insert(path.into(), text);
    }

    /// Declares that a folder holds generated files only: others are stale.
    pub(crate) fn own(&mut self, folder: impl Into<PathBuf>) {
        self.folders.insert(folder.into());
    }

    /// Writes what has changed and removes what is no longer generated; with `check` fails instead.
    ///
    /// A file that would be removed stays while the set is not `whole`.
    pub(crate) fn finish(&self, check: bool, whole: bool) -> Result<()> {
        let root = workspace_root();
        let mut stale = Vec::new();
        for (path, text) in &self.files {
            let target = root.join(path);
            if std::fs::read_to_string(&target).ok().as_ref() == Some(text) {
                continue;
            }
            stale.push(path.display().to_string());
            if !check {
                std::fs::create_dir_all(target.parent().context("a file has a folder")?)?;
                std::fs::write(&target, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        let obsolete = if whole { self.obsolete()? } else { Vec::new() };
        for path in &obsolete {
            stale.push(format!("{} (no longer generated)", path.display()));
            if !check {
                std::fs::remove_file(root.join(path))?;
            }
        }
        ensure!(
            !check || stale.is_empty(),
            "generated documentation is out of date; run `cargo xtask docs`:\n- {}",
            stale.join("\n- ")
        );
        println!("generated documentation: {} files, {} changed", self.files.len(), stale.len());
        for path in stale {
            println!("  {path}");
        }
        Ok(())
    }

    fn obsolete(&self) -> Result<Vec<PathBuf>> {
        let root = workspace_root();
        let mut obsolete = Vec::new();
        for folder in &self.folders {
            let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
            for entry in entries {
                let path = folder.join(entry?.file_name());
                if !self.files.contains_key(&path) {
                    obsolete.push(path);
                }
            }
        }
        obsolete.sort();
        Ok(obsolete)
    }
}
