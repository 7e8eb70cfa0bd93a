//! An unsolvable request, told as prose.

use crate::Infeasible;
use serde::Serialize;

/// One message for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Path of the network or subnet (`aws/public`), `pools.NAME` or `reserved.NAME`; empty if it is about all of them.
    pub path: String,
    /// One line.
    pub summary: String,
    /// What conflicts and why, some lines.
    pub detail: String,
    /// One thing to do about it.
    pub hint: Option<String>,
}

/// The whole story: what does not fit together, why, and one hint.
pub fn explain(infeasible: &Infeasible) -> String {
    let _ = infeasible;
    String::new()
}

/// The same story, one message a problem, each with its path: for diagnostics on attributes.
pub fn messages(infeasible: &Infeasible) -> Vec<Message> {
    let _ = infeasible;
    Vec::new()
}
