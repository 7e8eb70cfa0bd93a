//! PreUp, PostUp, PreDown and PostDown commands.

use std::process::{Command, Stdio};

use crate::runtime::{
    host::InterfaceName,
    problem::{Problem, Result},
};

/// When a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before the interface is created.
    PreUp,
    /// After the interface is up.
    PostUp,
    /// Before the interface is removed.
    PreDown,
    /// After the interface is removed.
    PostDown,
}

/// Runs the commands of one stage with `sh -c`, in order. `%i` is replaced by the interface name.
///
/// # Errors
/// The first command that fails; later ones do not run. The command's text is not printed: it may hold secrets.
pub(super) fn run(stage: Stage, commands: &[String], interface: &InterfaceName) -> Result<()> {
    for (number, command) in commands.iter().enumerate() {
        let doing = || format!("{stage:?} command {}", number + 1);
        tracing::debug!("running {}", doing());
        let status = Command::new("/bin/sh")
            .arg("-c")
            .arg(command.replace("%i", interface.as_str()))
            .env_remove("WARREN_PRIVATE_KEY")
            .env("WG_QUICK_USERSPACE_IMPLEMENTATION", "warren-tunnel")
            .stdin(Stdio::null())
            .status()
            .map_err(|error| {
                Problem::new(format!("{}: /bin/sh: {error}", doing())).hint(
                    "hooks need a shell: add one to the image, or remove the hooks from the configuration",
                )
            })?;
        if !status.success() {
            return Err(Problem::new(format!("{} failed: {status}", doing()))
                .hint("see the command's own output above; hooks run in /bin/sh, not in Bash"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_put_in_and_failure_stops() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let name: InterfaceName = "wg9".parse().unwrap();
        let write = |text: &str| format!("echo {text} >> {}", file.display());
        run(Stage::PreUp, &[write("%i"), write("two")], &name).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "wg9\ntwo\n");
        let error = run(Stage::PostUp, &["exit 3".into(), write("three")], &name).unwrap_err();
        insta::assert_snapshot!(error);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "wg9\ntwo\n");
    }
}
