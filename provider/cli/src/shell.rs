//! `warren completions` and `warren man`: what a shell and `man` know about the command.

use crate::args::Args;
use crate::{FINE, Outcome, Streams, emit_bytes};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::path::PathBuf;

const COMPLETIONS_AFTER: &str = "Examples:
  # Bash, for the current user
  mkdir -p ~/.local/share/bash-completion/completions
  warren completions bash > ~/.local/share/bash-completion/completions/warren

  # Fish
  warren completions fish > ~/.config/fish/completions/warren.fish

Exit codes:
  0  the script was written
  2  invalid arguments, or standard output cannot be written";

#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_AFTER)]
pub(crate) struct Completions {
    /// Shell that the script is for.
    #[arg(value_name = "SHELL", value_parser = shells())]
    shell: Shell,
}

/// The shells, each with a description for `--help`.
fn shells() -> impl clap::builder::TypedValueParser<Value = Shell> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let known = [
        ("bash", "Bash 4 or later."),
        ("elvish", "Elvish."),
        ("fish", "Fish."),
        ("powershell", "PowerShell."),
        ("zsh", "Z shell."),
    ];
    let values = known.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Shell>())
}

const MAN_AFTER: &str = "Examples:
  # Install the pages for the current user
  warren man ~/.local/share/man/man1
  man warren-check

Exit codes:
  0  the pages were written
  2  invalid arguments, or a page cannot be written";

#[derive(Debug, clap::Args)]
#[command(after_help = MAN_AFTER)]
pub(crate) struct Man {
    /// Folder for the pages, which is created if it is missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn completions(arguments: &Completions, streams: &mut Streams<'_>) -> Outcome {
    let mut bytes = Vec::new();
    clap_complete::generate(arguments.shell, &mut Args::command(), "warren", &mut bytes);
    emit_bytes(&bytes, None, streams).map(|()| FINE)
}

pub(crate) fn man(arguments: &Man) -> Outcome {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .map_err(|error| vec![format!("cannot create {}: {error}", folder.display())])?;
    let command = Args::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder)
        .map_err(|error| vec![format!("cannot write to {}: {error}", folder.display())])?;
    Ok(FINE)
}
