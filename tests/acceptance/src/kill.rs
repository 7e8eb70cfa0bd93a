//! Kill points: the provider is killed before or after one API call, and everything must converge all the same.
//!
//! ```text
//! before every call          the cloud has not seen it
//! after every write          the cloud has executed it, and the provider never gets the answer
//! after a read               as before it, and therefore not tried
//! ```
//!
//! A read changes nothing in the cloud. A killed provider loses what it has read, and Terraform only knows what finished
//! resource operations have returned, which are the same on both sides of a read of a running one. So a kill after a read
//! leaves the cloud and the state that a kill before it leaves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    pub calls: BTreeMap<(Moment, &'static str), Calls>,
    /// Kill points that were to be tried.
    pub planned: usize,
    /// Kill points at which the provider was really killed, and after which everything converged.
    pub survived: usize,
    /// Kill points that came to nothing, because the run made fewer calls this time.
    pub missed: usize,
}

/// Numbers of API calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All.
    pub all: usize,
    /// Those that change something.
    pub writes: usize,
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} kill points survived ({} not reached)",
            self.survived, self.planned, self.missed
        )?;
        for (moment, run) in [(Moment::Apply, "apply"), (Moment::Destroy, "destroy")] {
            let calls = self.calls.iter().filter(|((of, _), _)| *of == moment);
            let calls: Vec<String> = calls
                .map(|((_, cloud), calls)| format!("{} of {cloud} with {} writes", calls.all, calls.writes))
                .collect();
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
    /// Rounds that run at a time, each with emulators of its own.
    pub jobs: usize,
    /// No round starts after this time; `None` is no limit.
    pub limit: Option<Duration>,
}

impl KillCalls {
    /// Every n-th call of both.
    pub fn every(every: usize) -> KillCalls {
        KillCalls { every, first: 1, only: None, jobs: 2, limit: None }
    }
}

/// Kills the provider before these API calls of an apply and of a destroy, and after those of them that write, in each of
/// the clouds. After each kill, apply must converge without duplicates and leave no change to plan, and destroy must leave
/// nothing.
///
/// A round has a kill point of an apply, one of the destroy that follows, or both. Rounds run on stages of their own.
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
    report.planned = applies.len() + destroys.len();
    let (next, rounds) = (AtomicUsize::new(0), applies.len().max(destroys.len()));
    let begun = Instant::now();
    let shared = Mutex::new((&mut report, told));
    let work = |mut stage: Stage<C>| -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= rounds || at.limit.is_some_and(|limit| begun.elapsed() > limit) {
                return Ok(());
            }
            // The emulator lists what was deleted for ever, and gets slower by it.
            stage.cloud.reset()?;
            let struck = round(&stage, applies.get(number), destroys.get(number))
                .inspect_err(|_| next.store(rounds, Ordering::Relaxed))?;
            let (report, told) = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
            let seconds = begun.elapsed().as_secs();
            for (point, struck) in struck {
                match struck {
                    Some(action) => {
                        report.survived += 1;
                        told(&format!("{seconds} s: {point} ({action}): survived"));
                    }
                    None => {
                        report.missed += 1;
                        told(&format!("{seconds} s: {point}: not reached"));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..at.jobs.min(rounds)).map(|_| scope.spawn(|| work(stage()?))).collect();
        let own = work(first);
        others
            .into_iter()
            .fold(own, |all, other| all.and(other.join().map_err(|_| anyhow!("a thread panicked"))?))
    })?;
    Ok(report)
}

/// The kill points of applies or of destroys.
fn points(report: &KillReport, at: KillCalls, of: Moment) -> Vec<KillPoint> {
    let mut points = Vec::new();
    let wanted = at.only.is_none_or(|only| only == of);
    for ((moment, cloud), calls) in report.calls.iter().filter(|((moment, _), _)| wanted && *moment == of) {
        // A sample of the writes begins as early as that of all calls, and has as many kill points.
        let among_writes = |number: usize| (number * calls.writes).div_ceil(calls.all.max(1)).max(1);
        let sides = [
            (Phase::Before, calls.all, at.first, at.every.max(1)),
            (Phase::After, calls.writes, among_writes(at.first), among_writes(at.every)),
        ];
        for (phase, calls, first, every) in sides {
            let numbers = (first..=calls).step_by(every);
            points.extend(numbers.map(|call| KillPoint { moment: *moment, cloud, call, calls, phase }));
        }
    }
    points
}

/// The API calls of an apply and of a destroy, by cloud.
fn undisturbed<C: Emulated>(stage: &Stage<C>) -> Result<BTreeMap<(Moment, &'static str), Calls>> {
    let mut calls = BTreeMap::new();
    for moment in [Moment::Apply, Moment::Destroy] {
        for (_, front) in stage.cloud.fronts() {
            front.clear_calls();
        }
        moment.run(&stage.terraform)?.success()?;
        for (cloud, front) in stage.cloud.fronts() {
            let made = front.calls();
            let writes = made.iter().filter(|call| !call.is_read()).count();
            calls.insert((moment, cloud), Calls { all: made.len(), writes });
        }
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
    /// The number of the call: before it among all calls, after it among those that write.
    call: usize,
    /// As many does an undisturbed run make.
    calls: usize,
    phase: Phase,
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KillPoint { moment, cloud, call, calls, phase } = self;
        let (side, what) = match phase {
            Phase::Before => ("before", "call"),
            Phase::After => ("after", "write"),
        };
        write!(f, "{moment:?}, {side} {what} {call} of {calls} in {cloud}")
    }
}

impl KillPoint {
    /// Kills there; the action at which the kill struck.
    fn strike<C: Emulated>(&self, stage: &Stage<C>) -> Result<Option<String>> {
        let mut fronts = stage.cloud.fronts().into_iter();
        let front = fronts.find_map(|(name, front)| (name == self.cloud).then_some(front));
        let front = front.with_context(|| format!("no cloud {}", self.cloud))?;
        let switch = KillSwitch::caller(self.call, self.phase);
        front.arm(if self.phase == Phase::After { switch.of_writes() } else { switch });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(calls: Calls, at: KillCalls) -> [Vec<usize>; 2] {
        let report =
            KillReport { calls: BTreeMap::from([((Moment::Apply, "AWS"), calls)]), ..KillReport::default() };
        let points = points(&report, at, Moment::Apply);
        [Phase::Before, Phase::After]
            .map(|phase| points.iter().filter(|point| point.phase == phase).map(|point| point.call).collect())
    }

    #[test]
    fn every_call_and_every_write_has_a_kill_point() {
        let [before, after] = sides(Calls { all: 5, writes: 2 }, KillCalls::every(1));
        assert_eq!((before, after), (vec![1, 2, 3, 4, 5], vec![1, 2]));
        let [before, after] = sides(Calls { all: 3, writes: 0 }, KillCalls::every(1));
        assert_eq!((before.len(), after.len()), (3, 0));
        assert_eq!(sides(Calls::default(), KillCalls::every(1)), [Vec::<usize>::new(), Vec::new()]);
    }

    #[test]
    fn a_sample_has_both_sides() {
        let at = KillCalls { first: 40, ..KillCalls::every(17) };
        let [before, after] = sides(Calls { all: 100, writes: 20 }, at);
        assert_eq!((before, after), (vec![40, 57, 74, 91], vec![8, 12, 16, 20]));
    }
}
