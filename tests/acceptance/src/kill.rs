//! Kill points: the provider is killed before or after one API call, and everything must converge all the same.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, ensure};
use warren_harness::{KillSwitch, Phase, Run, Terraform};

use crate::{Emulated, Stage};

/// What is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// An apply onto nothing.
    Apply,
    /// A destroy of everything.
    Destroy,
}

/// How many kill points there are, were tried and survived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillReport {
    /// API calls of an undisturbed run, by what it does and in which cloud.
    pub calls: BTreeMap<(Moment, &'static str), usize>,
    /// Kill points at which the provider was really killed, and after which everything converged.
    pub survived: usize,
    /// Kill points that came to nothing, because the run made fewer calls this time.
    pub missed: usize,
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kill points survived ({} not reached)", self.survived, self.missed)?;
        for (moment, run) in [(Moment::Apply, "apply"), (Moment::Destroy, "destroy")] {
            let calls = self.calls.iter().filter(|((of, _), _)| *of == moment);
            let calls: Vec<String> = calls.map(|((_, cloud), calls)| format!("{calls} of {cloud}")).collect();
            write!(f, "; API calls of an undisturbed {run}: {}", calls.join(", "))?;
        }
        Ok(())
    }
}

/// Which calls to kill at.
#[derive(Clone, Copy, Debug)]
pub struct KillCalls {
    /// Every n-th.
    pub every: usize,
    /// From this one on; 1 is the first.
    pub first: usize,
    /// Of this alone; `None` is both.
    pub only: Option<Moment>,
}

impl KillCalls {
    /// Every n-th call of both.
    pub fn every(every: usize) -> KillCalls {
        KillCalls { every, first: 1, only: None }
    }
}

/// Kills the provider before and after these API calls of an apply and of a destroy, in each of the clouds. After each
/// kill, apply must converge without duplicates and leave no change to plan, and destroy must leave nothing.
///
/// A round has a kill point of an apply, one of the destroy that follows, or both. Two rounds run at a time, each on a stage
/// of its own.
///
/// # Errors
/// The first kill point that was not survived, with Terraform's output.
pub fn kill_points<C: Emulated + Send>(
    stage: impl Fn() -> Result<Stage<C>> + Sync,
    at: KillCalls,
    told: &mut (dyn FnMut(&str) + Send),
) -> Result<KillReport> {
    let first = stage()?;
    let mut report = KillReport { calls: undisturbed(&first)?, ..KillReport::default() };
    let [applies, destroys] = [Moment::Apply, Moment::Destroy].map(|moment| points(&report, at, moment));
    let (next, rounds) = (AtomicUsize::new(0), applies.len().max(destroys.len()));
    let shared = Mutex::new((&mut report, told));
    let work = |mut stage: Stage<C>| -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= rounds {
                return Ok(());
            }
            // The emulator lists what was deleted for ever, and gets slower by it.
            stage.cloud.reset()?;
            let struck = round(&stage, applies.get(number), destroys.get(number))
                .inspect_err(|_| next.store(rounds, Ordering::Relaxed))?;
            let (report, told) = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
            for (point, struck) in struck {
                match struck {
                    Some(action) => {
                        report.survived += 1;
                        told(&format!("{point} ({action}): survived"));
                    }
                    None => {
                        report.missed += 1;
                        told(&format!("{point}: not reached"));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(stage()?));
        let own = work(first);
        own.and(other.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    Ok(report)
}

/// The kill points of applies or of destroys.
fn points(report: &KillReport, at: KillCalls, of: Moment) -> Vec<KillPoint> {
    let mut points = Vec::new();
    let wanted = at.only.is_none_or(|only| only == of);
    for ((moment, cloud), calls) in report.calls.iter().filter(|((moment, _), _)| wanted && *moment == of) {
        for call in (at.first..=*calls).step_by(at.every.max(1)) {
            let point = |phase| KillPoint { moment: *moment, cloud, call, calls: *calls, phase };
            points.extend([Phase::Before, Phase::After].map(point));
        }
    }
    points
}

/// The API calls of an apply and of a destroy, by cloud.
fn undisturbed<C: Emulated>(stage: &Stage<C>) -> Result<BTreeMap<(Moment, &'static str), usize>> {
    let mut calls = BTreeMap::new();
    for moment in [Moment::Apply, Moment::Destroy] {
        for (_, front) in stage.cloud.fronts() {
            front.clear_calls();
        }
        moment.run(&stage.terraform)?.success()?;
        let made = stage.cloud.fronts().into_iter();
        calls.extend(made.map(|(cloud, front)| ((moment, cloud), front.calls().len())));
    }
    stage.nothing_left()?;
    Ok(calls)
}

impl Moment {
    fn run(self, terraform: &Terraform) -> Result<Run> {
        match self {
            Moment::Apply => terraform.apply(&[]),
            Moment::Destroy => terraform.destroy(&[]),
        }
    }
}

/// Where the provider is killed once.
#[derive(Debug)]
struct KillPoint {
    moment: Moment,
    cloud: &'static str,
    call: usize,
    /// The calls of an undisturbed run.
    calls: usize,
    phase: Phase,
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KillPoint { moment, cloud, call, calls, phase } = self;
        write!(f, "{moment:?}, {phase:?} call {call} of {calls} in {cloud}")
    }
}

impl KillPoint {
    /// Kills there; the action at which the kill struck.
    fn strike<C: Emulated>(&self, stage: &Stage<C>) -> Result<Option<String>> {
        let mut fronts = stage.cloud.fronts().into_iter();
        let front = fronts.find_map(|(name, front)| (name == self.cloud).then_some(front));
        let front = front.with_context(|| format!("no cloud {}", self.cloud))?;
        front.arm(KillSwitch::caller(self.call, self.phase));
        let run = self.moment.run(&stage.terraform)?;
        let struck = front.disarm();
        ensure!(
            struck.is_none() || run.code != 0,
            "the provider was killed and Terraform reports success:\n{}",
            run.output()
        );
        Ok(struck.map(|call| call.action))
    }
}

/// Kills at these points, and sees that all converges; the actions at which the kills struck.
fn round<'a, C: Emulated>(
    stage: &Stage<C>,
    apply: Option<&'a KillPoint>,
    destroy: Option<&'a KillPoint>,
) -> Result<Vec<(&'a KillPoint, Option<String>)>> {
    let (cloud, terraform) = (&stage.cloud, &stage.terraform);
    let mut struck = Vec::new();
    let mut kill = |point: Option<&'a KillPoint>| -> Result<()> {
        if let Some(point) = point {
            struck.push((point, point.strike(stage).with_context(|| point.to_string())?));
        }
        Ok(())
    };
    let names = [apply, destroy].into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
    let which = || names.join(", then ");
    kill(apply)?;
    terraform.apply(&[])?.success().context("the apply after the kill").with_context(which)?;
    if apply.is_some() {
        let twice = cloud.made_twice()?;
        ensure!(twice.is_empty(), "{}: objects made twice: {twice}", which());
        let plan = terraform.plan(&["-detailed-exitcode"])?;
        ensure!(plan.code == 0, "{}: the plan after the apply is not empty:\n{}", which(), plan.output());
    }
    kill(destroy)?;
    terraform.destroy(&[])?.success().context("the destroy after the kill").with_context(which)?;
    stage.nothing_left().with_context(which)?;
    Ok(struck)
}
