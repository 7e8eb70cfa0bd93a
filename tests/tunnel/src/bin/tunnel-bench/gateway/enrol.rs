//! Pods that join over TLS as fast as they can. None is lost, and none has the address of another.

use anyhow::{Context as _, Result};

use super::Plan;
use super::crowd::{Lab, keys, verify};
use crate::figures::{median, megabytes};
use crate::sheet::Sheet;

/// Pods that join at the same time.
const AT_ONCE: usize = 64;

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn measure(plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    for run in 1..=plan.runs {
        eprintln!("run {run} of {}: {} enrolments", plan.runs, plan.pods);
        let lab = Lab::new()?;
        let gateway = lab.start()?;
        let (before, cpu) = (gateway.daemon.memory()?, gateway.daemon.cpu()?);
        let (time, joined) = lab.join(&keys(plan.pods)?, AT_ONCE)?;
        let (cpu, after) = (gateway.daemon.cpu()? - cpu, gateway.daemon.memory()?);
        let peak = gateway.daemon.peak_memory()?;
        verify(&joined, &gateway)?;
        let times = joined.iter().map(|pod| pod.time.as_secs_f64() * 1e3);
        let failed = joined.iter().map(|pod| f64::from(pod.attempts - 1)).sum();
        for (metric, value) in [
            ("enrolments per second", plan.pods as f64 / time.as_secs_f64()),
            ("gateway's CPU per enrolment, µs", cpu / plan.pods as f64 * 1e6),
            ("peak memory, MB", megabytes(peak)),
            ("memory per pod, bytes", after.saturating_sub(before) as f64 / plan.pods as f64),
            ("time of an enrolment, ms", median(times).context("no pod enrolled")?),
            ("failed attempts", failed),
        ] {
            sheet.note("enrol", metric, "", value);
        }
    }
    Ok(())
}
