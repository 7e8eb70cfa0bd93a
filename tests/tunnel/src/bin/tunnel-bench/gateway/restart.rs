//! Pods that have their keys and come back at one moment: alone, and after the gateway was killed too.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Plan;
use super::crowd::{Joined, Lab, keys, verify};
use crate::figures::{cell, median, table};

/// Pods that join at the same time before they all come back.
const AT_FIRST: usize = 64;

/// One return of all pods, in milliseconds.
#[derive(Clone, Copy)]
struct Return {
    median: f64,
    last: f64,
    failed: f64,
}

pub(crate) fn measure(plan: &Plan) -> Result<Value> {
    let pods = (plan.pods / 10).max(1);
    let (mut alone, mut both) = (Vec::new(), Vec::new());
    for run in 1..=plan.runs {
        eprintln!("run {run} of {}: {pods} pods come back", plan.runs);
        let lab = Lab::new()?;
        let mut gateway = lab.start()?;
        let keys = keys(pods)?;
        let (_, first) = lab.join(&keys, AT_FIRST)?;
        let (time, again) = lab.join(&keys, pods)?;
        alone.push(returned(&first, &again, time, Duration::ZERO)?);
        verify(&again, &gateway)?;
        gateway.daemon.kill()?;
        let killed = Instant::now();
        gateway = lab.start()?;
        let up = killed.elapsed();
        let (time, again) = lab.join(&keys, pods)?;
        both.push(returned(&first, &again, time, up)?);
        verify(&again, &gateway)?;
    }
    println!(
        "\n{pods} pods that have their keys come back at one moment: each has the address that it had. Medians of {} runs\n",
        plan.runs
    );
    let row = |name: &str, runs: &[Return]| {
        let of = |figure: fn(&Return) -> f64| cell(median(runs.iter().map(figure)), 0);
        vec![name.to_owned(), of(|one| one.median), of(|one| one.last), of(|one| one.failed)]
    };
    table(
        &["what restarted", "half have their addresses after ms", "all after ms", "attempts that failed"],
        &[
            row("the pods", &alone),
            row("the pods, and the gateway by kill -9; its start is in the time", &both),
        ],
    );
    let mut metrics = serde_json::Map::new();
    for (what, runs) in [("pods restarted", &alone), ("pods and gateway restarted", &both)] {
        let mut add = |metric: &str, figure: fn(&Return) -> f64| {
            metrics.insert(format!("{what}, {metric}"), runs.iter().map(figure).collect::<Vec<f64>>().into());
        };
        add("half are back, ms", |one| one.median);
        add("all are back, ms", |one| one.last);
    }
    Ok(Value::from(metrics))
}

fn returned(first: &[Joined], again: &[Joined], time: Duration, before: Duration) -> Result<Return> {
    let others = first.iter().zip(again).filter(|(first, again)| first.address != again.address).count();
    ensure!(others == 0 && first.len() == again.len(), "{others} pods have another address");
    let millis = |time: Duration| (before + time).as_secs_f64() * 1e3;
    Ok(Return {
        median: median(again.iter().map(|pod| millis(pod.time))).unwrap_or_default(),
        last: millis(time),
        failed: again.iter().map(|pod| f64::from(pod.attempts - 1)).sum(),
    })
}
