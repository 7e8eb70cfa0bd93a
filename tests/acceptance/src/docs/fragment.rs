//! HCL that a page shows as a fragment, held against the provider's schema and the modules' variables.

use std::collections::BTreeSet;

use anyhow::Result;
use warren_harness::{Terraform, workspace_root};

use crate::{SOURCE, build_folder};

/// Where published pages take modules from.
const PUBLISHED: &str = "github.com/warren-net/warren//modules/";

/// A provider block for fragments that have none.
const PROVIDER: &str = r#"
provider "warren" {
  fabric = "fragment"
  owner  = "docs"
  aws    = { region = "us-east-1" }
  gcp    = { project = "acme-ml", region = "us-central1" }
  runpod = {}
}
"#;

const REQUIRED: &str = r#"
terraform {
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}
"#;

/// Validates a fragment with the provider built here and this repository's modules. What it refers to and does not declare is
/// an unknown value of any type.
///
/// # Errors
/// Terraform cannot be run, or refuses it.
pub(super) fn validate(fragment: &str) -> Result<()> {
    let terraform = Terraform::new(SOURCE, &build_folder()?)?;
    terraform.copy(&workspace_root().join("modules"), "modules")?;
    let (text, stubs) = complete(fragment);
    terraform.write("fragment.tf", &text)?;
    terraform.write("stubs.tf", &stubs)?;
    terraform.get()?.success()?;
    terraform.validate()?.success()?;
    Ok(())
}

/// The fragment with local sources of modules and a variable in place of what it does not declare; and the rest of the
/// configuration.
fn complete(fragment: &str) -> (String, String) {
    let text = fragment.replace(PUBLISHED, "./modules/");
    let declared = declared(&text);
    let mut stubs = String::new();
    let has = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
    if !has("terraform {") {
        stubs += REQUIRED;
    }
    if !has("provider \"warren\"") {
        stubs += PROVIDER;
    }
    let mut variables = BTreeSet::from(["undeclared".to_owned()]);
    let mut result = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let word: usize = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if word == 0 {
            let other = rest.find(is_word).unwrap_or(rest.len());
            result += &rest[..other];
            rest = &rest[other..];
            continue;
        }
        let (reference, after) = rest.split_at(word);
        rest = after;
        let parts: Vec<&str> = reference.split('.').collect();
        let root = match parts[..] {
            ["var", name, ..] if !declared.contains(&format!("var.{name}")) => {
                variables.insert(name.to_owned());
                None
            }
            ["module" | "local", ..] if parts.len() > 1 => Some(2),
            ["data" | "ephemeral", ..] if parts.len() > 2 => Some(3),
            [kind, _, _, ..] if kind.starts_with("warren_") => Some(2),
            _ => None,
        };
        let root = root.filter(|length| {
            let name = parts[..*length].join(".");
            !(declared.contains(&name) || parts[0] == "local" && has("locals {"))
        });
        match root {
            Some(length) => {
                result += "var.undeclared";
                for part in &parts[length..] {
                    result.push('.');
                    result += part;
                }
            }
            None => result += reference,
        }
    }
    for name in variables {
        stubs += &format!("\nvariable \"{name}\" {{ type = any }}\n");
    }
    (result, stubs)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The roots of references that a text declares, such as `module.hub`.
fn declared(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('"')).collect();
        match words[..] {
            ["module", name, ..] => all.insert(format!("module.{name}")),
            ["variable", name, ..] => all.insert(format!("var.{name}")),
            ["resource", kind, name, ..] => all.insert(format!("{kind}.{name}")),
            [place @ ("data" | "ephemeral"), kind, name, ..] => all.insert(format!("{place}.{kind}.{name}")),
            _ => false,
        };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_declared_becomes_a_variable() {
        let (text, stubs) = complete(
            "resource \"warren_aws_vpc\" \"a\" {\n  name = var.name\n  x = module.hub.subnet_ids[\"public\"]\n}\n\
             output \"o\" { value = [warren_aws_vpc.a.id, warren_aws_vpc.b.id, \"${local.c}\"] }\n",
        );
        assert!(text.contains("x = var.undeclared.subnet_ids[\"public\"]"), "{text}");
        assert!(text.contains("[warren_aws_vpc.a.id, var.undeclared.id, \"${var.undeclared}\"]"), "{text}");
        assert!(stubs.contains("variable \"name\"") && stubs.contains("provider \"warren\""), "{stubs}");
    }

    #[test]
    fn a_wrong_fragment_is_refused_and_a_right_one_is_not() -> Result<()> {
        validate(
            "resource \"warren_aws_vpc\" \"a\" {\n  name       = \"a\"\n  cidr_block = module.plan.cidr\n}\n",
        )?;
        validate("module \"a\" {\n  source = \"github.com/warren-net/warren//modules/aws-spoke\"\n}\n")
            .unwrap_err();
        let wrong = validate("resource \"warren_aws_vpc\" \"a\" {\n  no_such = 1\n}\n").unwrap_err();
        assert!(format!("{wrong:#}").contains("no_such"), "{wrong:#}");
        Ok(())
    }
}
