//! The documentation as a test: every code block of every page is executed, validated or listed as an exception.
//!
//! The contract for authors is in `docs/contributing/documentation.md`.

mod fragment;
mod host;
mod page;
mod session;

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use warren_harness::{Terraform, workspace_root};

pub use page::{Action, Block, Expected, Format, Page};

use self::host::Host;
use crate::sandbox::Sandbox;
use crate::{Emulated as _, build_folder};

/// The page that lists what is not executed.
const EXCEPTIONS: &str = "docs/contributing/unexecuted-blocks.md";

/// Folders of pages that are generated from files which other tests apply.
const GENERATED: [&str; 4] =
    ["docs/resources/", "docs/data-sources/", "docs/ephemeral-resources/", "docs/functions/"];

/// What a page finds in its clone beside `examples` and `modules`, which it may change.
const LINKED: [&str; 5] = ["docs", "provider", "tests", "tunnel", ".github"];

/// Gateways and agents of a page listen on fixed ports, as a reader's do.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The paths of all pages, in order.
///
/// # Errors
/// A folder cannot be read.
pub fn pages() -> Result<Vec<String>> {
    let root = workspace_root();
    let mut all = Vec::new();
    for folder in ["", "docs", "modules", "examples", "tunnel/operations"] {
        collect(&root, folder, &mut all)?;
    }
    all.sort();
    Ok(all)
}

fn collect(root: &Path, folder: &str, all: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if entry.file_type()?.is_dir() {
            if !folder.is_empty() && !name.starts_with('.') {
                collect(root, &path, all)?;
            }
        } else if name.ends_with(".md") && path != EXCEPTIONS {
            all.push(path);
        }
    }
    Ok(())
}

/// Reads a page.
///
/// # Errors
/// It cannot be read, or a block is not one of the contract.
pub fn page(path: &str) -> Result<Page> {
    let text = fs::read_to_string(workspace_root().join(path)).with_context(|| path.to_owned())?;
    Page::parse(path, &text)
}

/// Executes and validates all blocks of a page, and writes its transcript to `target/transcripts`.
///
/// # Errors
/// Page, line, block and output of what failed.
pub fn check(path: &str) -> Result<()> {
    let page = page(path)?;
    if GENERATED.iter().any(|folder| path.starts_with(folder)) {
        return generated(&page);
    }
    for block in &page.blocks {
        let place = || format!("{path}:{}: \"{}\"", block.line, block.heading);
        match &block.action {
            Action::Validate => fragment::validate(&block.text).with_context(place)?,
            Action::Parse(format) => parse(*format, &block.text).with_context(place)?,
            _ => {}
        }
    }
    if page.blocks.iter().any(|block| matches!(block.action, Action::Run(_))) {
        execute(&page)?;
    }
    Ok(())
}

fn parse(format: Format, text: &str) -> Result<()> {
    match format {
        Format::Toml => drop(toml::from_str::<toml::Table>(text)?),
        Format::Yaml => drop(serde_saphyr::from_str::<serde_json::Value>(text)?),
        Format::Json => drop(serde_json::from_str::<serde_json::Value>(text)?),
    }
    Ok(())
}

/// The blocks of a generated page are examples, which are applied by their own test; here it is enough that they are the same.
/// Imports have made-up IDs.
fn generated(page: &Page) -> Result<()> {
    let mut examples = Vec::new();
    for folder in ["resources", "data-sources", "ephemeral-resources", "functions"] {
        read_examples(&workspace_root().join("examples").join(folder), &mut examples)?;
    }
    for block in &page.blocks {
        let text = block.text.trim();
        let good = match &block.action {
            Action::Validate => {
                text.starts_with("import {") || examples.iter().any(|example| text.ends_with(example.trim()))
            }
            Action::Run(_) => text.starts_with("terraform import "),
            _ => true,
        };
        ensure!(
            good,
            "{}:{}: \"{}\": the block is no import, and the text of no file of examples/",
            page.path,
            block.line,
            block.heading
        );
    }
    Ok(())
}

fn read_examples(folder: &Path, all: &mut Vec<String>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            read_examples(&path, all)?;
        } else if path.extension().is_some_and(|extension| extension == "tf") {
            all.push(fs::read_to_string(path)?);
        }
    }
    Ok(())
}

/// A temporary folder that looks like a fresh clone, and where the session keeps its own files.
struct Clone {
    root: TempDir,
    scratch: TempDir,
}

