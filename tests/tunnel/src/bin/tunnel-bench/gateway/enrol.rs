//! Pods that join over TLS as fast as they can.

use anyhow::Result;
use serde_json::{Value, json};

use super::Plan;
use super::crowd::{Lab, keys, verify};
use crate::figures::{cell, median, megabytes, table};

/// Pods that join at the same time.
const AT_ONCE: usize = 64;

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn measure(plan: &Plan) -> Result<Value> {
    let mut runs = Vec::new();
    for run in 1..=plan.runs {
        eprintln!("run {run} of {}: {} enrolments", plan.runs, plan.pods);
        let lab = Lab::new()?;
        let gateway = lab.start()?;
        let (before, cpu) = (gateway.daemon.memory()?, gateway.daemon.cpu()?);
        let (time, joined) = lab.join(&keys(plan.pods)?, AT_ONCE)?;
        let (cpu, after) = (gateway.daemon.cpu()? - cpu, gateway.daemon.memory()?);
        let peak = gateway.daemon.peak_memory()?;
        verify(&joined, &gateway)?;
        runs.push([
            plan.pods as f64 / time.as_secs_f64(),
            cpu / plan.pods as f64 * 1e6,
            megabytes(before),
            megabytes(after),
            megabytes(peak),
            after.saturating_sub(before) as f64 / plan.pods as f64,
            median(joined.iter().map(|pod| pod.time.as_secs_f64() * 1e3)).unwrap_or_default(),
            joined.iter().map(|pod| f64::from(pod.attempts - 1)).sum(),
        ]);
    }
    let of = |figure: usize| median(runs.iter().map(|run| run[figure]));
    println!(
        "\n{} pods join one gateway with its leases in a file, {AT_ONCE} at a time; pods and gateway share the machine. \
         None is lost, no address twice. Medians of {} runs\n",
        plan.pods, plan.runs
    );
    table(
        &[
            "enrolments /s",
            "gateway's CPU µs each",
            "resident before MB",
            "after MB",
            "peak MB",
            "bytes a pod",
            "each takes ms",
            "attempts that failed",
        ],
        &[[0, 0, 1, 1, 1, 0, 1, 0]
            .iter()
            .enumerate()
            .map(|(index, digits)| cell(of(index), *digits))
            .collect()],
    );
    let values = |figure: usize| runs.iter().map(|run| run[figure]).collect::<Vec<f64>>();
    Ok(json!({
        "enrolments per second": values(0),
        "gateway's CPU per enrolment, µs": values(1),
        "peak memory, MB": values(4),
        "memory per pod, bytes": values(5),
        "time of an enrolment, ms": values(6),
        "failed attempts": values(7),
    }))
}
