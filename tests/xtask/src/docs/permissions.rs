//! The files with the provider's permissions, and a page that says what needs each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use warren_acceptance::permissions::{FOLDER, IMPLICIT, Permissions};
use warren_acceptance::registry;

use super::output::Output;

/// Adds the files and the page.
pub(crate) fn files(output: &mut Output) -> Result<()> {
    let permissions = Permissions::of(&registry::pages()?);
    let folder = Path::new(FOLDER);
    output.own(folder);
    for (name, text) in permissions.files()? {
        output.file(folder.join(name), text);
    }
    output.file(folder.join("README.md"), page(&permissions));
    Ok(())
}

fn page(permissions: &Permissions) -> String {
    let mut page = "# What needs each permission\n\nGenerated from the calls of the provider. [Permissions](../guides/permissions.md) \
                    describes how to use the files in this folder.\n"
        .to_owned();
    for (title, list) in [("AWS", &permissions.aws), ("Google Cloud", &permissions.google)] {
        let _ = write!(page, "\n## {title}\n\n| Permission | Needed by | Remark |\n|---|---|---|\n");
        page += &rows(list);
    }
    page
}

fn rows(list: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut rows = String::new();
    for (permission, types) in list {
        let types: Vec<String> = types.iter().map(|name| link(name)).collect();
        let mut remarks: Vec<&str> = IMPLICIT
            .iter()
            .filter(|implicit| implicit.action == permission)
            .map(|implicit| implicit.why)
            .collect();
        remarks.dedup();
        let _ = writeln!(rows, "| `{permission}` | {} | {} |", types.join(", "), remarks.join("; "));
    }
    rows
}

/// The page of a resource, or of the provider.
fn link(name: &str) -> String {
    match registry::short(name) {
        "warren" => "[the provider](../index.md)".to_owned(),
        short => format!("[`{name}`](../resources/{short}.md)"),
    }
}
