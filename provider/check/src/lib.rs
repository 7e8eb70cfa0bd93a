//! The offline check: what conflicts in address plans, Terraform plans, states and claims, and its reports.
//!
//! The crate is pure: [`check`] takes what was read and gives a [`Report`]; [`human()`], [`json()`] and [`sarif()`] turn it
//! into text. The result does not depend on the order of the inputs.

mod check;
mod finding;
mod human;
mod plans;
mod policy;
mod rule;
mod sarif;
mod table;

pub use check::check;
pub use finding::{Finding, Report, Severity, Side};
pub use human::{clean, human};
pub use plans::solve_file;
pub use policy::hold;
pub use rule::Rule;
pub use sarif::sarif;

/// The report as JSON: [`Report`] as it is.
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
