//! The real Terraform or OpenTofu, driven against a provider built here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

/// Environment variable that names the program to use, as for terraform-plugin-testing.
const VARIABLE: &str = "TF_ACC_TERRAFORM_PATH";

/// How long one run may take before it is killed, unless [`Terraform::time_limit`] says otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// A workspace of its own in a temporary folder, with a provider taken from a build folder.
///
/// The user's CLI configuration, plugin cache and environment do not reach it.
///
/// ```no_run
/// use std::path::Path;
/// use tf_provider_rs::test::Terraform;
///
/// let terraform = Terraform::new("acme/notes", Path::new("target/debug"))?;
/// terraform.write("main.tf", "output \"x\" { value = 1 }")?;
/// terraform.apply(&[])?.success()?;
/// assert_eq!(terraform.outputs()?["x"]["value"], 1);
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Terraform {
    folder: TempDir,
    program: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    limit: Duration,
}

impl Terraform {
    /// Makes an empty workspace in which the provider `source` (`namespace/type`) is the binary
    /// `terraform-provider-<type>` of `build_folder`.
    ///
    /// # Errors
    /// Neither `terraform` nor `tofu` is on PATH, or the temporary folder cannot be written.
    pub fn new(source: &str, build_folder: &Path) -> Result<Self> {
        Terraform::named_by(VARIABLE, source, build_folder)
    }

    /// Same as [`Terraform::new`], but the environment variable `variable` can name the program.
    ///
    /// # Errors
    /// The variable names no file, neither `terraform` nor `tofu` is on PATH, or the temporary folder cannot be
    /// written.
    pub fn named_by(variable: &str, source: &str, build_folder: &Path) -> Result<Self> {
        let program = find_program(variable, std::env::var_os(variable), std::env::var_os("PATH"))?;
        let folder = tempfile::Builder::new().prefix("terraform-").tempdir()?;
        let root = folder.path();
        fs::create_dir_all(root.join("work"))?;
        fs::create_dir_all(root.join("home"))?;
        let build_folder = std::path::absolute(build_folder)?;
        fs::write(root.join("cli.tfrc"), cli_configuration(source, &build_folder, &root.join("mirror")))?;
        mirror(source, &build_folder, &root.join("mirror"))?;
        let mut terraform = Self { folder, program, environment: BTreeMap::new(), limit: TIME_LIMIT };
        terraform.prepare();
        Ok(terraform)
    }

    fn prepare(&mut self) {
        let root = self.folder.path().to_path_buf();
        // Only what a program needs to run at all comes from outside.
        for name in ["PATH", "TMPDIR", "LANG"] {
            if let Some(value) = std::env::var_os(name) {
                self.environment.insert(name.into(), value);
            }
        }
        for (name, path) in [
            ("HOME", root.join("home")),
            ("TF_CLI_CONFIG_FILE", root.join("cli.tfrc")),
            ("TF_DATA_DIR", root.join("data")),
        ] {
            self.environment.insert(name.into(), path.into());
        }
        for (name, value) in [("TF_IN_AUTOMATION", "1"), ("TF_INPUT", "0"), ("CHECKPOINT_DISABLE", "1")] {
            self.environment.insert(name.into(), value.into());
        }
    }

    /// Sets an environment variable for all runs to come.
    pub fn env(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Sets how long a run may take before it is killed.
    pub fn time_limit(&mut self, limit: Duration) -> &mut Self {
        self.limit = limit;
        self
    }

    /// The folder that holds the configuration.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The home folder of the runs, empty at first.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The program that is run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs another program from now on, such as a script around [`Self::program`].
    pub fn run_through(&mut self, program: impl Into<PathBuf>) -> &mut Self {
        self.program = program.into();
        self
    }

    /// Writes a file of the configuration, and the folders on the way to it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Copies a folder of configuration into this one, without state and working folders.
    ///
    /// # Errors
    /// Something cannot be read or written.
    pub fn copy(&self, from: &Path, to: &str) -> Result<()> {
        copy_folder(from, &self.folder().join(to)).with_context(|| format!("cannot copy {}", from.display()))
    }

    /// Makes modules known. Needed once before a plan where the configuration has modules, and again when they change.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn get(&self) -> Result<Run> {
        self.run(&["get", "-no-color"])
    }

