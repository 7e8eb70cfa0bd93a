//! The tables in the READMEs of the modules, as terraform-docs lays them out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use hcl_edit::Span as _;
use hcl_edit::structure::{Attribute, Block, Body};
use warren_harness::workspace_root;

use super::output::Output;

const BEGIN: &str = "<!-- BEGIN_TF_DOCS -->";
const END: &str = "<!-- END_TF_DOCS -->";

/// Adds the README of every module and returns what is missing.
pub(crate) fn readmes(output: &mut Output) -> Result<Vec<String>> {
    let root = workspace_root();
    let mut problems = Vec::new();
    for folder in folders(&root.join("modules"))? {
        let file = folder.strip_prefix(&root)?.join("README.md");
        let Ok(readme) = std::fs::read_to_string(root.join(&file)) else {
            problems.push(format!("{} is missing: every module has one", file.display()));
            continue;
        };
        let tables = Module::read(&folder)?.tables(&up(&file));
        output.file(file, fill(&readme, &tables));
    }
    Ok(problems)
}

/// The folders below `folder` with Terraform files in them.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.sort();
    let mut found = Vec::new();
    if paths.iter().any(|path| is_terraform(path)) {
        found.push(folder.to_owned());
    }
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !hidden {
            found.extend(folders(&path)?);
        }
    }
    Ok(found)
}

fn is_terraform(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tf")
}

/// From the folder of `file` to the root: `../../`.
fn up(file: &Path) -> String {
    "../".repeat(file.components().count() - 1)
}

/// A README with `tables` between the markers, which are added at its end where they are missing.
fn fill(readme: &str, tables: &str) -> String {
    let (before, after) = match readme.split_once(BEGIN) {
        Some((before, rest)) => {
            (before.trim_end(), rest.split_once(END).map_or("", |(_, after)| after).trim())
        }
        None => (readme.trim_end(), ""),
    };
    let mut text = format!("{before}\n\n{BEGIN}\n{}\n{END}\n", tables.trim());
    if !after.is_empty() {
        let _ = write!(text, "\n{after}\n");
    }
    text
}

/// What a module declares.
#[derive(Default)]
struct Module {
    terraform: Option<String>,
    providers: Vec<(String, String, Option<String>)>,
    modules: Vec<(String, String)>,
    resources: Vec<(String, String, &'static str)>,
    inputs: Vec<Input>,
    outputs: Vec<(String, String)>,
}

struct Input {
    name: String,
    description: String,
    ty: String,
    default: Option<String>,
}

impl Module {
    fn read(folder: &Path) -> Result<Module> {
        let mut module = Module::default();
        let mut paths =
            std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.retain(|path| is_terraform(path));
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path)?;
            let body = text.parse::<Body>().with_context(|| format!("{} is not HCL", path.display()))?;
            for block in body.blocks() {
                module.add(block, &text);
            }
        }
        module.providers.sort();
        module.modules.sort();
        module.resources.sort();
        module.inputs.sort_by(|one, other| {
            (one.default.is_some(), &one.name).cmp(&(other.default.is_some(), &other.name))
        });
        module.outputs.sort();
        Ok(module)
    }

    fn add(&mut self, block: &Block, text: &str) {
        let label =
            |at: usize| block.labels.get(at).map(|label| label.as_str().to_owned()).unwrap_or_default();
        let string = |name: &str| Some(block.body.get_attribute(name)?.value.as_str()?.to_owned());
        let source = |name: &str| Some(source(block.body.get_attribute(name)?, text));
        match block.ident.as_str() {
            "terraform" => {
                self.terraform = string("required_version").or(self.terraform.take());
                for providers in block.body.get_blocks("required_providers") {
                    self.providers.extend(providers.body.attributes().map(provider));
                }
            }
            "module" => self.modules.push((label(0), string("source").unwrap_or_default())),
            "resource" => self.resources.push((label(0), label(1), "resource")),
            "data" => self.resources.push((label(0), label(1), "data source")),
            "ephemeral" => self.resources.push((label(0), label(1), "ephemeral resource")),
            "variable" => self.inputs.push(Input {
                name: label(0),
                description: string("description").unwrap_or_default(),
                ty: source("type").unwrap_or_else(|| "any".to_owned()),
                default: source("default"),
            }),
            "output" => self.outputs.push((label(0), string("description").unwrap_or_default())),
            _ => {}
        }
    }

    fn tables(&self, up: &str) -> String {
        let mut text = String::new();
        let terraform = self.terraform.iter().map(|version| ("terraform", version.as_str()));
        let providers = self.providers.iter();
        let required = providers.filter_map(|(name, _, version)| Some((name.as_str(), version.as_deref()?)));
        let rows = terraform
            .chain(required)
            .map(|(name, version)| format!("{} | {version}", named("requirement", name)));
        table(&mut text, "Requirements", "Name | Version", rows);
        let rows = self.providers.iter().map(|(name, _, version)| {
            format!("{} | {}", named("provider", name), version.as_deref().unwrap_or("n/a"))
        });
        table(&mut text, "Providers", "Name | Version", rows);
        let rows = self.modules.iter().map(|(name, source)| {
            let link = if source.starts_with('.') { format!("[{source}]({source})") } else { source.clone() };
            format!("{} | {link} | n/a", named("module", name))
        });
        table(&mut text, "Modules", "Name | Source | Version", rows);
        let rows = self.resources.iter().map(|(ty, name, kind)| {
            let full = format!("`{ty}.{name}`");
            match ty.strip_prefix("warren_") {
                Some(short) => format!("[{full}]({up}docs/{}s/{short}.md) | {kind}", kind.replace(' ', "-")),
                None => format!("{full} | {kind}"),
            }
        });
        table(&mut text, "Resources", "Name | Type", rows);
        let rows = self.inputs.iter().map(|input| {
            let required = if input.default.is_some() { "no" } else { "yes" };
            let default = input.default.as_deref().map_or_else(|| "n/a".to_owned(), code);
            let description = cell(&input.description);
            format!(
                "{} | {description} | {} | {default} | {required}",
                named("input", &input.name),
                code(&input.ty)
            )
        });
        table(&mut text, "Inputs", "Name | Description | Type | Default | Required", rows);
        let rows =
            self.outputs.iter().map(|(name, text)| format!("{} | {}", named("output", name), cell(text)));
        table(&mut text, "Outputs", "Name | Description", rows);
        text
    }
}

