//! Plans that `terraform plan -out` saved. Only Terraform can read them, with the providers of the configuration.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that read a saved plan, the first one on `PATH`.
const PROGRAMS: &[&str] = &["terraform", "tofu"];

/// The plan as JSON, or the bytes themselves if no program on `PATH` can read them.
pub(crate) fn show(file: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(program) = PROGRAMS.iter().find_map(|name| on_path(name)) else { return Ok(bytes) };
    let path = std::path::absolute(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let mut command = Command::new(&program);
    command.args(["show", "-json", "-no-color"]).arg(&path);
    // Terraform needs the providers, which are next to the configuration.
    if let Some(folder) = path.parent().filter(|folder| folder.join(".terraform").is_dir()) {
        command.current_dir(folder);
    }
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let output =
        command.output().map_err(|error| format!("{file}: cannot run {}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = said.lines().map(|line| line.trim_matches(|c| c == '│' || c == '╷' || c == '╵' || c == ' '));
    let said: Vec<&str> = lines.filter(|line| !line.is_empty()).take(4).collect();
    Err(format!(
        "{file}: this is a saved plan, and `{name} show -json` cannot read it: {}; run `{name} show -json {file} > plan.json` in the folder of the configuration, after `{name} init`",
        said.join(" ")
    ))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| runs(file))
}

#[cfg(unix)]
fn runs(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn runs(file: &Path) -> bool {
    file.is_file()
}
