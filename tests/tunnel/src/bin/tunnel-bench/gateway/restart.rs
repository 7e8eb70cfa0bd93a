//! Pods that have their keys and come back at one moment: alone, and after the gateway was killed too. Each has the address that
//! it had.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::Plan;
use super::crowd::{Joined, Lab, keys, verify};
use crate::figures::median;
use crate::sheet::Sheet;

/// Pods that join at the same time before they all come back.
const AT_FIRST: usize = 64;

pub(crate) fn measure(plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let pods = (plan.pods / 10).max(1);
    for run in 1..=plan.runs {
        eprintln!("run {run} of {}: {pods} pods come back", plan.runs);
        let lab = Lab::new()?;
        let mut gateway = lab.start()?;
        let keys = keys(pods)?;
        let (_, first) = lab.join(&keys, AT_FIRST)?;
        let (time, again) = lab.join(&keys, pods)?;
        returned(sheet, "pods restarted", &first, &again, time, Duration::ZERO)?;
        verify(&again, &gateway)?;
        gateway.daemon.kill()?;
        let killed = Instant::now();
        gateway = lab.start()?;
        let up = killed.elapsed();
        let (time, again) = lab.join(&keys, pods)?;
        returned(sheet, "pods and gateway restarted", &first, &again, time, up)?;
        verify(&again, &gateway)?;
    }
    Ok(())
}

/// Notes one return of all pods, which took `time`, and the gateway's start `before`.
fn returned(
    sheet: &mut Sheet,
    what: &str,
    first: &[Joined],
    again: &[Joined],
    time: Duration,
    before: Duration,
) -> Result<()> {
    let others = first.iter().zip(again).filter(|(first, again)| first.address != again.address).count();
    ensure!(others == 0 && first.len() == again.len(), "{others} pods have another address");
    let millis = |time: Duration| (before + time).as_secs_f64() * 1e3;
    let half = median(again.iter().map(|pod| millis(pod.time))).context("no pod came back")?;
    sheet.note("restart", &format!("{what}, half are back"), "ms", half);
    sheet.note("restart", &format!("{what}, all are back"), "ms", millis(time));
    let failed = again.iter().map(|pod| f64::from(pod.attempts - 1)).sum();
    sheet.note("restart", &format!("{what}, failed attempts"), "", failed);
    Ok(())
}