    /// A full `init`, offline: the provider comes from a mirror folder. Needed for backends; modules need only
    /// [`Self::get`], and everything else needs neither.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn init(&self) -> Result<Run> {
        self.run(&["init", "-no-color", "-input=false"])
    }

    /// `validate`.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn validate(&self) -> Result<Run> {
        self.run(&["validate", "-no-color"])
    }

    /// `plan` with more arguments, such as `-out=x.tfplan`.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn plan(&self, arguments: &[&str]) -> Result<Run> {
        self.run(&[&["plan", "-no-color", "-input=false", "-lock=false"], arguments].concat())
    }

    /// `apply` without questions.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn apply(&self, arguments: &[&str]) -> Result<Run> {
        self.run(&[&["apply", "-no-color", "-input=false", "-auto-approve"], arguments].concat())
    }

    /// `destroy` without questions.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn destroy(&self, arguments: &[&str]) -> Result<Run> {
        self.run(&[&["destroy", "-no-color", "-input=false", "-auto-approve"], arguments].concat())
    }

    /// `import` of an existing object.
    ///
    /// # Errors
    /// The program cannot be started or takes too long.
    pub fn import(&self, address: &str, id: &str) -> Result<Run> {
        self.run(&["import", "-no-color", "-input=false", address, id])
    }

    /// The addresses in the state.
    ///
    /// # Errors
    /// The program fails. A state that does not exist yet has no addresses.
    pub fn state_list(&self) -> Result<Vec<String>> {
        let run = self.run(&["state", "list"])?;
        if run.stderr.contains("No state file was found") {
            return Ok(Vec::new());
        }
        Ok(run.success()?.stdout.lines().map(str::to_owned).collect())
    }

    /// The state, or a plan file, as JSON.
    ///
    /// # Errors
    /// The program fails or prints no JSON.
    pub fn show(&self, plan: Option<&str>) -> Result<Value> {
        let mut arguments = vec!["show", "-no-color", "-json"];
        arguments.extend(plan);
        self.run(&arguments)?.success()?.json()
    }

    /// All outputs as JSON: name to `{"value", "type", "sensitive"}`.
    ///
    /// # Errors
    /// The program fails or prints no JSON.
    pub fn outputs(&self) -> Result<Value> {
        self.run(&["output", "-no-color", "-json"])?.success()?.json()
    }

    /// Runs any subcommand to its end.
    ///
    /// # Errors
    /// The program cannot be started, or takes longer than the limit and is killed.
    pub fn run(&self, arguments: &[&str]) -> Result<Run> {
        self.spawn(arguments)?.wait()
    }

    /// Starts any subcommand and returns at once.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(&self, arguments: &[&str]) -> Result<Running> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.folder())
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that a kill also reaches the provider processes.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        let command = arguments.join(" ");
        Ok(Running { child: Arc::new(Mutex::new(child)), stdout, stderr, command, limit: self.limit })
    }
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The subcommand and its arguments.
    pub command: String,
    /// The exit code; 128 plus the signal's number where a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub time: Duration,
}

impl Run {
    /// The run itself if it succeeded.
    ///
    /// # Errors
    /// It did not; the error holds its output, what it says went wrong first.
    pub fn success(self) -> Result<Self> {
        ensure!(
            self.code == 0,
            "`terraform {}` ended with {}:\n{}\nAfter:\n{}",
            self.command,
            self.code,
            self.stderr,
            self.stdout
        );
        Ok(self)
    }

    /// The run itself if it failed by itself.
    ///
    /// # Errors
    /// It succeeded; the error holds its output.
    pub fn failure(self) -> Result<Self> {
        ensure!(
            self.code != 0,
            "`terraform {}` succeeded and should not have:\n{}",
            self.command,
            self.output()
        );
        Ok(self)
    }

    /// Standard output, then standard error.
    pub fn output(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Standard output as JSON.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("output of `terraform {}`", self.command))
    }
}

/// A run that is under way. It is killed when the value is dropped.
#[derive(Debug)]
pub struct Running {
    child: Arc<Mutex<Child>>,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    command: String,
    limit: Duration,
}

impl Running {
    /// Waits for the end.
    ///
    /// # Errors
    /// The limit passes first; the run is killed then.
    pub fn wait(mut self) -> Result<Run> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.lock().try_wait()? {
                break status;
            }
            if start.elapsed() > self.limit {
                self.killer().kill();
                let (out, err) = self.texts();
                bail!(
                    "`terraform {}` took longer than {:?} and was killed:\n{out}{err}",
                    self.command,
                    self.limit
                );
            }
            thread::sleep(Duration::from_millis(10));
        };
        let (stdout, stderr) = self.texts();
        Ok(Run {
            command: self.command.clone(),
            code: code_of(status),
            stdout,
            stderr,
            time: start.elapsed(),
        })
    }

    /// A handle that ends the run and its provider by SIGKILL, usable from another thread.
    pub fn killer(&self) -> Killer {
        Killer { child: Arc::clone(&self.child) }
    }

    /// The process id; also the id of its process group.
    pub fn pid(&self) -> u32 {
        self.lock().id()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn texts(&mut self) -> (String, String) {
        let text = |reader: Option<JoinHandle<String>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        (text(self.stdout.take()), text(self.stderr.take()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.killer().kill();
    }
}

/// Ends a run; see [`Running::killer`].
#[derive(Clone, Debug)]
pub struct Killer {
    child: Arc<Mutex<Child>>,
}

impl Killer {
    /// Kills the run and everything it has started. Does nothing after its end.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(child.try_wait(), Ok(None)) {
            // Once the child is reaped its id may belong to someone else, so the group is only killed before.
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).output();
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn collect(stream: Option<impl Read + Send + 'static>) -> Option<JoinHandle<String>> {
    let mut stream = stream?;
    Some(thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth showing.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }))
}

