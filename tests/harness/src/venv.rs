//! The pinned Python environment that the AWS emulator runs in and Google's discovery documents come from.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

/// Exact versions of everything that is installed.
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// Environment variable that moves the cache folder.
const CACHE_VARIABLE: &str = "WARREN_CACHE_DIR";

/// A Python environment that holds exactly the packages of `requirements.txt`.
#[derive(Clone, Debug)]
pub struct Venv {
    root: PathBuf,
}

impl Venv {
    /// Returns the shared environment, making it first where it is missing or its pins have changed.
    ///
    /// Making it takes about a minute and needs a Python package index. Processes that ask at the same time wait for
    /// one another. Progress goes to standard error.
    ///
    /// # Errors
    /// `python3` or its `venv` module is missing, or the packages cannot be installed.
    pub fn ensure() -> Result<Self> {
        Self::ensure_with(&cache_dir(), OsStr::new("python3"), REQUIREMENTS)
    }

    /// Another environment, which is kept under `name` and holds exactly the packages of `requirements`.
    ///
    /// # Errors
    /// As [`Venv::ensure`].
    pub fn of(name: &str, requirements: &str) -> Result<Self> {
        Self::ensure_with(&cache_dir().join(name), OsStr::new("python3"), requirements)
    }

    fn ensure_with(cache: &Path, python: &OsStr, requirements: &str) -> Result<Self> {
        fs::create_dir_all(cache)
            .with_context(|| format!("cannot make the cache folder {}", cache.display()))?;
        let venv = Self { root: cache.join("venv") };
        let stamp = cache.join("venv.stamp");
        if is_current(&stamp, requirements) && venv.python().exists() {
            return Ok(venv);
        }
        // Closing the file releases the lock, so it is also released when this process dies.
        let lock = File::create(cache.join("venv.lock"))?;
        lock.lock().context("cannot lock the cache folder")?;
        if is_current(&stamp, requirements) && venv.python().exists() {
            return Ok(venv);
        }
        venv.build(cache, python, requirements)?;
        fs::write(&stamp, requirements)?;
        Ok(venv)
    }

    fn build(&self, cache: &Path, python: &OsStr, requirements: &str) -> Result<()> {
        progress(&format!("making the Python environment {} (once, about a minute)", self.root.display()));
        if self.root.exists() {
            fs::remove_dir_all(&self.root)?;
        }
        let made = run(Command::new(python).args(["-m", "venv"]).arg(&self.root));
        match made {
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
                "`{}` is not on PATH; the AWS emulator needs Python 3.11 or newer with its venv module.\n\
                 Hint: apt-get install python3 python3-venv",
                python.to_string_lossy()
            ),
            Err(error) => return Err(error).context("cannot start Python"),
            Ok(output) if !output.status.success() => bail!(
                "`{} -m venv` failed; on Debian and Ubuntu the module is a package of its own.\n\
                 Hint: apt-get install python3-venv\n{}",
                python.to_string_lossy(),
                tail(&output)
            ),
            Ok(_) => {}
        }
        let file = cache.join("requirements.txt");
        fs::write(&file, requirements)?;
        progress("installing the pinned packages");
        let pip = run(Command::new(self.python())
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-input",
                "--no-deps",
            ])
            .arg("--requirement")
            .arg(&file))
        .context("cannot start pip")?;
        if !pip.status.success() {
            bail!(
                "pip could not install the pinned packages.\n\
                 Hint: a Python package index must be reachable, and Python must be 3.11 or newer\n{}",
                tail(&pip)
            );
        }
        progress("the Python environment is ready");
        Ok(())
    }

    /// The environment's Python interpreter.
    pub fn python(&self) -> PathBuf {
        self.root.join("bin").join("python")
    }

    /// The environment's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of botocore's service models: `<service>/<version>/service-2.json.gz`.
    ///
    /// # Errors
    /// The environment holds no botocore, so it was changed by hand.
    pub fn botocore_data(&self) -> Result<PathBuf> {
        self.package_folder("botocore/data")
    }

    /// The folder of Google's discovery documents: `<api>.<version>.json`.
    ///
    /// # Errors
    /// The environment holds no google-api-python-client, so it was changed by hand.
    pub fn discovery_documents(&self) -> Result<PathBuf> {
        self.package_folder("googleapiclient/discovery_cache/documents")
    }

    fn package_folder(&self, folder: &str) -> Result<PathBuf> {
        let lib = self.root.join("lib");
        let mut pythons: Vec<PathBuf> = fs::read_dir(&lib)
            .with_context(|| format!("no Python packages in {}", lib.display()))?
            .filter_map(|entry| Some(entry.ok()?.path().join("site-packages").join(folder)))
            .filter(|path| path.is_dir())
            .collect();
        pythons.sort();
        pythons.pop().with_context(|| {
            format!("no {folder} in {}; remove the folder and it is made again", self.root.display())
        })
    }
}

/// Where the harness keeps what it fetches or makes: `WARREN_CACHE_DIR`, else `.warren` in the workspace.
pub fn cache_dir() -> PathBuf {
    match std::env::var_os(CACHE_VARIABLE) {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => workspace_root().join(".warren"),
    }
}

/// The root folder of this workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

fn is_current(stamp: &Path, requirements: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|found| found == requirements)
}

fn run(command: &mut Command) -> io::Result<Output> {
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").output()
}

fn tail(output: &Output) -> String {
    let text = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

fn progress(text: &str) {
    // Nothing depends on whether anyone reads the progress.
    let _ = writeln!(io::stderr(), "harness: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned_exactly() {
        let lines: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.contains(&"moto==5.2.5"), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("botocore==")));
        for line in lines {
            assert_eq!(line.split("==").count(), 2, "{line} is not an exact pin");
        }
    }

    #[test]
    fn missing_python_names_the_package() {
        let cache = tempfile::tempdir().unwrap();
        let error = Venv::ensure_with(cache.path(), OsStr::new("python-that-is-not-here"), "").unwrap_err();
        insta::assert_snapshot!(error);
    }

    #[test]
    fn missing_venv_module_names_the_package() {
        let cache = tempfile::tempdir().unwrap();
        let error = Venv::ensure_with(cache.path(), OsStr::new("false"), "").unwrap_err();
        insta::assert_snapshot!(error);
    }

    #[test]
    fn a_current_stamp_is_not_built_again() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir_all(cache.path().join("venv/bin")).unwrap();
        fs::write(cache.path().join("venv/bin/python"), "").unwrap();
        fs::write(cache.path().join("venv.stamp"), "a==1\n").unwrap();
        Venv::ensure_with(cache.path(), OsStr::new("python-that-is-not-here"), "a==1\n").unwrap();
        Venv::ensure_with(cache.path(), OsStr::new("python-that-is-not-here"), "a==2\n").unwrap_err();
    }
}
