//! Kill points: the provider is killed at one moment after the other, and everything must converge all the same.
//!
//! ```text
//! before the first call                      nothing has happened
//! after every write                          the cloud has executed it, and the provider never gets the response
//! before the first call after an operation   Terraform has recorded a resource operation that has finished
//! ```
//!
//! These are all the situations that a kill can leave. What remains after a kill is the cloud and Terraform's state.
//! A write changes the first, and a resource operation that finishes changes the second. All that a killed provider has
//! read in between is lost, so a kill before, between, or after reads leaves what a kill at one of these points leaves.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Changes of Terraform's state after which an undisturbed run makes further calls.
    pub recorded: BTreeMap<Moment, usize>,
    /// Kill points that were to be tried.
    pub planned: usize,
    /// Kill points at which the provider was really killed, and after which everything converged.
    pub survived: usize,
    /// Kill points that were not reached, because the run did less after them this time.
    pub missed: usize,
    /// The number of the first kill point that was not tried for want of time.
    pub next: Option<usize>,
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
            let recorded = self.recorded.get(&moment).copied().unwrap_or_default();
            write!(f, "; undisturbed {run}: {recorded} recorded changes, API calls: {}", calls.join(", "))?;
        }
        Ok(())
    }
}

/// Which kill points to try.
#[derive(Clone, Copy, Debug)]
pub struct KillSample {
    /// Every n-th of an apply, and every n-th of a destroy.
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

impl KillSample {
    /// Every n-th of both.
    pub fn every(every: usize) -> KillSample {
        KillSample { every, first: 1, only: None, jobs: 2, limit: None }
    }
}

/// Kills the provider at these points of an apply and of a destroy. After each kill, apply must converge without
/// duplicates and leave no change to plan, and destroy must leave nothing.
///
/// A round has a kill point of an apply, one of the destroy that follows, or both. Rounds run on stages of their own.
///
/// # Errors
/// The first kill point that was not survived, with Terraform's output.
pub fn kill_points<C: Emulated + Send>(
    stage: impl Fn() -> Result<Stage<C>> + Sync,
    at: KillSample,
    told: &mut (dyn FnMut(&str) + Send),
) -> Result<KillReport> {
    let first = stage()?;
    let mut report = undisturbed(&first)?;
    let [applies, destroys] = [Moment::Apply, Moment::Destroy].map(|moment| points(&report, at, moment));
    report.planned = applies.len() + destroys.len();
    let (next, rounds) = (AtomicUsize::new(0), applies.len().max(destroys.len()));
    let begun = Instant::now();
    let shared = Mutex::new((&mut report, told));
    let work = |mut stage: Stage<C>| -> Result<()> {
        loop {
            if at.limit.is_some_and(|limit| begun.elapsed() > limit) {
                return Ok(());
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= rounds {
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
    let done = next.into_inner();
    report.next = (done < rounds).then_some(at.first + done * at.every);
    Ok(report)
}

/// The kill points of applies or of destroys, in the order in which a run reaches them.
fn points(report: &KillReport, at: KillSample, of: Moment) -> Vec<KillPoint> {
    if at.only.is_some_and(|only| only != of) {
        return Vec::new();
    }
    let recorded = report.recorded.get(&of).copied().unwrap_or_default();
    let point = |place| KillPoint { moment: of, place };
    let mut points: Vec<_> = (0..=recorded)
        .map(|change| (change, recorded, point(Place::Recorded { change, of: recorded })))
        .collect();
    for ((_, cloud), Calls { writes, .. }) in report.calls.iter().filter(|((moment, _), _)| *moment == of) {
        let written = |write| (write, *writes, point(Place::Written { cloud, write, of: *writes }));
        points.extend((1..=*writes).map(written));
    }
    // By the part of the run that lies before them.
    points.sort_by_key(|(number, of, _)| number * 1_000_000 / (*of).max(1));
    let wanted = points.into_iter().skip(at.first.saturating_sub(1)).step_by(at.every.max(1));
    wanted.map(|(.., point)| point).collect()
}

/// What an apply and a destroy do if nobody disturbs them.
fn undisturbed<C: Emulated>(stage: &Stage<C>) -> Result<KillReport> {
    let mut report = KillReport::default();
    for moment in [Moment::Apply, Moment::Destroy] {
        let changes = Changes::from_now(&stage.terraform);
        for (_, front) in stage.cloud.fronts() {
            front.clear_calls();
            let changes = changes.clone();
            front.arm(KillSwitch::once(move || {
                changes.count();
                false
            }));
        }
        moment.run(&stage.terraform)?.success()?;
        report.recorded.insert(moment, changes.last());
        for (cloud, front) in stage.cloud.fronts() {
            front.disarm();
            let made = front.calls();
            let writes = made.iter().filter(|call| !call.is_read()).count();
            report.calls.insert((moment, cloud), Calls { all: made.len(), writes });
        }
    }
    stage.nothing_left()?;
    Ok(report)
}

/// Counts how often Terraform has recorded a change in its state, which it does whenever a resource operation has
/// finished. Clones count together.
#[derive(Clone, Debug)]
struct Changes {
    state: PathBuf,
    begun: usize,
    last: Arc<AtomicUsize>,
}

impl Changes {
    /// Counts from 0.
    fn from_now(terraform: &Terraform) -> Changes {
        let state = terraform.folder().join("terraform.tfstate");
        let begun = serial(&state).unwrap_or_default();
        Changes { state, begun, last: Arc::default() }
    }

    /// How many there are by now.
    fn count(&self) -> usize {
        // Terraform may be writing it just now: then the number is that of the last time.
        let now = serial(&self.state).unwrap_or_default().saturating_sub(self.begun);
        self.last.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// How many there were at the last count.
    fn last(&self) -> usize {
        self.last.load(Ordering::Relaxed)
    }
}

/// The serial number of a state, which is among its first members.
fn serial(state: &Path) -> Option<usize> {
    let mut head = Vec::new();
    File::open(state).ok()?.take(512).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let (_, serial) = head.split_once("\"serial\":")?;
    serial.split_once(',')?.0.trim().parse().ok()
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
#[derive(Debug, PartialEq, Eq)]
struct KillPoint {
    moment: Moment,
    place: Place,
}

/// A place in a run.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// After this write to a cloud; 1 is the first. An undisturbed run has `of`.
    Written { cloud: &'static str, write: usize, of: usize },
    /// Before the first call after this change of Terraform's state; 0 is the beginning. An undisturbed run has `of`.
    Recorded { change: usize, of: usize },
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, ", self.moment)?;
        match self.place {
            Place::Written { cloud, write, of } => write!(f, "after write {write} of {of} in {cloud}"),
            Place::Recorded { change: 0, .. } => write!(f, "before the first call"),
            Place::Recorded { change, of } => write!(f, "after recorded change {change} of {of}"),
        }
    }
}

impl KillPoint {
    /// Kills there; the action at which the kill struck.
    fn strike<C: Emulated>(&self, stage: &Stage<C>) -> Result<Option<String>> {
        let changes = Changes::from_now(&stage.terraform);
        let fired = Arc::new(AtomicBool::new(false));
        for (name, front) in stage.cloud.fronts() {
            match self.place {
                Place::Written { cloud, write, .. } if cloud == name => {
                    front.arm(KillSwitch::writer(write, Phase::After));
                }
                Place::Written { .. } => (),
                Place::Recorded { change, .. } => {
                    let (changes, fired) = (changes.clone(), Arc::clone(&fired));
                    let due = move || changes.count() >= change && !fired.swap(true, Ordering::Relaxed);
                    front.arm(KillSwitch::once(due));
                }
            }
        }
        let run = self.moment.run(&stage.terraform)?;
        let struck =
            stage.cloud.fronts().into_iter().fold(None, |struck, (_, front)| front.disarm().or(struck));
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

    fn apply(recorded: usize, writes: usize) -> KillReport {
        KillReport {
            calls: BTreeMap::from([((Moment::Apply, "AWS"), Calls { all: 2 * writes, writes })]),
            recorded: BTreeMap::from([(Moment::Apply, recorded)]),
            ..KillReport::default()
        }
    }

    #[test]
    fn every_write_and_every_recorded_change_has_a_kill_point() {
        let (recorded, written) = (
            |change| Place::Recorded { change, of: 2 },
            |write| Place::Written { cloud: "AWS", write, of: 3 },
        );
        let places = |moment| {
            let points = points(&apply(2, 3), KillSample::every(1), moment);
            points.into_iter().map(|point| point.place).collect::<Vec<_>>()
        };
        let all = [recorded(0), written(1), recorded(1), written(2), recorded(2), written(3)];
        assert_eq!(places(Moment::Apply), all);
        assert_eq!(places(Moment::Destroy), [Place::Recorded { change: 0, of: 0 }]);
    }

    #[test]
    fn a_sample_has_both_kinds() {
        let at = KillSample { first: 4, ..KillSample::every(5) };
        let sample = points(&apply(20, 20), at, Moment::Apply);
        let written = sample.iter().filter(|point| matches!(point.place, Place::Written { .. })).count();
        assert_eq!((sample.len(), written), (8, 4));
    }

    #[test]
    fn changes_are_counted_by_the_serial_number_of_the_state() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let state = folder.path().join("terraform.tfstate");
        let count = |text: &str| {
            std::fs::write(&state, text)?;
            anyhow::Ok(serial(&state))
        };
        assert_eq!(serial(&state), None);
        assert_eq!(count("{\n  \"version\": 4,\n  \"serial\": 17,\n  \"lineage\": \"x\"}")?, Some(17));
        assert_eq!(count("{\n  \"version\": 4,\n  \"serial\": 1")?, None);
        Ok(())
    }
}
