//! What the examples promise, and whether it is true.

use anyhow::{Result, ensure};
use warren_acceptance::promises::{ask, examples, table};

use crate::build;

/// Builds the binaries, asks about the examples, and prints the table.
pub(crate) fn run(wanted: &[String]) -> Result<()> {
    let all = examples()?;
    for name in wanted {
        ensure!(all.contains(name), "no example {name}; there are {}", all.join(", "));
    }
    build::products()?;
    let mut rows = Vec::new();
    for name in if wanted.is_empty() { &all } else { wanted } {
        eprintln!("{name}: applying, checking and probing");
        rows.extend(ask(name)?);
    }
    println!("{}", table(&rows));
    let broken = rows.iter().filter(|row| row.model.is_broken() || row.packets.is_broken()).count();
    ensure!(broken == 0, "{broken} of {} assertions are not confirmed by both", rows.len());
    Ok(())
}
