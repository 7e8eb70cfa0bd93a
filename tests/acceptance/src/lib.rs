//! What the acceptance tests, the demo and the benchmarks have in common: a workspace with real Terraform and an
//! emulated cloud, and the kill-point run.

pub mod docs;
pub mod emulated_clouds;
pub mod journey;
mod kill;
pub mod old_state;
pub mod overlay;
pub mod permissions;
pub mod promises;
pub mod registry;
pub mod rotation;
pub mod sandbox;
mod stage;

pub use kill::{Calls, KillReport, KillSample, Moment, kill_points};
pub use stage::{
    All, AllStage, AwsStage, Emulated, GoogleStage, REGISTRY_PASSWORD, RunPodStage, SIGNING_KEY, Stage,
    build_folder, flat,
};
use stage::{IMAGE, SOURCE};