fn find_program(variable: &str, named: Option<OsString>, path: Option<OsString>) -> Result<PathBuf> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        ensure!(named.is_file(), "{variable} is set to {}, which is not a file", named.display());
        return Ok(named);
    }
    let path = path.unwrap_or_default();
    let candidates = ["terraform", "tofu"];
    candidates
        .iter()
        .find_map(|name| {
            std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
        })
        .with_context(|| {
            format!(
                "neither `terraform` nor `tofu` is on PATH; version 1.8 or newer is needed.\n\
                 Hint: install one of them, or set {variable} to its path"
            )
        })
}

/// `dev_overrides` is what plan and apply use. `init` does not honour it when it looks for versions, so the same binary
/// is also offered as a mirror, which keeps `init` off the network.
fn cli_configuration(source: &str, build_folder: &Path, mirror: &Path) -> String {
    format!(
        "provider_installation {{\n  dev_overrides {{\n    {source:?} = {build_folder:?}\n  }}\n  \
         filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n"
    )
}

/// Writes into `folder` a CLI configuration with which a user's own Terraform or OpenTofu takes the provider `source`
/// (`namespace/type`) from a build folder, and every other provider from its registry. Returns the file's path, for
/// `TF_CLI_CONFIG_FILE`.
///
/// # Errors
/// The folder cannot be written.
pub fn write_cli_configuration(source: &str, build_folder: &Path, folder: &Path) -> Result<PathBuf> {
    let build_folder = std::path::absolute(build_folder)?;
    let folder = std::path::absolute(folder)?;
    let mirrored = folder.join("mirror");
    if mirrored.exists() {
        fs::remove_dir_all(&mirrored)?;
    }
    mirror(source, &build_folder, &mirrored)?;
    let addresses = HOSTS.map(|host| format!("{host}/{source}"));
    let file = folder.join("terraform.rc");
    let text = format!(
        "provider_installation {{\n  dev_overrides {{\n    {source:?} = {build_folder:?}\n  }}\n  filesystem_mirror {{\n    \
         path    = {mirrored:?}\n    include = {addresses:?}\n  }}\n  direct {{\n    exclude = {addresses:?}\n  }}\n}}\n"
    );
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// The default registries of Terraform and OpenTofu.
const HOSTS: [&str; 2] = ["registry.terraform.io", "registry.opentofu.org"];

/// Lays the binary out as `<host>/<namespace>/<type>/<version>/<platform>/`, for both programs' default hosts.
fn mirror(source: &str, build_folder: &Path, mirror: &Path) -> Result<()> {
    let kind = source.rsplit('/').next().unwrap_or(source);
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let binary = build_folder.join(format!("terraform-provider-{kind}"));
    let hosts: &[&str] = if source.split('/').count() > 2 { &[""] } else { &HOSTS };
    for host in hosts {
        let folder = mirror.join(host).join(source).join("99.0.0").join(format!("{system}_{architecture}"));
        fs::create_dir_all(&folder)?;
        std::os::unix::fs::symlink(&binary, folder.join(format!("terraform-provider-{kind}_v99.0.0")))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with(".terraform") || text.contains(".tfstate") || text.ends_with(".tfplan") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_program_names_both_and_the_variable() {
        let empty = tempfile::tempdir().unwrap();
        let error = find_program(VARIABLE, None, Some(empty.path().into())).unwrap_err();
        insta::assert_snapshot!(error);
    }

    #[test]
    fn named_program_must_exist() {
        let error = find_program(VARIABLE, Some("/no/such/terraform".into()), None).unwrap_err();
        insta::assert_snapshot!(error);
    }

    #[test]
    fn tofu_serves_where_terraform_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tofu"), "").unwrap();
        let found = find_program(VARIABLE, None, Some(folder.path().into())).unwrap();
        assert_eq!(found, folder.path().join("tofu"));
    }
}
