//! The provider's reference documentation, from its own schema: what the registry shows, and what the user reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use warren_harness::{Terraform, workspace_root};

use crate::build;

/// Writes `docs/reference/`, or with `check` fails where a file is not what would be written.
pub(crate) fn run(check: bool) -> Result<()> {
    let schema = schema()?;
    let provider = &schema["provider_schemas"]["registry.terraform.io/warren-net/warren"];
    ensure!(provider.is_object(), "Terraform tells no schema of the provider");
    let mut files = BTreeMap::from([("index.md".to_owned(), provider_page(provider))]);
    for (kind, title) in [
        ("resource_schemas", "resources"),
        ("data_source_schemas", "data-sources"),
        ("ephemeral_resource_schemas", "ephemeral-resources"),
    ] {
        for (name, schema) in provider[kind].as_object().into_iter().flatten() {
            let short = name.strip_prefix("warren_").unwrap_or(name);
            files.insert(format!("{title}/{short}.md"), page(name, schema));
        }
    }
    for (name, function) in provider["functions"].as_object().into_iter().flatten() {
        files.insert(format!("functions/{name}.md"), function_page(name, function));
    }
    let folder = workspace_root().join("docs/reference");
    let mut stale = Vec::new();
    for (name, text) in &files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).ok().as_ref() == Some(text) {
            continue;
        }
        stale.push(name.clone());
        if !check {
            std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            std::fs::write(&path, text)?;
        }
    }
    let gone = obsolete(&folder, &files)?;
    if check {
        ensure!(
            stale.is_empty() && gone.is_empty(),
            "docs/reference is out of date: {stale:?} {gone:?}; `cargo xtask docs` writes it"
        );
    } else {
        for path in gone {
            std::fs::remove_file(path)?;
        }
    }
    println!(
        "docs/reference: {} files, {} {}",
        files.len(),
        stale.len(),
        if check { "stale" } else { "written" }
    );
    Ok(())
}

fn schema() -> Result<Value> {
    let terraform = Terraform::new("warren-net/warren", &build::products()?)?;
    terraform.write(
        "main.tf",
        "terraform {\n  required_providers {\n    warren = { source = \"warren-net/warren\" }\n  }\n}\n",
    )?;
    terraform.run(&["providers", "schema", "-json"])?.success()?.json()
}

fn obsolete(folder: &std::path::Path, files: &BTreeMap<String, String>) -> Result<Vec<PathBuf>> {
    let mut gone = Vec::new();
    for part in ["resources", "data-sources", "ephemeral-resources", "functions"] {
        let Ok(entries) = std::fs::read_dir(folder.join(part)) else { continue };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !files.contains_key(&format!("{part}/{name}")) {
                gone.push(path);
            }
        }
    }
    Ok(gone)
}

fn provider_page(provider: &Value) -> String {
    let block = &provider["provider"]["block"];
    format!(
        "# Provider `warren`\n\n{}\n\n## Attributes\n\n{}",
        text(&block["description"]),
        attributes(block, 0)
    )
}

fn page(name: &str, schema: &Value) -> String {
    let block = &schema["block"];
    format!("# {name}\n\n{}\n\n## Attributes\n\n{}", text(&block["description"]), attributes(block, 0))
}

fn function_page(name: &str, function: &Value) -> String {
    let mut page = format!("# provider::warren::{name}\n\n{}\n\n", text(&function["description"]));
    let _ = writeln!(page, "Returns {}.\n\n## Parameters\n", type_name(&function["return_type"]));
    let variadic = function.get("variadic_parameter").into_iter();
    for parameter in function["parameters"].as_array().into_iter().flatten().chain(variadic) {
        let _ = writeln!(
            page,
            "- `{}` ({}): {}",
            text(&parameter["name"]),
            type_name(&parameter["type"]),
            text(&parameter["description"])
        );
    }
    page
}

fn attributes(block: &Value, depth: usize) -> String {
    let mut list = String::new();
    for (name, attribute) in block["attributes"].as_object().into_iter().flatten() {
        let is = |flag: &str| attribute[flag] == Value::Bool(true);
        let how = match (is("required"), is("optional"), is("computed")) {
            (true, ..) => "required",
            (_, true, _) => "optional",
            _ => "read-only",
        };
        let nested = &attribute["nested_type"];
        let ty = if nested.is_object() {
            match nested["nesting_mode"].as_str().unwrap_or_default() {
                "single" => "object".to_owned(),
                mode => format!("{mode} of objects"),
            }
        } else {
            type_name(&attribute["type"])
        };
        let indent = "  ".repeat(depth);
        let _ = writeln!(list, "{indent}- `{name}` ({how}, {ty}): {}", text(&attribute["description"]));
        if nested.is_object() {
            list += &attributes(nested, depth + 1);
        }
    }
    list
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A type as prose: `list of string`.
fn type_name(ty: &Value) -> String {
    match ty {
        Value::String(name) => name.clone(),
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(kind), Value::Object(_)] => kind.clone(),
            [Value::String(kind), element] => format!("{kind} of {}", type_name(element)),
            _ => "value".to_owned(),
        },
        _ => "value".to_owned(),
    }
}
