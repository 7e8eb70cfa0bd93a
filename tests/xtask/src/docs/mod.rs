//! Documentation that is generated: the pages of the Terraform Registry, the command-line reference, and the tables of the modules.

mod cli;
mod markdown;
mod modules;
pub(crate) mod output;
mod permissions;
mod registry;
mod schema;
pub(crate) mod templates;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use self::output::Output;
use crate::{bench, build, kill};

/// Writes every generated page, or with `check` reports those that are out of date.
///
/// The binaries are built first, unless `WARREN_BUILD_FOLDER` names the folder that they are in. Pages that can be made are written even where others cannot: the error names what those lack.
pub(crate) fn run(check: bool) -> Result<()> {
    let folder = match std::env::var_os("WARREN_BUILD_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => build::products()?,
    };
    let mut output = Output::default();
    let mut problems = modules::readmes(&mut output)?;
    cli::pages(&folder, &mut output)?;
    bench::page::pages(&mut output)?;
    kill::page::pages(&mut output)?;
    permissions::files(&mut output)?;
    problems.extend(registry::pages(&folder, &mut output)?);
    let outcome = output.finish(check, problems.is_empty());
    ensure!(problems.is_empty(), "pages that cannot be generated:\n- {}", problems.join("\n- "));
    outcome
}
