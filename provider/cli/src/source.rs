//! `--source`: finds the lines of Terraform configurations that plans were made from.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use warren_check::{Defined, Lines, Report};
use warren_planfile::{Configuration, Source, read_configuration};

/// Maximum number of files that are read, each as often as its module is called.
const MAX_FILES: usize = 20_000;

/// The lines of all configurations, and what the report says about them.
#[derive(Default)]
pub(crate) struct Sites {
    pub(crate) lines: Lines,
    notes: Vec<String>,
    /// Input and folder of each configuration.
    folders: Vec<(String, String)>,
}

/// Reads the configurations that `--source` names: `DIR` for all files, or `FILE=DIR`.
pub(crate) fn load(sources: &[String], files: &[String], errors: &mut Vec<String>) -> Sites {
    let mut sites = Sites::default();
    for source in sources {
        // A folder may have an equals sign in its name.
        let named = source.split_once('=').filter(|(file, _)| files.iter().any(|known| known == file));
        let (inputs, folder) = match named {
            Some((file, folder)) => (vec![file.to_owned()], folder),
            None => (files.to_vec(), source.as_str()),
        };
        if !Path::new(folder).is_dir() {
            let file = source.split_once('=').filter(|(_, folder)| Path::new(folder).is_dir());
            errors.push(match file {
                Some((file, _)) => format!("--source {source}: {file} is not among the files to check"),
                None => format!("--source {folder}: not a folder; name the folder of the configuration"),
            });
            continue;
        }
        let mut walk = Walk { manifest: manifest(Path::new(folder)), ..Walk::default() };
        walk.folder(Path::new(folder), "", "", None);
        if walk.files > MAX_FILES {
            walk.notes.push(format!(
                "{folder} calls modules with more than {MAX_FILES} files; the others were not read"
            ));
        }
        if walk.files == 0 {
            sites.notes.push(format!("{folder} has no `.tf` files"));
        }
        sites.notes.append(&mut walk.notes);
        for input in inputs {
            sites.lines.add(&input, walk.resources.clone());
            sites.folders.push((input, folder.to_owned()));
        }
    }
    sites
}

impl Sites {
    /// What could not be read, and configurations that have none of the resources in the findings.
    pub(crate) fn notes(&self, report: &Report) -> Vec<String> {
        let mut notes = self.notes.clone();
        let sides = || report.findings.iter().flat_map(|finding| &finding.sides);
        for (input, folder) in &self.folders {
            let mut own = sides().filter(|side| side.site.file == *input).peekable();
            if own.peek().is_some() && own.all(|side| self.lines.find(&side.site).is_none()) {
                notes.push(format!(
                    "{folder} defines none of the resources that the findings of {input} are about; check `--source`"
                ));
            }
        }
        notes
    }
}

#[derive(Default)]
struct Walk {
    /// Folders of modules by their path of calls, as `terraform init` recorded them.
    manifest: BTreeMap<String, PathBuf>,
    resources: BTreeMap<String, Defined>,
    notes: Vec<String>,
    /// The folders from the configuration to this module. A module that calls itself is an error of Terraform.
    path: Vec<PathBuf>,
    /// Number of files that were read.
    files: usize,
}

impl Walk {
    /// Reads the files of a module. `calls` is its path of calls, `net.inner`, and `prefix` its address, `module.net.`.
    /// The resources of a module that was downloaded are at the `call` of the configuration itself.
    fn folder(&mut self, folder: &Path, calls: &str, prefix: &str, call: Option<&Defined>) {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if self.path.contains(&real) {
            return;
        }
        self.path.push(real);
        for file in files(folder) {
            self.files += 1;
            if self.files > MAX_FILES {
                break;
            }
            let name = shown(&file);
            let text = match std::fs::read_to_string(&file) {
                Ok(text) => text,
                Err(error) => {
                    self.notes.push(format!("cannot read {name}: {error}; its lines are not shown"));
                    continue;
                }
            };
            match read_configuration(&Source { name: &name, text: &text, owner: None }) {
                Ok(found) => self.file(&name, folder, found, (calls, prefix), call),
                Err(error) => self.notes.push(format!("{error}; its lines are not shown")),
            }
        }
        self.path.pop();
    }

    fn file(
        &mut self,
        name: &str,
        folder: &Path,
        found: Configuration,
        (calls, prefix): (&str, &str),
        call: Option<&Defined>,
    ) {
        for (address, definition) in found.resources {
            let own = || Defined {
                file: name.to_owned(),
                at: definition.at,
                attributes: definition.attributes.clone(),
            };
            self.resources.insert(format!("{prefix}{address}"), call.cloned().unwrap_or_else(own));
        }
        for (module, definition) in found.modules {
            let calls = if calls.is_empty() { module.clone() } else { format!("{calls}.{module}") };
            let own =
                definition.source.filter(|source| source.starts_with("./") || source.starts_with("../"));
            let recorded = self.manifest.get(&calls).cloned();
            let Some(inner) = recorded.or_else(|| own.as_ref().map(|source| folder.join(source))) else {
                continue;
            };
            // What `terraform init` downloaded is in no repository.
            let here = Defined { file: name.to_owned(), at: definition.at, attributes: BTreeMap::new() };
            let downloaded = own.is_none().then_some(&here);
            let prefix = format!("{prefix}module.{module}.");
            self.folder(&inner, &calls, &prefix, call.or(downloaded));
        }
    }
}

/// The configuration files of a folder, in a fixed order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            (name.ends_with(".tf") || name.ends_with(".tf.json")) && path.is_file()
        })
        .collect();
    found.sort();
    found
}

/// The folders of modules that `terraform init` recorded.
fn manifest(folder: &Path) -> BTreeMap<String, PathBuf> {
    let file = folder.join(".terraform/modules/modules.json");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let tree: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let modules = tree.get("Modules").and_then(serde_json::Value::as_array);
    let entry = |module: &serde_json::Value| {
        let text = |key: &str| module.get(key)?.as_str();
        Some((text("Key")?.to_owned(), folder.join(text("Dir")?)))
    };
    modules.into_iter().flatten().filter_map(entry).filter(|(key, _)| !key.is_empty()).collect()
}

/// A path without `.` and, where possible, without `..`.
fn shown(path: &Path) -> String {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.iter().collect::<PathBuf>().to_string_lossy().into_owned()
}
