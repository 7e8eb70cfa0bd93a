//! Searches for secrets where they do not belong.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use warren_harness::{Call, Venv};

use super::Seen;
use crate::AllStage;

/// Proves that no secret is where it does not belong, and returns a summary of what it searched.
pub(super) fn searched(stage: &AllStage, plan: &Path, seen: &Seen) -> Result<String> {
    let mut secrets = secrets(&stage.cloud.aws.proxy().calls_of("PutParameter"));
    let added = stage.cloud.google.front().calls_of("secretmanager.projects.secrets.addVersion");
    secrets.extend(google_secrets(&added)?);
    let keys = secrets.len();
    ensure!(
        keys == 5,
        "the secret stores hold {keys} keys, expected two WireGuard keys, two TLS keys, and a signing key"
    );
    secrets
        .extend(stage.cloud.runpod.secrets().into_values().filter(|secret| secret.starts_with("v4.public.")));
    ensure!(secrets.len() == keys + 1, "expected one token, found {}", secrets.len() - keys);
    unpack(plan)?;
    let files = in_no_file(&stage.terraform.folder(), &secrets)?;
    for (what, text) in seen {
        ensure!(!text.is_empty(), "{what} is empty");
        ensure!(!lines(&secrets).any(|line| text.contains(line)), "a secret is in {what}");
    }
    Ok(format!(
        "none of {keys} keys and 1 token appears in {files} files (including Terraform's TRACE log) and {} logs and lists",
        seen.len()
    ))
}

/// All secret values that were written to the parameter store.
pub fn secrets(puts: &[Call]) -> Vec<String> {
    let secure = puts.iter().filter(|call| call.params.get("Type") == "SecureString");
    secure.map(|call| call.params.get("Value").to_owned()).collect()
}

/// All secret values that were added to Google's Secret Manager, without configurations.
///
/// # Errors
/// A payload is not text.
pub fn google_secrets(adds: &[Call]) -> Result<Vec<String>> {
    let keys = adds.iter().filter(|call| !call.params.get("parent").ends_with("-config"));
    let payload = |call: &Call| {
        let data = call.params.get("resource.payload.data");
        Ok(String::from_utf8(STANDARD.decode(data).or_else(|_| URL_SAFE.decode(data))?)?)
    };
    keys.map(payload).collect()
}

/// Unpacks a plan file, which is a ZIP archive, beside it, so that a search sees its contents.
///
/// # Errors
/// The file is not an archive.
pub fn unpack(plan: &Path) -> Result<()> {
    let folder = plan.with_extension("unpacked");
    let status = Command::new(Venv::ensure()?.python())
        .args(["-m", "zipfile", "-e"])
        .args([plan, &folder])
        .status()?;
    ensure!(status.success() && folder.join("tfplan").is_file(), "{} cannot be unpacked", plan.display());
    Ok(())
}

/// Proves that no file in a folder contains one of the secrets or a line of one, and returns the number of files.
///
/// # Errors
/// The files that contain one.
pub fn in_no_file(folder: &Path, secrets: &[String]) -> Result<usize> {
    let known = tempfile::NamedTempFile::new()?;
    std::fs::write(known.path(), lines(secrets).collect::<Vec<_>>().join("\n"))?;
    let grep = Command::new("grep")
        .args(["--recursive", "--files-with-matches", "--text", "--fixed-strings", "--file"])
        .args([known.path(), folder, known.path()])
        .output()?;
    let found = String::from_utf8_lossy(&grep.stdout).into_owned();
    // The list of secrets is searched too: a search that does not find it does not work.
    ensure!(found.trim() == known.path().display().to_string(), "secrets are in:\n{found}");
    count(folder)
}

fn count(folder: &Path) -> Result<usize> {
    let mut files = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(files)
}

/// The lines to search for: PEM keys line by line, because an encoder may separate them.
fn lines(secrets: &[String]) -> impl Iterator<Item = &str> {
    secrets.iter().flat_map(|secret| secret.lines()).filter(|line| line.len() >= 40)
}
