//! The gateway: how many pods it lets in, how soon, and what they feel when something dies. `cargo xtask bench gateway`.
//!
//! A part is one file and one line in [`Part::measure`].

mod crowd;
mod enrol;
mod failover;
mod restart;

use anyhow::Result;
use clap::ValueEnum;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::sheet::{ALL, Sheet};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Pods that join over TLS as fast as they can: rate, memory, and that none is lost.
    Enrol,
    /// Pods that have their keys and come back at one moment.
    Restart,
    /// Three gateways, etcd and agents: what is felt when each dies or is cut off.
    Failover,
}

impl Part {
    fn measure(self, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
        match self {
            Part::Enrol => enrol::measure(plan, sheet),
            Part::Restart => restart::measure(plan, sheet),
            Part::Failover => failover::measure(plan, sheet),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    /// Pods of [`Part::Enrol`]; of [`Part::Restart`] a tenth.
    pub(crate) pods: usize,
    /// All parts if it is empty.
    pub(crate) parts: Vec<Part>,
}

pub(crate) fn measure(plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    for part in Part::value_variants() {
        if plan.parts.is_empty() || plan.parts.contains(part) {
            let outcome = part.measure(plan, sheet);
            sheet.contain(&part.name(), ALL, outcome);
        }
    }
    Ok(())
}
