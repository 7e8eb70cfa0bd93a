//! Plans that `terraform plan -out` saved. Only Terraform can read them, with the providers of the configuration.

use std::io::ErrorKind;
use std::process::Command;

/// Programs that read a saved plan; the first one on `PATH` does.
const PROGRAMS: &[&str] = &["terraform", "tofu"];

/// The plan as JSON, or the bytes themselves if no program on `PATH` can read them.
pub(crate) fn show(file: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let path = std::path::absolute(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    for name in PROGRAMS {
        let mut command = Command::new(name);
        command.args(["show", "-json", "-no-color"]).arg(&path);
        // Terraform needs the providers, which are next to the configuration.
        if let Some(folder) = path.parent().filter(|folder| folder.join(".terraform").is_dir()) {
            command.current_dir(folder);
        }
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                continue;
            }
            Err(error) => return Err(format!("{file}: cannot run {name}: {error}")),
        };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines =
            said.lines().map(|line| line.trim_matches(|c| c == '│' || c == '╷' || c == '╵' || c == ' '));
        let said: Vec<&str> = lines.filter(|line| !line.is_empty()).take(4).collect();
        return Err(format!(
            "{file}: this is a saved plan, and `{name} show -json` cannot read it: {}; run `{name} show -json {file} > plan.json` in the folder of the configuration, after `{name} init`",
            said.join(" ")
        ));
    }
    Ok(bytes)
}
