//! Plans the capacity between a cloud and GPUs: transfer times, planned rates, costs, and a recommendation with reasons.
//!
//! The crate is pure: it computes from values that its callers read. `docs/capacity.md` has the formulas.

pub mod formula;
mod input;
pub mod measured;
mod options;
mod plan;
pub mod prices;
mod render;
mod request;
mod training;
pub mod units;

pub use input::{Fault, KEYS, Syntax, Value, read};
pub use options::{Cost, OptionPlan, Transfer, Verdict};
pub use plan::{CheckpointPlan, Demand, Plan, plan};
pub use render::{human, json, markdown, svg};
pub use request::{LinkKind, Place, Request, Store};
pub use training::{Mode, ModePlan, TrainingPlan};
