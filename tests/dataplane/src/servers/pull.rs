//! A client of registries.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use warren_programs::program;

/// Pulls an image with skopeo, which verifies every digest, and returns the manifest. `on` returns the command that runs these
/// arguments on the client.
///
/// # Errors
/// A part of the image is not available; the error has the client's words.
pub fn pull(on: impl FnOnce(&[&str]) -> Command, reference: &str, authority: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let skopeo = program("skopeo")?.display().to_string();
    let (from, to) = (format!("docker://{reference}"), format!("dir:{}", folder.path().display()));
    let mut command = on(&[&skopeo, "--insecure-policy", "copy", "--retry-times", "1", &from, &to]);
    let output = command.env("SSL_CERT_FILE", authority).output()?;
    ensure!(output.status.success(), "{reference}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(std::fs::read(folder.path().join("manifest.json"))?)
}