/// The name, source and version of an entry of `required_providers`.
fn provider(attribute: &Attribute) -> (String, String, Option<String>) {
    let field = |name: &str| {
        let object = attribute.value.as_object()?;
        let found = object.iter().find(|(key, _)| key.as_ident().is_some_and(|key| key.as_str() == name))?;
        Some(found.1.expr().as_str()?.to_owned())
    };
    (attribute.key.as_str().to_owned(), field("source").unwrap_or_default(), field("version"))
}

/// The value of an attribute as it is written, without the indentation of its block.
fn source(attribute: &Attribute, text: &str) -> String {
    let value = attribute.value.span().and_then(|span| text.get(span)).unwrap_or_default();
    let lines = value.trim().lines().enumerate();
    let lines = lines.map(|(at, line)| if at == 0 { line } else { line.strip_prefix("  ").unwrap_or(line) });
    lines.collect::<Vec<_>>().join("\n")
}

fn table(text: &mut String, title: &str, columns: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<String> = rows.collect();
    let _ = writeln!(text, "## {title}\n");
    if rows.is_empty() {
        let _ = writeln!(text, "No {}.\n", title.to_lowercase());
        return;
    }
    let line = columns.split(" | ").map(|column| "-".repeat(column.len() + 2)).collect::<Vec<_>>().join("|");
    let _ = writeln!(text, "| {columns} |\n|{line}|");
    for row in rows {
        let _ = writeln!(text, "| {row} |");
    }
    text.push('\n');
}

/// A name that links lead to.
fn named(kind: &str, name: &str) -> String {
    format!("<a name=\"{kind}_{name}\"></a> [`{name}`](#{kind}_{name})")
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A type or default as code on one line, which is all that a table's cell has. HCL separates attributes on one line by commas.
fn code(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")) {
        if !joined.is_empty() {
            let bracket = joined.ends_with(['{', '[', '(']) || line.starts_with(['}', ']', ')']);
            joined.push_str(if bracket || joined.ends_with(',') { " " } else { ", " });
        }
        joined.push_str(&line);
    }
    format!("`{}`", joined.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_filled_or_added() {
        assert_eq!(fill("# a\n", "T"), format!("# a\n\n{BEGIN}\nT\n{END}\n"));
        let once = fill("# a\n", "T");
        assert_eq!(fill(&once, "T"), once);
        let between = format!("# a\n{BEGIN}\nold\n{END}\n\nb\n");
        assert_eq!(fill(&between, "new"), format!("# a\n\n{BEGIN}\nnew\n{END}\n\nb\n"));
    }

    #[test]
    fn a_module_is_tabulated() {
        let text = r#"
terraform {
  required_version = ">= 1.8"
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

resource "warren_aws_vpc" "hub" {}

variable "ports" {
  description = "Ports."
  type = list(object({
    from = number
  }))
  default = []
}

variable "name" {
  type = string
}

output "vpc_id" {
  description = "ID."
  value       = 1
}
"#;
        let mut module = Module::default();
        for block in text.parse::<Body>().unwrap().blocks() {
            module.add(block, text);
        }
        let tables = module.tables("../../");
        for expected in [
            "| <a name=\"requirement_terraform\"></a> [`terraform`](#requirement_terraform) | >= 1.8 |",
            "[`warren`](#provider_warren) | n/a |",
            "| [`warren_aws_vpc.hub`](../../docs/resources/aws_vpc.md) | resource |",
            "| Ports. | `list(object({ from = number }))` | `[]` | no |",
            "[`name`](#input_name) |  | `string` | n/a | yes |",
            "[`vpc_id`](#output_vpc_id) | ID. |",
            "No modules.",
        ] {
            assert!(tables.contains(expected), "{expected} is not in\n{tables}");
        }
    }
}
