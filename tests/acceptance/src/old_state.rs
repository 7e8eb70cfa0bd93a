//! State that earlier versions of the provider wrote, in `tests/acceptance/fixtures/state`.
//!
//! Each type of resource has two files: the complete example as it was, `TYPE.tf`, and the state after its apply,
//! `TYPE.tfstate`. They are written once and then kept, whatever becomes of the example: users have such state too.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use warren_harness::{Terraform, workspace_root};

use crate::emulated_clouds::SECRETS;
use crate::registry::{Example, PageKind};

/// The configurations that have a stored state, in the order of their types.
///
/// # Errors
/// A file cannot be read.
pub fn configurations() -> Result<Vec<Example>> {
    let mut configurations = Vec::new();
    for entry in std::fs::read_dir(workspace_root().join(FOLDER))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tf") {
            let of = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            configurations.push(Example::read(PageKind::Resource, &of, &path)?);
        }
    }
    configurations.sort_by(|one, other| one.of.cmp(&other.of));
    Ok(configurations)
}

/// The state file of a type.
///
/// # Errors
/// It cannot be read.
pub fn read(of: &str) -> Result<String> {
    let path = file(of, "tfstate");
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// Stores the state of a complete example that was applied, unless its type has a stored state.
///
/// # Errors
/// A file cannot be read or written, or the state contains a secret.
pub fn store(example: &Example, terraform: &Terraform) -> Result<()> {
    let stored = file(&example.of, "tfstate");
    if example.kind != PageKind::Resource || example.name != "complete" || stored.exists() {
        return Ok(());
    }
    let text = std::fs::read_to_string(terraform.folder().join("terraform.tfstate"))?;
    for secret in SECRETS {
        ensure!(!text.contains(secret), "the state of {} contains a secret", example.file.display());
    }
    let mut state: Value = serde_json::from_str(&text)?;
    // Terraform chooses it at random, and no provider reads it.
    state["lineage"] = "00000000-0000-4000-8000-000000000000".into();
    std::fs::create_dir_all(stored.parent().unwrap_or(Path::new("")))?;
    std::fs::write(file(&example.of, "tf"), &example.text)?;
    std::fs::write(&stored, serde_json::to_string_pretty(&state)? + "\n")?;
    Ok(())
}

const FOLDER: &str = "tests/acceptance/fixtures/state";

fn file(of: &str, extension: &str) -> PathBuf {
    workspace_root().join(FOLDER).join(format!("{of}.{extension}"))
}
