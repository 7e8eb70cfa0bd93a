//! `netcheck`: latency and loss to each gateway by each carrier, and what an agent would use.

pub(super) mod probe;
mod report;
mod targets;

pub(super) use targets::of_claims;

use self::{probe::Plan, report::Report, targets::Targets};
use super::print;
use crate::{
    cli::NetcheckArgs,
    runtime::problem::{Context as _, Result},
};

/// Measures, prints the report, and returns the exit code: 0 if every carrier of every gateway answers, 1 if some do, 2 if none
/// does.
///
/// # Errors
/// When there is nothing to measure.
pub fn run(args: &NetcheckArgs) -> Result<u8> {
    let targets = targets::collect(args)?;
    let report = measure(targets, Plan { count: args.count.into(), timeout: args.timeout });
    if args.json {
        let json = serde_json::to_string_pretty(&report).while_doing(|| "cannot encode the report".into())?;
        print(&format!("{json}\n"))?;
    } else {
        print(&report.text())?;
    }
    Ok(report.exit_code())
}

fn measure(targets: Targets, plan: Plan) -> Report {
    let list: Vec<_> = targets.gateways.iter().map(|named| named.target.clone()).collect();
    let measured = probe::all(&list, plan);
    Report::new(targets, measured, plan)
}
