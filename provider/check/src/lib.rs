//! The offline check: finds conflicts in address plans, Terraform plans, states and claims, and reports them.
//!
//! The crate is pure: [`check`] turns inputs into a [`Report`]; [`human()`], [`json()`] and [`sarif()`] format it, and the functions that end in `_to` write it, also if it has more findings than memory holds. The result does not depend on the order of the inputs.

mod baseline;
mod bond;
mod check;
mod connections;
mod exception;
mod fabric;
mod finding;
mod fingerprint;
mod gitlab;
mod hints;
mod human;
mod json;
mod lines;
mod listing;
mod plans;
mod policy;
mod roots;
mod rule;
mod sarif;
mod screen;
mod table;
mod text;
mod twins;
mod verdict;
mod ways;

pub use baseline::{Baseline, Known};
pub use check::{check, check_all};
pub use exception::{Day, Exception};
pub use fabric::{Fabric, Fabrics};
pub use finding::{Finding, Report, Severity, Side, Subnets};
pub use fingerprint::fingerprint;
pub use gitlab::{gitlab_errors, gitlab_to};
pub use human::{Style, clean, human, human_to, wrap};
pub use json::{json, json_errors, json_to};
pub use lines::{Defined, Lines};
pub use listing::{Pages, no_pages};
pub use plans::{Wish, solve_file};
pub use policy::hold;
pub use rule::Rule;
pub use sarif::{sarif, sarif_errors, sarif_to};
pub use screen::Screen;
pub use verdict::verdict;

/// What a function writes, as text.
fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = write(&mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}
