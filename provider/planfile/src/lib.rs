//! Reads Terraform plans and states (JSON), address-plan files and claims into the cloud-neutral model.
//!
//! The crate is pure: its input is text with a name, and it opens no files. It never reads values that Terraform marks as
//! sensitive. It counts values known only after apply, and does not guess them.

mod address_plan;
mod capacity;
mod claims;
mod configuration;
mod decode;
mod node;
mod policy;
mod terraform;

use std::fmt;
use warren_model::topology::Plan;
use warren_model::{Model, Position};

pub use address_plan::AddressPlan;
pub use capacity::read_capacity;
pub use claims::read_claims;
pub use configuration::{Call, Configuration, Definition, read_configuration};
pub use decode::{decode, is_saved_plan};
pub use policy::read_policy;

/// One text to read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name, as the user wrote it. The file extension determines the syntax.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The owner that the user set, if any. It overrides the owner in the text.
    pub owner: Option<&'a str>,
}

/// The content of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// An address plan, not solved yet.
    AddressPlan(Box<AddressPlan>),
    /// A Terraform plan or state.
    Terraform {
        /// Its owner.
        owner: String,
        /// Its content.
        model: Box<Model>,
    },
}

/// The reason why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputError {
    /// Name of the input.
    pub file: String,
    /// Position in the input.
    pub at: Option<Position>,
    /// Attribute path. Empty for syntax errors.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// One thing to do.
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
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InputError {}

/// The position of a byte offset in a text.
pub fn position(text: &str, offset: usize) -> Position {
    node::Lines::new(text).at(offset)
}

/// Reads an address plan (YAML, JSON, TOML, CSV) or the output of `terraform show -json`.
///
/// The file extension determines the syntax. Without one, a text that starts with `{` is JSON, one with the header row of an address plan is CSV, and any other text is YAML.
///
/// # Errors
/// Every error in the text, in the order of the text.
pub fn read(source: &Source<'_>) -> Result<Input, Vec<InputError>> {
    terraform::check_text(source.name, text_of(source)).map_err(|error| vec![error])?;
    if ending(source).as_deref() == Some("csv") || has_no_ending(source) && node::is_csv(text_of(source)) {
        let tree = node::parse_csv(source.name, text_of(source))?;
        return address_plan::read(source, &tree).map(|plan| Input::AddressPlan(Box::new(plan)));
    }
    let tree = tree(source).map_err(|error| vec![error])?;
    if is_json(source) && terraform::looks_like(&tree) {
        let tree = terraform::prepare(source.name, tree).map_err(|error| vec![error])?;
        return Ok(terraform::read(source, &tree));
    }
    address_plan::read(source, &tree).map(|plan| Input::AddressPlan(Box::new(plan)))
}

/// The text without a byte order mark.
fn text_of<'a>(source: &Source<'a>) -> &'a str {
    source.text.strip_prefix('\u{feff}').unwrap_or(source.text)
}

fn ending(source: &Source<'_>) -> Option<String> {
    source.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

/// Whether the syntax follows from the text.
fn has_no_ending(source: &Source<'_>) -> bool {
    !matches!(ending(source).as_deref(), Some("json" | "toml" | "yaml" | "yml"))
}

fn is_json(source: &Source<'_>) -> bool {
    match ending(source).as_deref() {
        Some("toml" | "yaml" | "yml") => false,
        Some("json") => true,
        _ => text_of(source).trim_start().starts_with('{'),
    }
}

/// The text as a tree, in the syntax of its file extension.
fn tree(source: &Source<'_>) -> Result<node::Node, InputError> {
    let text = text_of(source);
    if is_json(source) {
        node::parse_outline(source.name, text, &terraform::FILE)
    } else if ending(source).as_deref() == Some("toml") {
        node::parse_toml(source.name, text)
    } else {
        node::parse_yaml(source.name, text)
    }
}

/// Reads the output of `terraform show -json`, a plan or a state, as objects and the changes to them.
///
/// # Errors
/// The text is not JSON, or not a Terraform plan or state.
pub fn read_topology(source: &Source<'_>) -> Result<Plan, InputError> {
    let hint = || Some("create the file with `terraform show -json PLANFILE > plan.json`".to_owned());
    terraform::check_text(source.name, text_of(source))?;
    let tree = node::parse_outline(source.name, text_of(source), &terraform::FILE)
        .map_err(|error| InputError { hint: hint(), ..error })?;
    if !terraform::looks_like(&tree) {
        return Err(InputError {
            file: source.name.to_owned(),
            at: None,
            path: String::new(),
            message: "this is not a Terraform plan or state".to_owned(),
            hint: hint(),
        });
    }
    let tree = terraform::prepare(source.name, tree)?;
    Ok(terraform::topology::read(source.name, &tree))
}
