//! Terraform plan and state JSON, address-plan files and claims, read into the cloud-neutral model.
//!
//! The crate is pure: it takes texts and names, and opens nothing. Values that Terraform marks sensitive are never
//! read; values known only after apply are counted, not guessed.

mod address_plan;
mod claims;
mod node;
mod policy;
mod terraform;

use std::fmt;
use warren_model::topology::Plan;
use warren_model::{Model, Position};

pub use address_plan::AddressPlan;
pub use claims::read_claims;
pub use policy::read_policy;

/// One text to read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name as the user gave it; the ending tells the syntax.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Who owns it, if the user says so; stronger than what the text says.
    pub owner: Option<&'a str>,
}

/// What a text turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// An address plan, still to be solved.
    AddressPlan(Box<AddressPlan>),
    /// A Terraform plan or state.
    Terraform {
        /// Whose it is.
        owner: String,
        /// What it holds.
        model: Box<Model>,
    },
}

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputError {
    /// Name of the input.
    pub file: String,
    /// Place in it.
    pub at: Option<Position>,
    /// Attribute path; empty for errors of syntax.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// One thing to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InputError {}

/// Reads an address plan (YAML, JSON, TOML) or the output of `terraform show -json`.
///
/// The name's ending tells the syntax; without one, a text that starts with `{` is JSON and any other is YAML.
///
/// # Errors
/// Every error in the text, in its order.
pub fn read(source: &Source<'_>) -> Result<Input, Vec<InputError>> {
    let tree = tree(source).map_err(|error| vec![error])?;
    if is_json(source) && terraform::looks_like(&tree) {
        return terraform::read(source, &tree).map_err(|error| vec![error]);
    }
    address_plan::read(source, &tree).map(|plan| Input::AddressPlan(Box::new(plan)))
}

/// The text without the mark that some editors put at its start.
fn text_of<'a>(source: &Source<'a>) -> &'a str {
    source.text.strip_prefix('\u{feff}').unwrap_or(source.text)
}

fn ending(source: &Source<'_>) -> Option<String> {
    source.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

fn is_json(source: &Source<'_>) -> bool {
    match ending(source).as_deref() {
        Some("toml" | "yaml" | "yml") => false,
        Some("json") => true,
        _ => text_of(source).trim_start().starts_with('{'),
    }
}

/// The text as a tree, in the syntax that its name's ending tells.
fn tree(source: &Source<'_>) -> Result<node::Node, InputError> {
    let text = text_of(source);
    if is_json(source) {
        node::parse_json(source.name, text)
    } else if ending(source).as_deref() == Some("toml") {
        node::parse_toml(source.name, text)
    } else {
        node::parse_yaml(source.name, text)
    }
}

/// Reads the output of `terraform show -json`, a plan or a state, as objects and what the run does to them.
///
/// # Errors
/// The text is not JSON, or not Terraform's.
pub fn read_topology(source: &Source<'_>) -> Result<Plan, InputError> {
    let tree = node::parse_json(source.name, text_of(source))?;
    if !terraform::looks_like(&tree) {
        return Err(InputError {
            file: source.name.to_owned(),
            at: None,
            path: String::new(),
            message: "this is neither a plan nor a state of Terraform's".to_owned(),
            hint: Some("make the file with: terraform show -json PLANFILE > plan.json".to_owned()),
        });
    }
    terraform::check_version(source.name, &tree)?;
    Ok(terraform::topology::read(source.name, &tree))
}