impl Clone {
    fn new() -> Result<Clone> {
        let root = tempfile::Builder::new().prefix("warren-docs-").tempdir()?;
        let clone = Clone { root, scratch: tempfile::tempdir()? };
        let own = Terraform::new(crate::SOURCE, &build_folder()?)?;
        for folder in ["examples", "modules"] {
            own.copy(&workspace_root().join(folder), folder)?;
            let status = std::process::Command::new("cp")
                .arg("-r")
                .args([own.folder().join(folder), clone.path(folder)])
                .status()?;
            ensure!(status.success(), "cannot copy {folder}");
        }
        for name in LINKED {
            symlink(workspace_root().join(name), clone.path(name))?;
        }
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        for folder in ["home", "run", "tmp", "bin"] {
            private.create(clone.scratch.path().join(folder))?;
        }
        fs::create_dir(clone.path("target"))?;
        symlink(std::path::absolute(build_folder()?)?, clone.path("target/debug"))?;
        for program in ["warren", "warren-tunnel"] {
            symlink(
                std::path::absolute(build_folder()?.join(program))?,
                clone.scratch.path().join("bin").join(program),
            )?;
        }
        symlink(own.program(), clone.scratch.path().join("bin/terraform"))?;
        Ok(clone)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// What a session has: a home of its own, the programs, and answers to Terraform's questions.
    fn environment(&self) -> Vec<(String, String)> {
        let own = |name: &str| self.scratch.path().join(name).display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let fixed = [
            ("HOME", own("home")),
            ("XDG_RUNTIME_DIR", own("run")),
            ("TMPDIR", own("tmp")),
            ("PATH", format!("{}:{path}", own("bin"))),
            ("LANG", "C.UTF-8".to_owned()),
            ("CHECKPOINT_DISABLE", "1".to_owned()),
            ("TF_INPUT", "0".to_owned()),
            ("TF_CLI_ARGS_plan", "-no-color".to_owned()),
            ("TF_CLI_ARGS_init", "-no-color".to_owned()),
            ("TF_CLI_ARGS_validate", "-no-color".to_owned()),
            ("TF_CLI_ARGS_apply", "-no-color -auto-approve".to_owned()),
            ("TF_CLI_ARGS_destroy", "-no-color -auto-approve".to_owned()),
        ];
        fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn execute(page: &Page) -> Result<()> {
    let clone = Clone::new()?;
    let mut environment = clone.environment();
    let text: Vec<&str> = page.blocks.iter().map(|block| block.text.as_str()).collect();
    let text = text.concat();
    let listens = text.contains("warren-tunnel");
    let _turn = listens.then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
    let guide = page.path.starts_with("docs/guides/");
    let wants_clouds = if guide { text.contains("target/sandbox/env") } else { text.contains("terraform ") };
    let sandbox =
        wants_clouds.then(|| Sandbox::start(&clone.path("target/sandbox"), &build_folder()?)).transpose()?;
    // Other pages than guides expect credentials to be set.
    if let Some(sandbox) = &sandbox
        && !guide
    {
        environment.extend(sandbox.variables().into_iter().map(|(name, value)| (name.to_owned(), value)));
        let [(_, _), (_, google), (_, runpod)] = sandbox.endpoints();
        let endpoint = match page.path.as_str() {
            path if path.contains("/gcp-") => Some(google),
            path if path.contains("/gpu-pods/") => Some(runpod),
            _ => None,
        };
        environment.extend(endpoint.map(|url| ("TF_VAR_endpoint_url".to_owned(), url)));
    }
    let mut host = Host::new()?;
    for (_, endpoint) in sandbox.iter().flat_map(Sandbox::endpoints) {
        host.connect(&endpoint)?;
    }
    let outcome = session::run(&host, page, clone.root.path(), clone.scratch.path(), &environment)?;
    let transcript = write_transcript(page, &clone, &outcome.transcript)?;
    if let Some(failure) = outcome.failure {
        bail!("{failure}\nAll of it is in {}", transcript.display());
    }
    if let Some(sandbox) = sandbox.filter(|_| guide) {
        sandbox
            .cloud
            .nothing_left()
            .with_context(|| format!("{}: how to undo it leaves something", page.path))?;
    }
    Ok(())
}

/// Writes a transcript in which the session's folders have the names that a reader's have.
fn write_transcript(page: &Page, clone: &Clone, transcript: &str) -> Result<PathBuf> {
    let folder = workspace_root().join("target/transcripts");
    let path = folder.join(page.path.replace('/', "-")).with_extension("txt");
    fs::create_dir_all(&folder)?;
    let named = transcript
        .replace(&clone.root.path().display().to_string(), "/home/you/warren")
        .replace(&clone.scratch.path().join("home").display().to_string(), "/home/you")
        .replace(&clone.scratch.path().display().to_string(), "/tmp/you");
    fs::write(&path, named)?;
    Ok(path)
}

/// The page that lists all blocks which are not executed, with the reasons.
///
/// # Errors
/// A page cannot be read.
pub fn exceptions() -> Result<String> {
    let mut rows = Vec::new();
    for path in pages()? {
        for block in page(&path)?.blocks {
            let Action::Skip(reason) = &block.action else { continue };
            let first = block.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let first = first.split("  #").next().unwrap_or_default().trim().replace('|', "\\|");
            rows.push(format!("| [{path}](../../{path}) | {} | `` {first} `` | {reason} |\n", block.heading));
        }
    }
    let count = match rows.len() {
        1 => "1 block is".to_owned(),
        count => format!("{count} blocks are"),
    };
    Ok(format!(
        "# Code blocks that are not executed\n\n\
         A test executes the code blocks of this documentation. {count} excepted. `cargo xtask docs` writes this list.\n\n\
         The import commands and blocks of the generated pages are not executed either: their IDs are made up. Other \
         tests import objects of the emulated clouds.\n\n\
         | Page | Section | Block begins with | Reason |\n|---|---|---|---|\n{}",
        rows.concat()
    ))
}

/// Writes the list of [`exceptions`], or with `check` fails where it is out of date.
///
/// # Errors
/// It is out of date, or cannot be written.
pub fn write_exceptions(check: bool) -> Result<()> {
    let path = workspace_root().join(EXCEPTIONS);
    let text = exceptions()?;
    if fs::read_to_string(&path).ok().as_ref() == Some(&text) {
        return Ok(());
    }
    ensure!(!check, "{EXCEPTIONS} is out of date; `cargo xtask docs` writes it");
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    fs::write(&path, text)?;
    Ok(())
}
