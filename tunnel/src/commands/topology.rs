//! `topology`: generates the `[site]` sections of gateways from one description.

use std::fs;

use warren_wire::topology::Topology;

use super::print;
use crate::cli::TopologyArgs;
use crate::runtime::problem::{Context as _, Problem, Result};

/// Prints the sections of all gateways, or of one.
///
/// # Errors
/// When the description cannot be read or is invalid, or has no such site.
pub fn topology(args: &TopologyArgs) -> Result<()> {
    let text = fs::read_to_string(&args.file)
        .while_doing(|| format!("cannot read topology {}", args.file.display()))
        .map_err(|problem| {
            problem.hint("check the path; `warren-tunnel topology --help` shows an example file")
        })?;
    let topology = Topology::parse(&text).map_err(|error| {
        Problem::new(format!("{}:{}:{}: {}", args.file.display(), error.line, error.column, error.what))
            .hint(error.hint)
    })?;
    let Some(site) = &args.site else { return print(&topology.to_string()) };
    let sections = topology.sections();
    let Some(section) = sections.iter().find(|section| section.name == *site) else {
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        return Err(Problem::new(format!("{}: no site `{site}`", args.file.display()))
            .hint(format!("use one of its sites: {}", names.join(", "))));
    };
    print(&section.to_string())
}
