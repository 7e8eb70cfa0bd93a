//! The offline check: finds conflicts in address plans, Terraform plans, states and claims, and reports them.
//!
//! The crate is pure: [`check`] turns inputs into a [`Report`]; [`human()`], [`json()`] and [`sarif()`] format it. The result does not depend on the order of the inputs.

mod check;
mod finding;
mod human;
mod plans;
mod policy;
mod rule;
mod sarif;
mod table;

pub use check::check;
pub use finding::{Finding, Report, Severity, Side, Subnets};
pub use human::{clean, human};
pub use plans::{Wish, solve_file};
pub use policy::hold;
pub use rule::Rule;
pub use sarif::sarif;

/// The report as JSON, with the fields of [`Report`].
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
